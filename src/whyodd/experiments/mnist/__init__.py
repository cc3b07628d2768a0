"""External validation of the paper: digits beside a blank."""
