"""From files to a streamed problem, or a clear error that names the file."""

import os
import pathlib
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxopt_svm.problems.make import (
    checked_model,
    checked_targets,
    is_sparse,
    weights_and_lam,
    working_dtype,
)
from jaxopt_svm.streaming.pages import Pages
from jaxopt_svm.streaming.problem import Streamed
from jaxopt_svm.streaming.sources import Npy, Source, Table
from jaxopt_svm.streaming.svmlight import Svmlight

__all__ = ["MEMORY", "make_streamed"]

MEMORY = 256e6
UNFIT = {
    ".npz": "a zip file cannot be read from the middle; write X and y with np.save, a file each",
    ".csv": "text without an index; write it as svmlight or with np.save",
}


def _source(X: Any, columns: int | None) -> Source:
    if is_sparse(X):
        raise ValueError("X: a sparse matrix is in memory already; use js.make_erm")
    if not isinstance(X, str | os.PathLike):
        if not (hasattr(X, "dtype") and hasattr(X, "shape")):
            raise ValueError(f"X: expected the name of a file, or an array; got {type(X).__name__}")
        return Table(X)
    path = pathlib.Path(X).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"X: there is no file {path}")
    if path.suffix in UNFIT:
        raise ValueError(f"X: {path}: {UNFIT[path.suffix]}")
    return Npy(path) if path.suffix == ".npy" else Svmlight(path, columns)


def _labels(y: Any, source: Source) -> tuple[str, np.ndarray]:
    """What to call the labels in an error, and the labels."""
    if isinstance(source, Svmlight):
        if y is not None:
            raise ValueError(f"y: {source.name} has labels of its own; leave y out")
        return source.name, source.labels
    if y is None:
        raise ValueError(f"y: {source.name} has no labels; give an array, or a file of np.save")
    if not isinstance(y, str | os.PathLike):
        return "y", np.asarray(y)
    try:
        return f"y ({y})", np.load(pathlib.Path(y).expanduser(), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"y: {y}: expected a file of np.save ({error})") from None


def make_streamed(
    X: Any,
    y: Any = None,
    *,
    memory: float = MEMORY,
    scratch: Any = None,
    columns: int | None = None,
    loss: Any = None,
    lam: float | None = None,
    C: float | None = None,
    weights: Any = None,
    intercept: str = "none",
    regularizer: Any = None,
) -> Streamed:
    """The problem of ``make_erm`` for rows that do not fit in memory.

    ``js.solve``, ``js.sweep`` and ``js.path`` take it with ``js.SDCA()`` (the default), with
    ``js.SGD()`` or with a Relay of them; each certificate is one more pass over the file. The rows
    are read once here, to refuse what is not finite and to remember what they were.

    Args:
      X: the name of an npy file or of an svmlight file; or an array, such as a memory map.
      y: labels for an npy file or an array: an array, or the name of an npy file.
      memory: bytes for rows, the chunk being loaded included. In addition there are some numbers
        an example: y, c and, for each lane, alpha and the best alpha so far.
      scratch: a folder for a copy of the rows in random order, as large as they are in memory.
        Worth its place when neighbours in the file are alike, and for text, which is then not
        parsed again in every pass.
      columns: features of an svmlight file, if it need not show them all.
      loss, lam, C, weights, intercept, regularizer: as for ``make_erm``; no "free" intercept.
    """
    loss, regularizer = checked_model(loss, intercept, regularizer)
    if intercept == "free":
        raise ValueError(
            'intercept: "free" couples all rows in every step; for rows on disk use "penalised"'
        )
    if not (np.ndim(memory) == 0 and memory > 0):
        raise ValueError(f"memory: expected a positive number of bytes; got {memory!r}")
    if scratch is not None and not os.path.isdir(scratch):
        raise ValueError(f"scratch: expected a folder that exists; got {scratch!r}")
    source = _source(X, columns)
    name, values = _labels(y, source)
    if len(values) != source.n:
        raise ValueError(f"{name}: {len(values)} labels, but {source.name} has {source.n} rows")
    dtype = jnp.zeros(0).dtype if source.dtype is None else working_dtype(source.dtype)
    try:
        signs, labels = checked_targets(values, source.n, loss, dtype)
    except ValueError as error:
        raise ValueError(f"{error}" if name == "y" else f"{name}: {error}") from None
    c, value = weights_and_lam(weights, lam, C, source.n, dtype)
    pages = Pages(source, memory, intercept != "none", dtype, scratch)
    return Streamed(
        y=signs,
        c=np.asarray(c),
        lam=value,
        loss=loss,
        regularizer=regularizer,
        pages=pages,
        labels=labels,
        intercept=intercept,
    )
