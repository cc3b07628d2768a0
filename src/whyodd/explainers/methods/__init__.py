"""Deep Taylor decomposition and what to compare it with, one file each."""
