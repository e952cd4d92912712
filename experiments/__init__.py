"""One question per file; each writes <name>.csv and <name>.png. ``python -m experiments``."""
