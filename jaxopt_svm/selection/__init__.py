"""Choosing lam: grids, folds, cross-validation, and the slope of a validation loss."""
