"""Distances under linear maps, and the way back through them."""
