"""Loaders: named sets, files, and what they say when something is wrong."""

import gzip
import os
import pickle

import numpy as np
import pytest
import scipy.sparse

from jaxopt_svm.data import SETS, load
from jaxopt_svm.data.folders import VARIABLE
from jaxopt_svm.data.named import place_of

BUNDLED = [name for name, entry in SETS.items() if not entry.files]
REAL = [name for name, entry in SETS.items() if entry.files]
SLOW = ("cov1", "covtype", "covtype-100k")  # ten seconds of reading


@pytest.fixture
def put(tmp_path):
    """Write a small file, give back its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_bundled_sets_have_rows_of_mean_squared_norm_one():
    for name in BUNDLED:
        data = load(name)
        assert data.name == name and data.X.shape[0] == len(data.y)
        np.testing.assert_allclose(np.sum(data.X**2, axis=1).mean(), 1.0, rtol=1e-9)
        wanted = set(range(10)) if name == "digits-10" else {-1.0, 1.0}
        assert name == "diabetes" or set(data.y) == wanted


@pytest.mark.parametrize("name", REAL)
def test_real_sets_are_what_their_description_says(name, request):
    if VARIABLE not in os.environ or place_of(SETS[name]) is None:
        pytest.skip(f"{name} is not here: set {VARIABLE} to the folder of its files")
    if name in SLOW and not request.config.getoption("--run-full", default=False):
        pytest.skip("slow to read; runs with --run-full")
    data = load(name)
    assert f"{data.X.shape[0]:,}" in SETS[name].description and len(data.y) == data.X.shape[0]
    assert len(np.unique(data.y)) == {"satimage": 6, "usps": 10, "mnist-10k": 10}.get(name, 2)
    dense = ("mnist", "mnist-10k", "usps", "ionosphere", "sonar", "satimage", *SLOW)
    assert scipy.sparse.issparse(data.X) == (name not in dense)


def test_a_set_that_is_not_here_says_where_to_get_it(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"(?s)csie\.ntu.*jaxopt_svm.*JAXOPT_SVM_DATA"):
        load("a9a")


def test_a_real_set_is_found_packed_and_outside_its_subfolder(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    (tmp_path / "heart_scale.gz").write_bytes(gzip.compress(b"+1 1:0.5 3:1\n-1 2:1\n"))
    data = load("heart_scale")
    assert data.X.shape == (2, 3) and data.y.tolist() == [1, -1]


def test_synthetic_is_the_same_every_time():
    data = load("synthetic:50:3")
    assert data.X.shape == (50, 3) and set(data.y) == {-1.0, 1.0}
    np.testing.assert_array_equal(data.X, load("synthetic:50:3").X)
    for wrong in ("synthetic:50", "synthetic:0:3", "synthetic:a:b"):
        with pytest.raises(ValueError, match="synthetic:N:D"):
            load(wrong)


def test_svmlight_names_the_bad_line(put):
    good = "+1 1:0.5 3:2\n-1 2:1\n"
    assert load(put("good.svm", good * 3)).X.shape == (6, 3)
    for bad in ("+1 1:x", "what 1:1", "+1 3:1 2:1", "+1 1"):
        with pytest.raises(ValueError, match=r"line 7: .*svmlight"):
            load(put("bad.svm", good * 3 + bad + "\n" + good))
    with pytest.raises(ValueError, match="empty"):
        load(put("none.svm", ""))


def test_csv_with_and_without_header(put):
    rows = "1,2,-1\n3,4,1\n\n5,6,1\n"
    for content in (rows, "a,b,label\n" + rows):
        data = load(put("good.csv", content))
        np.testing.assert_array_equal(data.X, [[1, 2], [3, 4], [5, 6]])
        assert data.y.tolist() == [-1, 1, 1]
    assert load(put("good.csv.gz", gzip.compress(rows.encode()))).X.shape == (3, 2)
    assert load(put("good.csv", rows), label=0).y.tolist() == [1, 3, 5]
    assert load(put("words.csv", "1,2,good\n3,4,bad\n")).y.tolist() == ["good", "bad"]


@pytest.mark.parametrize("bad", ["5,six,1", "5,6", "5,6,7,1", "5,,1", "5,6,one"])
def test_csv_names_the_bad_line(put, bad):
    with pytest.raises(ValueError, match="line 5: expected 3 numbers"):
        load(put("bad.csv", f"a,b,label\n1,2,-1\n3,4,1\n\n{bad}\n7,8,1\n"))


def test_csv_that_is_no_table(put):
    for content in ("", "a,b,label\n", "1\n2\n"):
        with pytest.raises(ValueError, match=r"bad\.csv"):
            load(put("bad.csv", content))


def test_npz(tmp_path):
    path = tmp_path / "good.npz"
    np.savez(path, X=np.eye(3), y=np.array([1, -1, 1]))
    assert load(path).X.shape == (3, 3)
    np.savez(path, X=np.eye(3))
    with pytest.raises(ValueError, match="no array y"):
        load(path)


def test_npz_never_unpickles(tmp_path, put):
    path = tmp_path / "objects.npz"
    np.savez(path, X=np.array([{"a": 1}], dtype=object), y=np.ones(1))
    raw = put("raw.npz", pickle.dumps({"X": 1}))
    for each in (path, raw):
        with pytest.raises(ValueError, match="a pickle inside"):
            load(each)


def test_files_that_are_not_there_or_not_readable(put, tmp_path):
    with pytest.raises(FileNotFoundError, match="did you mean mushrooms"):
        load("mushroms")
    with pytest.raises(FileNotFoundError, match="known: breast_cancer"):
        load("/nowhere/at/all.csv")
    with pytest.raises(ValueError, match="folder"):
        load(tmp_path)
    with pytest.raises(ValueError, match="cannot be unpacked"):
        load(put("bad.csv.gz", b"not packed"))
    with pytest.raises(ValueError, match="npz"):
        load(put("bad.npz", b"PK\x03\x04 broken"))
