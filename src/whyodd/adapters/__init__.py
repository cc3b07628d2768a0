"""Fitted models of other packages, and the pipelines they stand in."""
