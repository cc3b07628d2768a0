"""Hard pooling: the nearest centers of each row."""
