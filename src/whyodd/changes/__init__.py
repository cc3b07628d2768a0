"""What changed between two tables: columns, relations between columns, groups of rows, kinds of rows."""
