"""Outlierness while variables are taken away."""
