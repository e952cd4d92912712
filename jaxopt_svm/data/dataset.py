"""What a loader gives back."""

from typing import Any, NamedTuple

__all__ = ["Dataset"]


class Dataset(NamedTuple):
    """X: (n, d) numpy or scipy.sparse matrix. y: (n,) labels or targets. note: what was done."""

    X: Any
    y: Any
    name: str
    note: str
