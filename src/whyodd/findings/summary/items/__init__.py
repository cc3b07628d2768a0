"""Images, series and messages as the plain dict of a report."""
