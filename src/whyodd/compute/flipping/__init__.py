"""Outlierness as variables are removed."""
