r"""Claim. Without noise the posterior mean is the interpolant of least norm,

    argmin ||h||_K  subject to  h(x_i) = y_i,        ||h||_K^2 = y'K^{-1}y

(printed: argmax, which has no bound). Mode and mean agree because the constraints are equalities:
given h >= 1 for one h ~ N(0, 1) the mode is 1 and the mean 1.525. Lecture "Introduction to Machine
Learning" (Srebro), Gaussian processes. Kimeldorf & Wahba 1970.

Check. Other interpolants, sum of the mean and of functions that vanish at the data, of every
size; the mean interpolates; its norm. False variants, both of which have to fail: the mean has the
largest norm of them, and mode = mean under the inequality.
"""

import math

import jax.numpy as jnp
import numpy as np

from jaxopt_svm import RBF, make_gp
from proofs_checks.claims import Claim, Result, equal, smallest

X, Y = np.array([-2.0, -1.0, 0.3, 1.1, 2.0]), np.array([-0.6, -0.5, 0.6, 1.2, 1.2])
EXTRA = np.array([-1.5, 0.8])


def check() -> Result:
    rng, kernel = np.random.default_rng(30), RBF(1.0)
    gp = make_gp(X, Y, kernel=kernel)
    K = np.asarray(kernel.matrix(X, X))
    least = float(Y @ np.linalg.solve(K, Y))
    true = [jnp.min(equal(gp.mean(X), jnp.asarray(Y))), equal(gp.squared_norm(), least)]
    # an interpolant that also takes given values at two more points has the least norm of those
    points = np.concatenate([X, EXTRA])
    wide = np.asarray(kernel.matrix(points, points))
    at = np.asarray(gp.mean(EXTRA))
    norms = []
    for size in (0.0, 0.01, 0.3, 5.0):
        values = np.concatenate([Y, at + size * rng.normal(size=2)])
        norms.append(float(values @ np.linalg.solve(wide, values)))
    true += [norm - least for norm in norms] + [equal(norms[0], least)]
    # the mean of N(0, 1) above 1: density over tail probability
    tail = 0.5 * math.erfc(1.0 / math.sqrt(2.0))
    mean = math.exp(-0.5) / math.sqrt(2 * math.pi) / tail
    return Result(smallest(*true), max(least - max(norms), -abs(mean - 1.0)))


claim = Claim(
    name="gp_min_norm",
    text="without noise the posterior mean is the interpolant of least norm, y'K^-1 y",
    lecture="Introduction to Machine Learning: Gaussian processes",
    check=check,
    tolerance=1e-6,
)
