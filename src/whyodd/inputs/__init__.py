"""Input from people: arrays, sparse matrices and data frames."""
