"""Findings as one plain dict: for the page, the command line and machines."""
