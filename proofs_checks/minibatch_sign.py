r"""Claim. Mini-batch SGD goes down the mean of its slopes, all of them taken at the same w:

    w+ = Proj( w - (eta/b) sum_{j in batch} phi'_j(w) x_j ).

Lecture "Introduction to Machine Learning" (Srebro), mini-batches. Printed with a plus, and with
each example's update overwriting the last.

Check. The package's step on every batch of two and of all, against the formula; after 100 steps on
all examples the risk has fallen. False variants, all of which have to fail: the plus, the
overwriting, and a risk that falls with the plus.
"""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import SGD, Constant, Hinge, Point, Uniform, make_ball
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.problems.ball import into_ball
from proofs_checks.claims import Claim, Result, equal, smallest

ETA, N, B = 0.4, 6, 2.0


def moves(ball, w, batch):
    """w+ with minus, with plus, and with the last example alone."""
    slope = ball.loss.slope(ball.rows.X[batch] @ w, ball.y[batch])
    each = ETA / len(batch) * slope[:, None] * ball.rows.X[batch]
    return [into_ball(w + d, B) for d in (-each.sum(0), each.sum(0), -each[-1])]


def check() -> Result:
    rng = np.random.default_rng(34)
    X = rng.normal(size=(N, 3))
    ball = make_ball(X, np.where(np.arange(N) % 2, 1.0, -1.0), loss=Hinge(), B=B)
    true, plus, last = [], [], []
    for b in (2, N):
        method = SGD(Constant(ETA), Uniform(), batch=b)
        step = jax.jit(
            lambda w, i, method=method: method.step(ball, method.init(ball, Point(w)), i)
        )
        for batch in combinations(range(N), b):
            batch, w = np.array(batch, np.int32), jnp.asarray(rng.normal(size=3) / 2)
            ours = step(w, Sample(jnp.asarray(batch))).vectors[0]
            minus, wrong, overwritten = moves(ball, w, batch)
            true.append(jnp.min(equal(ours, minus)))
            plus.append(float(jnp.min(equal(ours, wrong))))
            last.append(float(jnp.min(equal(ours, overwritten))))
    down = up = jnp.zeros(3)
    for _ in range(100):
        down, up = moves(ball, down, np.arange(N))[0], moves(ball, up, np.arange(N))[1]
    true.append(1.0 - ball.primal(down))
    return Result(smallest(*true), max(min(plus), min(last), float(1.0 - ball.primal(up))))


claim = Claim(
    name="minibatch_sign",
    text="a mini-batch step is minus eta times the mean slope, all at the same w",
    lecture="Introduction to Machine Learning: mini-batches",
    check=check,
)
