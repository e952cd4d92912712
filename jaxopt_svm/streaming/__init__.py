"""Rows that do not fit in memory: read in chunks, solved and certified by chunks."""
