"""Which kernel, and how wide."""
