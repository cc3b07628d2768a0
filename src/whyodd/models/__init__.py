"""Outlier detectors that own a distance network."""
