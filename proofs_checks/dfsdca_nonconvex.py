r"""Claim (erratum). The dfSDCA slide states no convexity of phi_i, and its theta needs it:

    theta = min_i p_i lam gamma/(c_i v_i + lam gamma)            diverges on the problem below
    theta = min_i p_i lam^2/(Lw_i^2 c_i v_i + lam^2)             contracts by 1 - theta a step

Two examples in one dimension, x = (1.2, -1.16), phi_i(a) = s_i a^2/2 with s = (1, -1): phi_2 is
concave, their mean convex. The step is linear in alpha, so E||alpha||^2 grows with the spectral
radius of E[A (x) A], A the matrix of a step: no sampling error.
Lecture "Empirical Risk Minimization" (Richtarik), dfSDCA; Shalev-Shwartz, arXiv:1502.06177.

Check. A is the derivative of the package's own step. With the second rule the radius is at most
1 - theta; with the slide's rule and s = (1, 1) too. False variant: the slide's rule, s = (1, -1).
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import ConvexTheta, DfSDCA, NonConvexTheta, Point, Uniform, make_erm
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree
from proofs_checks.claims import Claim, Result, smallest

X = np.array([[1.2], [-1.16]])
LAM = 0.0137


@pytree
class SignedSquare:
    """phi(z, y) = y z^2/2: concave for y = -1."""

    smooth = True
    lipschitz = False
    regression = True
    vector = False
    gamma = 1.0

    def value(self, z, y):
        return y * z * z / 2

    def slope(self, z, y):
        return y * z

    # no conjugate: the dual of a concave phi is -inf everywhere, and dfSDCA never asks
    neg_conj = clip = dual_step = prox = None


def radius(signs, rule) -> tuple[float, float]:
    """Spectral radius of the second moments, and theta."""
    problem = make_erm(X, signs, loss=SignedSquare(), lam=LAM)
    method = DfSDCA(Uniform(), rule, block=1)

    def step(alpha, i):
        state = method.init(problem, Point(problem.abar(alpha), alpha))
        return method.step(problem, state, Sample(i[None])).tables[0]

    each = jax.jit(jax.vmap(jax.jacobian(step), (None, 0)))
    at = each(jnp.zeros(2), jnp.arange(2, dtype=jnp.int32))
    moments = np.mean([np.kron(A, A) for A in np.asarray(at)], axis=0)
    theta = float(rule.theta(problem, *method.sampling.constants(problem)))
    return float(np.abs(np.linalg.eigvals(moments)).max()), theta


def check() -> Result:
    mixed, convex = np.array([1.0, -1.0]), np.array([1.0, 1.0])
    holds = [radius(mixed, NonConvexTheta()), radius(convex, ConvexTheta())]
    grown, theta = radius(mixed, ConvexTheta())
    return Result(smallest(*(1 - t - r for r, t in holds)), 1 - theta - grown)


claim = Claim(
    name="dfsdca_nonconvex",
    text="E2: with a non-convex phi_i the slide's theta diverges, the squared one contracts",
    lecture="Empirical Risk Minimization: dfSDCA",
    check=check,
)
