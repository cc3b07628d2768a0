"""Rows of tables as the plain dict of a report."""
