r"""Claim. The steepest feasible direction with at most q entries,

    min -v'd,  sum d = 0,  -1 <= d <= 1,  d_i >= 0 at lo,  d_i <= 0 at hi,  |supp d| <= q,

is: the q/2 largest v of up against the q/2 smallest v of low, pair by pair while the first exceeds
the second. Lecture "Optimization Methods for SVMs" (Scheinberg), finding the new set B; Joachims
1999.

Check. All d in {-1, 0, 1}^7 (the vertices of the polytope are among them), q = 2, 4, 6, random v
and beta.
False variant: |supp d| = q, as printed: then no direction, or a worse one, is found.
"""

import itertools

import jax.numpy as jnp
import numpy as np

from jaxopt_svm.methods.kernel.decomposition import working_set
from jaxopt_svm.oracles.pairs import Quadratic
from proofs_checks.claims import Claim, Result, equal, smallest

N, CASES = 7, 25
ALL = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=N)))


def enumerated(v, at_lo, at_hi, fits):
    """The smallest -v'd over feasible d whose number of entries ``fits``."""
    feasible = (ALL.sum(1) == 0) & ~((ALL < 0) & at_lo).any(1) & ~((ALL > 0) & at_hi).any(1)
    values = np.where(feasible & fits((ALL != 0).sum(1)), -ALL @ v, np.inf)
    return values.min()


def chosen(v, beta, q):
    """-v'd of the direction the method takes."""
    box = Quadratic(jnp.ones(N), jnp.zeros(N), jnp.ones(N))
    index, counts = working_set(box, jnp.asarray(beta), jnp.asarray(v), q)
    signs = jnp.where(jnp.arange(q) < q // 2, 1.0, -1.0)
    return float(-jnp.sum(jnp.where(counts, signs * jnp.asarray(v)[index], 0.0)))


def check() -> Result:
    rng = np.random.default_rng(0)
    true, false = [], []
    for _ in range(CASES):
        v, beta = rng.normal(size=N), np.clip(rng.uniform(-0.5, 1.5, N), 0.0, 1.0)
        for q in (2, 4, 6):
            mine = chosen(v, beta, q)
            bounds = (beta == 0.0, beta == 1.0)
            true.append(float(equal(mine, enumerated(v, *bounds, lambda size, q=q: size <= q))))
            exactly = enumerated(v, *bounds, lambda size, q=q: size == q)
            false.append(-1.0 if np.isinf(exactly) else float(equal(mine, exactly)))
    return Result(smallest(*true), min(false))


claim = Claim(
    name="working_set",
    text="top and bottom q/2 of v, pair by pair, solve the selection problem exactly",
    lecture="Optimization Methods for SVMs: finding the new set B",
    check=check,
)
