r"""ALPHA: accelerated coordinate descent with an arbitrary sampling.

    minimise F(x) = f(B x) + sum_j psi_j(x_j)      (x = w, or x = alpha: problems/coordinates.py)

With t_0 = min_j p_j a step does
    1. y = (1 - t) x + t z
    2. for j in S:  z_j+ = argmin_s  f'_j(y) s + (t q_j/(2 p_j))(s - z_j)^2 + psi_j(s)
    3. x+ = y + t p^{-1} (z+ - z)
    4. t+ = (sqrt(t^4 + 4 t^2) - t^2)/2
As it stands a step changes all of x and y. But (1 - t+)/t+^2 = 1/t^2, so with x+ = t^2 u+ + z+ the
next y is t+^2 u+ + z+, and only what is in S is touched:

    y = t^2 u + z,    z_j += delta,    u_j += (t/p_j - 1)/t^2 delta,    x+ = t^2 u + z

Two tables (u, z), two images. x is a convex combination of values of z, so it stays in the domain.
With p = 1 this is FISTA, with tau-nice sets it is APPROX, with sets on nodes Hydra^2.

Lecture "Empirical Risk Minimization" (Richtarik), ALPHA, APPROX.
Qu & Richtarik, arXiv:1412.8060; Fercoq & Richtarik, SIOPT 25(4) (2015), arXiv:1312.5799.

Rate: E[F(x_k) - F*] <= 4 C/((k - 1) t_0 + 2)^2,
    C = (1 - t_0)(F(x_0) - F*) + (t_0^2/2) sum_j q_j (x_0j - x*_j)^2/p_j^2
(proofs_checks/approx_bound.py). Strong convexity gives it no linear rate; ``Restarted`` does.
"""

from typing import Any

import jax.numpy as jnp

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.sampling import Uniform
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.coordinate.coordinate_visits import CoordinateVisits
from jaxopt_svm.methods.dual.rates import start_gap
from jaxopt_svm.problems.coordinates import Features

__all__ = ["Alpha"]


@pytree
class Alpha(CoordinateVisits):
    """For lam small beside the curvature. A visit costs a column, read once and added twice.

    sampling: of coordinates; any. on: ``Features()`` or ``Examples()``.
    State: vectors (images of u and z), tables (u, z), constants (p, v), scalars (t, t^2 of the
    last step).
    """

    sampling: Any = Uniform()
    on: Any = Features()
    block: int = static(default=BLOCK)

    def init(self, problem, start: Point | None = None) -> At:
        view, x = self.start(problem, start)
        constants, image = self.sampling.constants(view), view.image(x)
        scalars = self._first(constants[0])
        return At((jnp.zeros_like(image), image), (jnp.zeros_like(x), x), scalars, constants)

    def _first(self, p):
        return jnp.min(p), jnp.zeros((), p.dtype)

    def blend(self, images: tuple, scalars):
        (in_u, in_z), (t, _) = images, scalars
        return t * t * in_u + in_z

    def move(self, view, example: Example, slope, entries: tuple, constants, scalars) -> tuple:
        (_, z), (p, v), (t, _) = entries, constants, scalars
        delta = view.coordinate(z, slope, example.y, example.c, v, t / p) - z
        return (t / p - 1.0) / (t * t) * delta, delta

    def after(self, scalars):
        t = scalars[0]
        # the textbook's (sqrt(t^4 + 4 t^2) - t^2)/2, without the cancellation for small t
        return 2.0 * t / (t + jnp.sqrt(t * t + 4.0)), t * t

    def _iterate(self, pair: tuple, state: At):
        u, z = pair
        return state.scalars[1] * u + z

    def point(self, problem, state: At) -> Point:
        x, image = self._iterate(state.tables, state), self._iterate(state.vectors, state)
        return self.on.of(problem).point(x, image)

    def restart(self, problem, state: At) -> At:
        """From the current x as if from the start; no product with the data."""
        del problem
        fresh = lambda pair: (jnp.zeros_like(pair[0]), self._iterate(pair, state))
        scalars = self._first(state.constants[0])
        return At(fresh(state.vectors), fresh(state.tables), scalars, state.constants)

    def shrink(self, problem, k):
        """E[F(x_k) - F*] <= (this) (F(x_0) - F*), k >= 1: strong convexity bounds C."""
        t0, C = self._shares(problem)
        return 4.0 * C / ((jnp.asarray(k, C.dtype) - 1.0) * t0 + 2.0) ** 2

    def _shares(self, problem):
        """t_0, and C/(F(x_0) - F*) <= 1 - t_0 + max_j (t_0/p_j)^2 q_j/sigma_j."""
        view = self.on.of(problem)
        p, v = self.sampling.constants(view)
        t0 = jnp.min(p)
        over = (t0 / p) ** 2 * view.c * v / (view.lam * view.loss.gamma)
        return t0, 1.0 - t0 + jnp.max(over)

    def period(self, problem):
        """Passes after which to restart: when ``shrink`` is e^-2, the best rate a pass."""
        t0, C = self._shares(problem)
        steps = 1.0 + (2.0 * jnp.e * jnp.sqrt(C) - 2.0) / t0
        return jnp.ceil(steps / self.updates(problem)).astype(jnp.int32)

    def bound(self, problem, t):
        """On E[F - F*] from x = 0, with P(0) - D(0) for F(0) - F*; smooth losses."""
        if not problem.loss.smooth:
            return None
        problem = self.prepare(problem)
        return start_gap(problem) * self.shrink(problem, jnp.maximum(jnp.asarray(t), 1))
