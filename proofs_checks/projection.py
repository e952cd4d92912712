r"""Claim. Proj(w) = w min(1, B/||w||) is the nearest point of the ball ||w|| <= B. It is idempotent
and moves no two points apart:

    ||Proj(w) - v|| <= ||w - v|| for every v in the ball,   ||Proj(w) - Proj(v)|| <= ||w - v||.

Lecture "Introduction to Machine Learning" (Srebro), projected subgradient descent.

Check. Random points inside, outside and on the sphere, in several dimensions; nearest among random
points of the ball. False variant: the printed formula B w/||w|| taken for every w, also inside.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.problems.ball import into_ball
from proofs_checks.claims import Claim, Result, smallest, spread

COUNT, B = 400, 1.3


def printed(w, B):
    return B * w / jnp.linalg.norm(w)


def slacks(project, ws, vs):
    length = lambda x: jnp.linalg.norm(x, axis=1)
    pw, pv = (jax.vmap(lambda w: project(w, B))(x) for x in (ws, vs))
    inside = jax.vmap(lambda w: into_ball(w, B))(vs)
    return smallest(
        B - length(pw),
        length(ws - inside) - length(pw - inside),
        length(ws - vs) - length(pw - pv),
        -length(jax.vmap(lambda w: project(w, B))(pw) - pw),
    )


def check() -> Result:
    rng, true, false = np.random.default_rng(21), [], []
    for d in (1, 3, 20):
        ws, vs = (spread(rng, -2, 1, COUNT, 1) * rng.normal(size=(COUNT, d)) for _ in range(2))
        near = ws + 0.1 * rng.normal(size=(COUNT, d))
        vs = jnp.where(np.arange(COUNT)[:, None] % 2 == 0, near, vs)
        true.append(slacks(into_ball, ws, vs))
        false.append(slacks(printed, ws, vs))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="projection",
    text="w min(1, B/||w||) is the nearest point of the ball; it never moves points apart",
    lecture="Introduction to Machine Learning: projection",
    check=check,
)
