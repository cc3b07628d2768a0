"""Arithmetic on blocks of rows: the only place that knows of BLAS, threads and compiled loops."""
