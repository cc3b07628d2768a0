"""Any amount of data: batches, parts that are merged, clusters and streams."""
