"""Scores of unknown inside: a function, its student, its samples."""
