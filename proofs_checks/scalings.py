r"""Claim. The scalings of the SVM and their maps:

    f_lam(w) = lam/2 ||w||^2 + 1/n sum hinge,    P_c(w) = 1/2 ||w||^2 + c sum hinge,   lam = 1/(n c)
    P_c = f_lam / lam;    SVM-perf's C = n c = 1/lam;    dual: |beta_i| <= c, beta = y alpha
    ball form  min mean hinge, ||w|| <= B:  the same w for B = ||w*(lam)||, which does not grow with
    lam

Lecture "Optimization Methods for SVMs" (Scheinberg), which also writes lam ||w||^2 without the
half.
Check. Values at random w, bounds of beta, the norms along a grid of lam, and no w of norm B has a
smaller hinge.
False variant: lam = 1/(2 n c), the missing half.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Hinge, Linear, make_erm, make_kernel_svm
from proofs_checks.claims import Claim, Result, equal, optimum, smallest
from proofs_checks.kernel_toys import points

COUNT = 300


def check() -> Result:
    rng = np.random.default_rng(0)
    X, y = points()
    n, c = len(y), 0.7
    hinge = lambda w: np.maximum(0.0, 1.0 - y * (X @ w))
    true, false = [], []
    for C in (c, 2 * c):
        problem = make_erm(X, y, loss=Hinge(), C=C)
        true.append(equal(problem.lam, 1.0 / (n * C)))
        for w in rng.normal(size=(5, 2)):
            P_c = w @ w / 2 + C * hinge(w).sum()
            true.append(equal(problem.primal(w) / problem.lam, P_c))
            false.append(float(equal(problem.with_lam(1 / (2 * n * C)).primal(w) * 2 * n * C, P_c)))
        lo, hi = make_kernel_svm(X, y, kernel=Linear(), C=C).box()
        true.append(jnp.min(equal(hi - lo, C)))
    grid = [problem.with_lam(lam) for lam in np.geomspace(1e-3, 10.0, 9)]
    norms = jnp.stack([jnp.linalg.norm(optimum(p).w) for p in grid])
    true.append(-jnp.max(jnp.diff(norms)))
    # the ball: no point of norm at most B has a smaller mean hinge
    w = optimum(grid[4]).w
    others = rng.normal(size=(COUNT, 2))
    others *= float(norms[4]) * rng.random((COUNT, 1)) / np.linalg.norm(others, axis=1)[:, None]
    means = jax.vmap(lambda v: jnp.mean(jnp.maximum(0.0, 1.0 - y * (X @ v))))(jnp.asarray(others))
    true.append(jnp.min(means) - hinge(np.asarray(w)).mean())
    return Result(smallest(*true), max(false))


claim = Claim(
    name="scalings",
    text="lam = 1/(nc), P_c = f_lam/lam, C = nc, and ||w*(lam)|| does not grow with lam",
    lecture="Optimization Methods for SVMs: support vector machines",
    check=check,
)
