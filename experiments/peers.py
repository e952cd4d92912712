"""LinearSVC beside us: fits with a time limit, in a process that can be stopped, kept in a file.

A fit of liblinear cannot be interrupted, so it runs in a child process; when its limit is over the
child is ended and a new one takes its place. What was measured is kept per machine in peers.json.
"""

import json
import multiprocessing
import os
import pathlib
import platform
import time
import warnings
from typing import Any

import numpy as np

__all__ = ["TOLERANCES", "Fits", "linear_svc_path", "remembered"]

TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4)


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores"


def remembered(path: pathlib.Path, name: str, refresh: bool, measure) -> list[dict[str, Any]]:
    """The rows of this machine and data set from the file, or measured now and added to it."""
    known = json.loads(path.read_text()) if path.exists() else {}
    here = known.setdefault(machine(), {})
    if refresh or name not in here:
        here[name] = measure()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(known, indent=1) + "\n")
    return here[name]


def _serve(pipe, X, y) -> None:
    """The child: one fit a request."""
    from sklearn.svm import LinearSVC

    while True:
        lam, tol = pipe.recv()
        C = 1.0 / (lam * X.shape[0])
        options = {"loss": "hinge", "dual": True, "fit_intercept": False, "random_state": 0}
        model = LinearSVC(C=C, tol=tol, max_iter=10_000_000, **options)
        wall, own = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        seconds, processor = time.perf_counter() - wall, time.process_time() - own
        w = model.coef_.ravel()
        losses = np.maximum(0.0, 1.0 - y * np.asarray(X @ w).ravel())
        pipe.send((seconds, processor, float(losses.mean() + lam / 2 * (w @ w))))


class Fits:
    """fit(lam, tol) -> (seconds, processor seconds, P), or None when the limit is over."""

    def __init__(self, X: Any, y: np.ndarray):
        self.data, self.child = (X, y), None

    def fit(self, lam: float, tol: float, limit: float) -> tuple[float, float, float] | None:
        if self.child is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.child = context.Process(target=_serve, args=(theirs, *self.data), daemon=True)
            self.child.start()
            self.pipe.send((1.0, 0.1))  # what a first fit loads is not LinearSVC's time
            self.pipe.recv()
        self.pipe.send((lam, tol))
        if self.pipe.poll(limit):
            return self.pipe.recv()
        self.close()
        return None

    def close(self) -> None:
        if self.child is not None:
            self.child.terminate()
            self.child.join()
            self.child = None


def linear_svc_path(
    X, y, lams, best, within: float, limit: float, total: float
) -> list[dict[str, Any]]:
    """For every lam the loosest tolerance whose P is within ``within`` of the best known one.

    limit: seconds for one lam. total: for all of them. What is not reached counts at its limit.
    """
    fits, rows, began = Fits(X, y), [], time.perf_counter()
    for lam, optimum in zip(lams, best):
        row = {"lam": float(lam), "seconds": limit, "processor": limit, "tol": None, "above": None}
        left = limit
        for tol in TOLERANCES if time.perf_counter() - began < total else ():
            found = fits.fit(float(lam), tol, left)
            if found is None:
                break
            above = (found[2] - optimum) / abs(optimum)
            row["above"] = above
            if above <= within:
                row |= {"seconds": found[0], "processor": found[1], "tol": tol}
                break
            left = max(left - found[0], 1.0)
        rows.append(row | {"reached": row["tol"] is not None})
    fits.close()
    return rows
