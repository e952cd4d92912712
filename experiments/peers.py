"""Solvers people use, beside us: fits with a time limit, in a process of their own, kept in a file.

A fit of liblinear cannot be interrupted, so it runs in a child process; when its limit is over the
child is ended and a new one takes its place. What was measured is kept per machine in peers.json.
Packages that are not among our dependencies are imported in the child alone, and only if they are
here: ``pip install skglm cyanure``, or the same with ``--target`` a folder named in PYTHONPATH.
"""

import importlib
import importlib.util
import json
import multiprocessing
import os
import pathlib
import platform
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

__all__ = ["PEERS", "Fits", "Peer", "own_seconds", "peer_path", "remembered"]

MANY = 10_000_000  # iterations: the limit on the time ends a fit, not this
START = 120.0  # seconds a child may take to load its package and, where it does, compile


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


# --- the solvers, all as (X, y, lam, tol, loss) -> w ------------------------------------------


def _C(X, lam: float) -> float:
    return 1.0 / (lam * X.shape[0])


def _linear_svc(X, y, lam, tol, loss) -> np.ndarray:
    make = importlib.import_module("sklearn.svm").LinearSVC
    dual = True if loss == "hinge" else "auto"
    options = {"loss": loss, "dual": dual, "fit_intercept": False, "random_state": 0}
    return make(C=_C(X, lam), tol=tol, max_iter=MANY, **options).fit(X, y).coef_


def _logistic(solver: str) -> Callable[..., np.ndarray]:
    def fit(X, y, lam, tol, loss) -> np.ndarray:
        del loss
        make = importlib.import_module("sklearn.linear_model").LogisticRegression
        options = {"solver": solver, "fit_intercept": False, "random_state": 0}
        return make(C=_C(X, lam), tol=tol, max_iter=MANY, **options).fit(X, y).coef_

    return fit


def _cyanure(X, y, lam, tol, loss) -> np.ndarray:
    make = importlib.import_module("cyanure.estimators").Classifier
    # its squared hinge is half of scikit-learn's and ours
    name, lam = ("sqhinge", lam / 2) if loss == "squared_hinge" else (loss, lam)
    options = {"penalty": "l2", "lambda_1": lam, "fit_intercept": False, "verbose": False}
    return make(loss=name, tol=tol, max_iter=MANY, **options).fit(X, y).coef_


def _skglm(X, y, lam, tol, loss) -> np.ndarray:
    del loss
    part = lambda name: importlib.import_module(f"skglm.{name}")
    solver = part("solvers").LBFGS(max_iter=MANY, tol=tol)  # its only one for the plain l2 penalty
    return solver.solve(X, y, part("datafits").Logistic(), part("penalties").L2(lam))[0]


def _by_columns(X):
    return X.tocsc() if sp.issparse(X) else np.asfortranarray(X)


class Peer(NamedTuple):
    """package: what has to be installed. losses: which it takes. tolerances: loosest first; what
    they mean is the solver's own affair. most: features at which it is not asked any more, and
    then nor on sparse rows. wants: the matrix as it wants it, made outside the time."""

    package: str
    losses: tuple[str, ...]
    fit: Callable[..., np.ndarray]
    tolerances: tuple[float, ...] = (1e-1, 1e-2, 1e-3, 1e-4)
    most: int | None = None
    wants: Callable[[Any], Any] = lambda X: X

    def installed(self) -> bool:
        return importlib.util.find_spec(self.package) is not None

    def takes(self, X, loss: str) -> bool:
        small = self.most is None or (not sp.issparse(X) and X.shape[1] <= self.most)
        return loss in self.losses and small


# where tol bounds a gradient, the looser ones are far from 1e-3 of the optimum at small lam
SLOPES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
SMOOTH = ("squared_hinge", "logistic")
PEERS = {
    "LinearSVC": Peer("sklearn", ("hinge", "squared_hinge"), _linear_svc),
    "lbfgs": Peer("sklearn", ("logistic",), _logistic("lbfgs"), SLOPES),
    "newton-cholesky": Peer("sklearn", ("logistic",), _logistic("newton-cholesky"), SLOPES, 1000),
    "liblinear": Peer("sklearn", ("logistic",), _logistic("liblinear")),
    "skglm": Peer("skglm", ("logistic",), _skglm, SLOPES, wants=_by_columns),
    "cyanure": Peer("cyanure", SMOOTH, _cyanure),
}
LOSSES = {
    "hinge": lambda margin: np.maximum(0.0, 1.0 - margin),
    "squared_hinge": lambda margin: np.maximum(0.0, 1.0 - margin) ** 2,
    "logistic": lambda margin: np.logaddexp(0.0, -margin),
}


# --- the child and its parent -----------------------------------------------------------------


def _serve(pipe, X, y, name: str, loss: str) -> None:
    """The child: one fit a request."""
    peer = PEERS[name]
    wanted = peer.wants(X)
    while True:
        lam, tol = pipe.recv()
        wall, own = time.perf_counter(), time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                w = peer.fit(wanted, y, lam, tol, loss)
        except Exception as error:  # whatever it is, the parent says it
            pipe.send(f"{type(error).__name__}: {error}")
            continue
        seconds, processor = time.perf_counter() - wall, time.process_time() - own
        w = np.asarray(w).ravel()
        losses = LOSSES[loss](y * np.asarray(X @ w).ravel())
        pipe.send((seconds, processor, float(losses.mean() + lam / 2 * (w @ w))))


class Fits:
    """fit(lam, tol) -> (seconds, processor seconds, P), or None when the limit is over."""

    def __init__(self, X: Any, y: np.ndarray, peer: str = "LinearSVC", loss: str = "hinge"):
        self.given, self.child = (X, y, peer, loss), None

    def fit(self, lam: float, tol: float, limit: float) -> tuple[float, float, float] | None:
        if self.child is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.child = context.Process(target=_serve, args=(theirs, *self.given), daemon=True)
            self.child.start()
            theirs.close()  # so that the end of the child is heard here
            self.pipe.send((1.0, 0.1))  # what a first fit loads is not the solver's time
            if self._answer(START) is None:
                return None
        self.pipe.send((lam, tol))
        return self._answer(limit)

    def _answer(self, limit: float) -> tuple[float, float, float] | None:
        if not self.pipe.poll(limit):
            self.close()
            return None
        try:
            found = self.pipe.recv()
        except EOFError:
            found = "its process ended before it had an answer"
        if isinstance(found, str):
            self.close()
            raise RuntimeError(f"{self.given[2]}: {found}")
        return found

    def close(self) -> None:
        if self.child is not None:
            self.child.terminate()
            self.child.join()
            self.child = None


def peer_path(
    fits: Fits, lams, best, within: float, limit: float, total: float
) -> list[dict[str, Any]]:
    """For every lam the loosest tolerance whose P is within ``within`` of the best known one.

    limit: seconds for one lam. total: of fits for all of them, those that were too loose included.
    What is not reached counts at its limit, and so does what was not tried as the total was over.
    """
    tolerances, rows, spent = PEERS[fits.given[2]].tolerances, [], 0.0
    for lam, optimum in zip(lams, best):
        row = {"lam": float(lam), "seconds": limit, "processor": limit, "tol": None, "above": None}
        left, tried = limit, spent < total
        for tol in tolerances if tried else ():
            found = fits.fit(float(lam), tol, left)
            spent += left if found is None else found[0]
            if found is None:
                break
            above = (found[2] - optimum) / abs(optimum)
            row["above"] = above
            if above <= within:
                row |= {"seconds": found[0], "processor": found[1], "tol": tol}
                break
            left = max(left - found[0], 1.0)
        rows.append(row | {"reached": row["tol"] is not None, "tried": tried})
    fits.close()
    return rows


def own_seconds(fit: dict[str, Any]) -> float:
    """The smaller of clock and processor: neither threads that wait nor other work on the machine
    are held against a solver."""
    return min(fit["seconds"], fit["processor"])
