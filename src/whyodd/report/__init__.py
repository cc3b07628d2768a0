"""One page that shows what is odd, why, and how far to trust it."""
