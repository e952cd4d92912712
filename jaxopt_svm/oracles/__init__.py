"""Dynamic programs over label structures."""
