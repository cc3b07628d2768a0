"""The choice of kernel and bandwidth."""
