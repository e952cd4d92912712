"""A matrix and labels from a file: svmlight, csv or npz; errors name the line."""

import bz2
import gzip
import io
import lzma
import pathlib
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxopt_svm.data.extra import need

__all__ = [
    "map_npy",
    "parse_svmlight",
    "read",
    "read_bytes",
    "read_csv",
    "read_npz",
    "read_svmlight",
]

OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
CSV = (".csv", ".data")


def read(path: pathlib.Path, label: int = -1) -> tuple[Any, np.ndarray]:
    """X and y by the ending of the name: .npz, .npy, .csv, .data; anything else is svmlight."""
    ending = (path.with_suffix("") if path.suffix in OPENERS else path).suffix.lower()
    if ending == ".npz":
        return read_npz(path)
    if path.suffix.lower() == ".npy":
        table = np.array(map_npy(path))
        return table[:, :-1], table[:, -1]
    return read_csv(path, label) if ending in CSV else read_svmlight(path)


def read_bytes(path: pathlib.Path) -> bytes:
    """The whole file, unpacked if its name says it is packed."""
    try:
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            return file.read()
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        raise ValueError(f"{path}: cannot be unpacked ({error})") from None


def _first_bad(lines: Sequence, parse: Callable) -> int:
    """Index of the first line that ``parse`` refuses, by halving: a few parses, not one a line."""
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            parse(lines[low:middle])
            low = middle
        except ValueError:
            high = middle
    return low


def read_svmlight(path: pathlib.Path, columns: int | None = None) -> tuple[Any, np.ndarray]:
    """``label index:value ...`` on each line; X stays sparse. columns: as many as there are."""
    content = read_bytes(path)
    if not content.strip():
        raise ValueError(f"{path}: the file is empty")
    return parse_svmlight(content, path, columns)


def parse_svmlight(
    content: bytes,
    path: pathlib.Path,
    columns: int | None = None,
    *,
    first: int = 0,
    zero_based: bool | str = "auto",
) -> tuple[Any, np.ndarray]:
    """Lines of svmlight. first: of the file's rows. zero_based: "auto" if index 0 says so."""
    parse = need("sklearn.datasets", "reading svmlight files").load_svmlight_file
    try:
        X, y = parse(io.BytesIO(content), n_features=columns, zero_based=zero_based)
    except ValueError:
        lines = content.splitlines()
        bad = _first_bad(lines, lambda some: parse(io.BytesIO(b"\n".join(some))))
        try:
            parse(io.BytesIO(lines[bad]))
        except ValueError as error:
            reason = str(error)
        else:
            reason = "cannot be read"
        shown = lines[bad][:60].decode(errors="replace")
        raise ValueError(
            f"{path}, line {first + bad + 1}: expected svmlight, `label index:value ...`; "
            f"got {shown!r} ({reason})"
        ) from None
    return X, y


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_csv(
    path: pathlib.Path, label: int = -1, dtype: Any = np.float64
) -> tuple[Any, np.ndarray]:
    """Numbers separated by commas, with or without a header; one column, the last, is the label.

    A label may be a word. Blank lines are skipped.
    """
    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip()]

    def features(line: str) -> tuple[list[str], str]:
        fields = line.split(",")
        if len(fields) < 2 or not -len(fields) <= label < len(fields):
            raise ValueError(f"{path}: expected features and a label separated by commas")
        return fields, fields.pop(label)

    if lines and not all(map(_is_number, features(lines[0][1])[0])):
        lines = lines[1:]  # a header
    if not lines:
        raise ValueError(f"{path}: the file has no rows")
    first, name = features(lines[0][1])
    words = None
    if not _is_number(name):
        split = [(k, features(line)) for k, line in lines]
        words = np.array([word.strip() for _, (_, word) in split])
        lines = [(k, ",".join(fields)) for k, (fields, _) in split]
    columns = len(first) + (words is None)

    def parse(some) -> np.ndarray:
        table = np.loadtxt([line for _, line in some], dtype, comments=None, delimiter=",", ndmin=2)
        if table.shape[1] != columns:
            raise ValueError
        return table

    try:
        table = parse(lines)
    except ValueError:
        k, line = lines[_first_bad(lines, parse)]
        raise ValueError(
            f"{path}, line {k}: expected {columns} numbers separated by commas; got {line[:60]!r}"
        ) from None
    if words is not None:
        return table, words
    return np.delete(table, label, axis=1), table[:, label]


def map_npy(path: pathlib.Path) -> np.ndarray:
    """A matrix with the label in its last column, mapped: rows are read when they are asked for."""
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path}: expected a matrix of numbers as npy ({error})") from None
    if (
        table.ndim != 2
        or table.shape[0] < 1
        or table.shape[1] < 2
        or table.dtype.kind not in "fiub"
    ):
        raise ValueError(
            f"{path}: expected a matrix of numbers with the label in its last column; got "
            f"{table.dtype} of shape {table.shape}"
        )
    return table


def read_npz(path: pathlib.Path) -> tuple[Any, np.ndarray]:
    """Arrays ``X`` and ``y`` of an npz file; pickles are refused."""
    try:
        # opened here, because numpy leaves a broken file open
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            missing = [name for name in ("X", "y") if name not in file.files]
            if missing:
                raise ValueError(f"no array {' and '.join(missing)}; it has {file.files}")
            return file["X"], file["y"]
    except (ValueError, AttributeError, TypeError, zipfile.BadZipFile, EOFError) as error:
        reason = str(error)
        if "pickle" in reason:
            reason = "a pickle inside, which could run code when read; save arrays of numbers"
        raise ValueError(f"{path}: expected an npz file with arrays X and y: {reason}") from None
