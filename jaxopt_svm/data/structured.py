"""Structured data sets by name: sequences and trees, each with its training and its test part."""

import pathlib
from collections.abc import Callable
from typing import NamedTuple

from jaxopt_svm.data.chunks import read_chunks
from jaxopt_svm.data.folders import VARIABLE, cache_folder, find
from jaxopt_svm.data.letters import read_letters
from jaxopt_svm.data.part import Part
from jaxopt_svm.data.treebank import read_treebank

__all__ = ["STRUCTURED", "StructuredData", "load_structured"]

LETTERS = "https://ai.stanford.edu/~btaskar/ocr/ (letter.data.gz)"
CHUNKS = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/conll2000.zip"
EWT = "https://github.com/UniversalDependencies/UD_English-EWT"


class StructuredData(NamedTuple):
    """train and test, what the labels are called, and what was done to the data."""

    train: Part
    test: Part
    classes: tuple
    name: str
    note: str


class Entry(NamedTuple):
    load: Callable[..., tuple[Part, Part, tuple]]
    note: str
    source: str
    files: tuple[tuple[str, ...], ...]


STRUCTURED: dict[str, Entry] = {
    "ocr": Entry(
        read_letters,
        "handwritten words as chains of 128 pixels and 26 letters; folds 0-7 train, 8-9 test",
        LETTERS,
        (("ocr/letters_packed.npz", "letter.data"),),
    ),
    "conll2000": Entry(
        read_chunks,
        "chunks of sentences as chains of 22 labels; words and tags in a window, sparse",
        CHUNKS,
        (("seq/conll2000.zip",),),
    ),
    "ud-ewt": Entry(
        read_treebank,
        "17 tags on dependency trees, a stand-in for LANDMARK; dev trains, test tests",
        EWT,
        (("tree/en_ewt-ud-dev.conllu",), ("tree/en_ewt-ud-test.conllu",)),
    ),
}


def load_structured(name: str) -> StructuredData:
    """ "ocr", "conll2000" (chains) or "ud-ewt" (trees); nothing is downloaded."""
    if name not in STRUCTURED:
        raise ValueError(f"{name}: no such structured data set; known: {', '.join(STRUCTURED)}")
    entry = STRUCTURED[name]
    paths = [find(names) for names in entry.files]
    if None in paths:
        wanted = " and ".join(pathlib.Path(names[-1]).name for names in entry.files)
        raise FileNotFoundError(
            f"the data set {name} is not here. Download {wanted} from {entry.source} and put it "
            f"(packed or not) into {cache_folder()}, or into a folder named by {VARIABLE}"
        )
    return StructuredData(*entry.load(*paths), name, f"{entry.note}; {entry.source}")
