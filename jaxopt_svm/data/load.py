"""``load``: a data set from its name, or from a file."""

import difflib
import os
import pathlib
import re

from jaxopt_svm.data.dataset import Dataset
from jaxopt_svm.data.files import read
from jaxopt_svm.data.named import SETS, load_named, synthetic
from jaxopt_svm.data.structured import STRUCTURED

__all__ = ["load"]


def load(name_or_path: str | os.PathLike, *, label: int = -1) -> Dataset:
    """A data set by name (see ``SETS``), ``synthetic:N:D``, or a file.

    Args:
      name_or_path: a known name wins over a file of that name in the current folder; write
        ``./name`` for the file. Files: svmlight, .csv, .npz (arrays X and y); svmlight and csv may
        end in .gz, .bz2 or .xz as well.
      label: which column of a csv file is the label.
    """
    name = os.fspath(name_or_path)
    if name in SETS:
        entry = SETS[name]
        return Dataset(*load_named(name), name, f"{entry.description}; {entry.source}")
    if name.startswith("synthetic:"):
        shape = re.fullmatch(r"synthetic:(\d+):(\d+)", name)
        if shape is None or min(n_and_d := [int(x) for x in shape.groups()]) < 1:
            raise ValueError(f"{name}: expected synthetic:N:D, such as synthetic:20000:54")
        return Dataset(*synthetic(*n_and_d), name, "Gaussian rows, a random plane, noise")
    if name in STRUCTURED:
        raise ValueError(f'{name}: sequences or trees; load_structured("{name}") reads them')
    path = pathlib.Path(name).expanduser()
    if path.is_dir():
        raise ValueError(f"{name}: expected a file; this is a folder")
    if not path.exists():
        close = difflib.get_close_matches(path.name, SETS, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(SETS)}"
        raise FileNotFoundError(f"{name}: no such file, and no data set of that name; {hint}")
    return Dataset(*read(path, label), path.name, f"read from {path}")
