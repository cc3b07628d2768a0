"""What was found in a data set."""
