"""A default pipeline for a raw table."""
