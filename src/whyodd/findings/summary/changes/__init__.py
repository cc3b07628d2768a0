"""The smallest change that would make a row normal."""
