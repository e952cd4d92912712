"""OCR: handwritten words, 16 x 8 pixels a letter (Kassel 1995; Taskar, Guestrin, Koller 2003)."""

import pathlib

import numpy as np

from jaxopt_svm.data.files import read_bytes
from jaxopt_svm.data.part import Part

__all__ = ["read_letters"]


def _packed_letters(path: pathlib.Path):
    """Arrays pixels (letters, 16 bytes), lengths, labels, folds."""
    with np.load(path, allow_pickle=False) as file:
        pixels = np.unpackbits(file["pixels"], axis=1)
        return pixels, file["labels"].astype(int), file["lengths"].astype(int), file["folds"]


def _letter_data(path: pathlib.Path):
    """Taskar's own file: id, letter, next id (-1 ends a word), word, position, fold, 128 pixels."""
    rows = [line.split() for line in read_bytes(path).decode().splitlines() if line.strip()]
    labels = np.array([ord(row[1]) - ord("a") for row in rows])
    pixels = np.array([row[6:134] for row in rows], np.uint8)
    last = np.array([row[2] == "-1" for row in rows])
    lengths = np.diff(np.flatnonzero(last), prepend=-1)
    return pixels, labels, lengths, np.array([int(row[5]) for row in rows])[last]


def read_letters(path: pathlib.Path) -> tuple[Part, Part, tuple]:
    """Words as chains: folds 0-7 train, 8-9 test."""
    read = _packed_letters if path.suffix == ".npz" else _letter_data
    pixels, labels, lengths, folds = read(path)
    ends = np.cumsum(lengths)[:-1]
    letters = tuple("abcdefghijklmnopqrstuvwxyz")
    X, y = np.split(pixels.astype(np.float32), ends), np.split(np.array(letters)[labels], ends)
    pick = lambda some: Part([X[i] for i in some], [y[i] for i in some])
    return pick(np.flatnonzero(folds < 8)), pick(np.flatnonzero(folds >= 8)), letters
