"""Loaders of sequences and trees: small files of each format, and the real ones where they are."""

import zipfile

import numpy as np
import pytest

from jaxopt_svm.data import load, load_structured
from jaxopt_svm.data.folders import VARIABLE, find
from jaxopt_svm.data.structured import STRUCTURED
from jaxopt_svm.data.treebank import topological
from jaxopt_svm.problems.structured import make_chain, make_tree

CONLLU = """# sent_id = 1
1\tFrom\tfrom\tADP\tIN\t_\t3\tcase\t_\t_
2-3\tthe AP\t_\t_\t_\t_\t_\t_\t_\t_
2\tthe\tthe\tDET\tDT\t_\t3\tdet\t_\t_
3\tAP\tAP\tPROPN\tNNP\t_\t0\troot\t_\t_

# sent_id = 2
1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_

"""


def real(name):
    entry = STRUCTURED[name]
    if None in [find(names) for names in entry.files]:
        pytest.skip(f"{name} is not here: set {VARIABLE} to the folder of its files")
    return load_structured(name)


def test_ocr_is_the_lectures():
    data = real("ocr")
    assert (len(data.train.X), len(data.test.X)) == (5512, 1365)
    assert sum(map(len, data.train.y)) + sum(map(len, data.test.y)) == 52152
    some = make_chain(data.train.X[:50], data.train.y[:50], classes=data.classes)
    assert some.d == 4004 == 26 * 128 + 26 * 26
    assert "".join(data.train.y[0]) == "ommanding"  # words lost their capitals


@pytest.mark.full
def test_chunks_are_sparse_chains():
    data = real("conll2000")
    assert (len(data.train.X), len(data.test.X)) == (8936, 2012)
    assert len(data.classes) == 23  # one of them in the test sentences only
    assert sum(map(len, data.train.y)) == 211727
    some = make_chain(data.train.X[:20], data.train.y[:20], classes=data.classes)
    assert some.d == 23 * (data.train.X[0].shape[1] + 23)


def test_treebank_is_two_thousand_trees():
    data = real("ud-ewt")
    assert (len(data.train.X), len(data.test.X), len(data.classes)) == (2001, 2077, 17)
    part = data.train
    assert part.parents is not None
    some = make_tree(part.X[:50], part.y[:50], part.parents[:50], classes=data.classes)
    assert some.d == 17 * (part.X[0].shape[1] + 17)


def test_chunks_from_a_small_archive(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    text = "He PRP B-NP\nruns VBZ B-VP\n. . O\n\nHe PRP B-NP\nsleeps VBZ B-VP\n\n"
    with zipfile.ZipFile(tmp_path / "conll2000.zip", "w") as archive:
        archive.writestr("conll2000/train.txt", text)
    with pytest.raises(ValueError, match=r"expected conll2000/train\.txt and test\.txt"):
        load_structured("conll2000")
    with zipfile.ZipFile(tmp_path / "conll2000.zip", "a") as archive:
        archive.writestr("conll2000/test.txt", text)
    data = load_structured("conll2000")
    assert [tags.tolist() for tags in data.train.y] == [["B-NP", "B-VP", "O"], ["B-NP", "B-VP"]]
    assert data.classes == ("B-NP", "B-VP", "O")
    # the same word in the same place looks the same; what occurs once is left out
    first, second = (x.toarray() for x in data.train.X)
    assert first.shape[1] == second.shape[1] > 5
    assert (first[0] != second[0]).sum() < (first[0] > 0).sum()
    np.testing.assert_array_equal(first, data.test.X[0].toarray())


def test_small_files(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for part in ("dev", "test"):
        (tmp_path / f"en_ewt-ud-{part}.conllu").write_text(CONLLU)
    data = load_structured("ud-ewt")
    first = data.train
    assert first.parents is not None
    # the root comes first, then its children in the order of the sentence
    assert [labels.tolist() for labels in first.y] == [["PROPN", "ADP", "DET"], ["VERB"]]
    assert [p.tolist() for p in first.parents] == [[-1, 0, 0], [-1]]
    assert data.classes == ("ADP", "DET", "PROPN", "VERB")
    pixels = " ".join("01" * 64)
    rows = [(1, "b", 2, 1, 1, 0), (2, "a", -1, 1, 2, 0), (3, "z", -1, 2, 1, 9)]
    text = "".join(" ".join(map(str, row)) + f" {pixels}\n" for row in rows)
    (tmp_path / "letter.data").write_text(text)
    letters = load_structured("ocr")
    assert [y.tolist() for y in letters.train.y] == [["b", "a"]]
    assert letters.test.y[0].tolist() == ["z"] and letters.test.X[0].sum() == 64


def test_what_is_wrong_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"(?s)letter\.data.*JAXOPT_SVM_DATA"):
        load_structured("ocr")
    with pytest.raises(ValueError, match="known: ocr, conll2000, ud-ewt"):
        load_structured("landmark")
    with pytest.raises(ValueError, match="load_structured"):
        load("ocr")
    with pytest.raises(ValueError, match="expected one root"):
        topological(np.array([-1, -1]))
    with pytest.raises(ValueError, match="a cycle"):
        topological(np.array([-1, 2, 1]))
