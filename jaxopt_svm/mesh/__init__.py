"""Devices: names of mesh axes, what lives where, several processes. Knows nothing of problems."""
