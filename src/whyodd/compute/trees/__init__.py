"""Trees that isolate rows: paths through them, and Shapley values of their lengths."""
