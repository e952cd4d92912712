"""Gaussian processes, and Bayes beside MAP: what kernels mean when functions are random."""
