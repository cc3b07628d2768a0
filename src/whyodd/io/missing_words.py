"""Words that people write for a missing value."""

# Nothing at all is one anyway; \N is that of MySQL and PostgreSQL.
NOTHING = ["NA", "N/A", "n/a", "na", "null", "NULL", "None", "-", "\\N"]
