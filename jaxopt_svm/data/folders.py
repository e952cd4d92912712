"""Where files of real data are looked for."""

import os
import pathlib

__all__ = ["VARIABLE", "cache_folder", "data_folders", "find"]

VARIABLE = "JAXOPT_SVM_DATA"
PACKED = ("", ".gz", ".bz2", ".xz")


def cache_folder() -> pathlib.Path:
    """The user's own: ~/.cache/jaxopt_svm unless XDG_CACHE_HOME says otherwise."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(base) if base else pathlib.Path.home() / ".cache") / "jaxopt_svm"


def data_folders() -> list[pathlib.Path]:
    """The folder named by the environment first, then the cache."""
    named = os.environ.get(VARIABLE)
    return ([pathlib.Path(named).expanduser()] if named else []) + [cache_folder()]


def find(names: tuple[str, ...]) -> pathlib.Path | None:
    """The first file there is under any of the names, in its subfolder or not, packed or not."""
    for folder in data_folders():
        for name in names:
            for place in dict.fromkeys((folder / name, folder / pathlib.Path(name).name)):
                for ending in PACKED:
                    path = place.with_name(place.name + ending)
                    if path.is_file():
                        return path
    return None
