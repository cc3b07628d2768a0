"""``whyodd serve``: a local web application on the templates and the plain dict of the report."""
