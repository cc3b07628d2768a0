"""Scores of functions whose inside is unknown: a function, its student, its samples."""
