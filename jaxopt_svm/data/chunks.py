"""CoNLL-2000: chunks of sentences, with sparse features of words and tags in a window."""

import itertools
import pathlib
import zipfile

import numpy as np

from jaxopt_svm.data.extra import need
from jaxopt_svm.data.part import Part

__all__ = ["read_chunks"]

WINDOW = (-2, -1, 0, 1, 2)
RARE = 2  # features seen less often in training are left out


def _sentences(text: str) -> list[list[list[str]]]:
    """Rows (word, tag, chunk) of each sentence; a blank line ends one."""
    blocks = [block.splitlines() for block in text.split("\n\n")]
    return [[line.split() for line in block if line.strip()] for block in blocks if any(block)]


def _clues(rows: list[list[str]], t: int) -> dict[str, int | str]:
    """Words and tags around t, pairs of neighbouring tags, and the looks of the word itself."""
    at = lambda k, column: rows[k][column] if 0 <= k < len(rows) else "<>"
    word = rows[t][0]
    clues: dict[str, int | str] = {"bias": 1, "end": word[-3:].lower()}
    clues |= {"capital": int(word[0].isupper()), "digit": int(any(c.isdigit() for c in word))}
    for k in WINDOW:
        clues[f"word {k}"], clues[f"tag {k}"] = at(t + k, 0).lower(), at(t + k, 1)
    for k in WINDOW[:-1]:
        clues[f"tags {k}"] = f"{at(t + k, 1)} {at(t + k + 1, 1)}"
    clues["words -1"] = f"{at(t - 1, 0)} {at(t, 0)}".lower()
    clues["words 0"] = f"{at(t, 0)} {at(t + 1, 0)}".lower()
    return clues


def read_chunks(path: pathlib.Path) -> tuple[Part, Part, tuple]:
    """The training and the test sentences of conll2000.zip; labels as B-NP, I-NP, ..., O."""
    vectoriser = need("sklearn.feature_extraction", "the data set conll2000").DictVectorizer(
        dtype=np.float32
    )
    try:
        with zipfile.ZipFile(path) as archive:
            texts = [archive.read(f"conll2000/{name}.txt").decode() for name in ("train", "test")]
    except (zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"{path}: expected conll2000/train.txt and test.txt ({error})") from None
    parts, often = [], np.zeros(0, bool)
    for text in texts:
        sentences = _sentences(text)
        clues = [_clues(rows, t) for rows in sentences for t in range(len(rows))]
        fit = vectoriser.transform if parts else vectoriser.fit_transform
        flat = fit(clues).tocsc()
        if not parts:
            often = np.diff(flat.indptr) >= RARE
        flat = flat[:, np.flatnonzero(often)].tocsr()
        flat.eliminate_zeros()
        starts = np.cumsum([0] + [len(rows) for rows in sentences])
        X = [flat[a:b] for a, b in itertools.pairwise(starts)]
        parts.append(Part(X, [np.array([row[2] for row in rows]) for rows in sentences]))
    classes = tuple(sorted({str(tag) for part in parts for tags in part.y for tag in tags}))
    return parts[0], parts[1], classes
