"""Tagging on dependency trees from CoNLL-U files, with sparse features of the words."""

import itertools
import pathlib

import numpy as np

from jaxopt_svm.data.extra import need
from jaxopt_svm.data.files import read_bytes
from jaxopt_svm.data.part import Part

__all__ = ["read_treebank", "topological"]


def topological(heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(order, parents): nodes from the root down, and their parents in that order.

    heads: for each node the index of its head, -1 at the one root.
    """
    roots = np.flatnonzero(heads == -1)
    if roots.size != 1:
        raise ValueError(f"heads: expected one root, of head -1; found {roots.size}")
    order = [int(roots[0])]
    for v in order:  # grows as it goes: breadth first
        order.extend(np.flatnonzero(heads == v).tolist())
    if len(order) != len(heads):
        raise ValueError(f"heads: a cycle; the root reaches {len(order)} of {len(heads)} nodes")
    place = np.empty(len(heads), int)
    place[order] = np.arange(len(heads))
    return np.array(order), np.where(np.arange(len(heads)) == 0, -1, place[heads[order]])


def _sentences(path: pathlib.Path) -> list[tuple[list[str], list[str], np.ndarray]]:
    """(words, tags, heads) of a CoNLL-U file; multi-word and empty tokens are left out."""
    found = []
    for block in read_bytes(path).decode().split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line and line[0] != "#"]
        rows = [row for row in rows if row[0].isdigit()]
        if rows:
            heads = np.array([int(row[6]) - 1 for row in rows])
            found.append(([row[1] for row in rows], [row[3] for row in rows], heads))
    return found


def _clues(words: list[str], t: int) -> dict[str, int | str]:
    """What is read of a word: itself, its shape, its ends, its neighbours."""
    word = words[t]
    lower = word.lower()
    clues = {
        "word": lower,
        "before": words[t - 1].lower() if t else "<s>",
        "after": words[t + 1].lower() if t + 1 < len(words) else "</s>",
        "capital": int(word[0].isupper()),
        "first and capital": int(t == 0 and word[0].isupper()),
        "capitals": int(word.isupper()),
        "digit": int(any(c.isdigit() for c in word)),
        "sign": int(not any(c.isalnum() for c in word)),
        "hyphen": int("-" in word),
    }
    for k in (1, 2, 3):
        clues[f"start {k}"], clues[f"end {k}"] = lower[:k], lower[-k:]
    return clues


def read_treebank(train: pathlib.Path, test: pathlib.Path) -> tuple[Part, Part, tuple]:
    vectoriser = need("sklearn.feature_extraction", "the data set ud-ewt").DictVectorizer(
        dtype=np.float32
    )
    parts = []
    for path in (train, test):
        sentences = _sentences(path)
        clues = [_clues(words, t) for words, _, _ in sentences for t in range(len(words))]
        fit = vectoriser.transform if parts else vectoriser.fit_transform
        flat = fit(clues).tocsr()
        flat.eliminate_zeros()
        ordered = [topological(heads) for _, _, heads in sentences]
        starts = np.cumsum([0] + [len(words) for words, _, _ in sentences])
        moved = flat[np.concatenate([a + order for a, (order, _) in zip(starts, ordered)])]
        X = [moved[a:b] for a, b in itertools.pairwise(starts)]
        y = [np.array(tags)[order] for (_, tags, _), (order, _) in zip(sentences, ordered)]
        parts.append(Part(X, y, [above for _, above in ordered]))
    classes = tuple(sorted({str(tag) for part in parts for tags in part.y for tag in tags}))
    return parts[0], parts[1], classes
