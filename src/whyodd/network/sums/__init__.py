"""Scores that are sums: over variables, along projections, of distances, of squared errors."""
