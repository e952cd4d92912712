r"""Claim. With w_B the best w of the ball for the risk, w_S the best for a sample of m,

    L_D(w) - L0 = [L_D(w_B) - L0] + [L_D(w_S) - L_D(w_B)] + [L_D(w) - L_D(w_S)],

approximation, estimation and optimisation. In expectation over the sample, for |phi'| <= 1,

    E estimation <= E sup over the ball of (L_D - L_S) <= 2 B R/sqrt(m)

(one-sided: E L_S(w_B) = L_D(w_B)). The optimisation bound B R/sqrt(T) balances this at T = m/4.
Lectures "Introduction to Machine Learning" (Srebro), T about m; "Optimization Methods for SVMs"
(Scheinberg), three errors. Bottou & Bousquet, NIPS 2007.

Check. A population of four atoms on a line, every one of the 4^m samples: minima and suprema of
piecewise linear functions, at their kinks. The package's three numbers add up.
False variants, both of which have to fail: the balance at T = m, and an estimation error of zero.
"""

from itertools import product

import numpy as np

from jaxopt_svm import Hinge, error_decomposition, make_ball
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.one_pass import population

X, Y, B = np.array([0.4, 1.0, 0.7, -0.9]), np.array([1.0, 1.0, -1.0, -1.0]), 2.0


def values(w: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(samples, ws) the mean hinge on each sample, given how often it has each atom."""
    losses = np.maximum(0.0, 1.0 - Y[:, None] * X[:, None] * w[None, :])
    return counts @ losses / counts.sum(1, keepdims=True)


def check() -> Result:
    R, kinks = np.sqrt(np.mean(X**2)), Y / X
    # the extremes of piecewise linear functions lie at kinks and at the ends
    w = np.unique(np.clip(np.concatenate([kinks, [-B, B]]), -B, B))
    risk = values(w, np.ones((1, 4)))[0]
    true, estimation = [], 0.0
    for m in (1, 2, 4, 6):
        samples = np.array(list(product(range(4), repeat=m)))
        counts = (samples[:, :, None] == np.arange(4)).sum(1).astype(float)
        fitted = values(w, counts)
        estimation = float(np.mean(risk[fitted.argmin(1)] - risk.min()))
        uniform = float(np.mean((risk[None, :] - fitted).max(1)))
        true += [uniform - estimation, 2 * B * R / np.sqrt(m) - uniform]
    balance = lambda T, m: -abs(B * R / np.sqrt(T) - 2 * B * R / np.sqrt(m))
    true.append(balance(100 / 4, 100))
    whole = population(X[:, None], Y, B)
    sample = make_ball(X[[0, 2, 3], None], Y[[0, 2, 3]], loss=Hinge(), B=B)
    w_given = np.array([0.3])
    parts = error_decomposition(whole, sample, w_given, lowest=0.1)
    true.append(-abs(sum(parts) + 0.1 - float(whole.risk_of(w_given)[0])))
    return Result(smallest(*true), max(balance(100, 100), -estimation))


claim = Claim(
    name="error_decomposition",
    text="three errors add up to the risk; E estimation <= 2 B R/sqrt(m), balanced at T = m/4",
    lecture="Introduction to Machine Learning: how long to run SGD",
    check=check,
)
