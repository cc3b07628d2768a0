"""Soft min-pooling over centers: distances, pooling and contraction of blocks of rows."""
