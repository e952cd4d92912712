"""What a loader of structured data gives back."""

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Part"]


class Part(NamedTuple):
    """X: n matrices (T_i, F), numpy or scipy.sparse. y: n arrays of T_i labels. parents: n arrays,
    parent[0] = -1 and parent[v] < v, or None for sequences."""

    X: list[Any]
    y: list[np.ndarray]
    parents: list[np.ndarray] | None = None
