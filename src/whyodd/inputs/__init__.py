"""What people pass: arrays, sparse matrices and data frames."""
