"""From the plain dict of a report to its page."""
