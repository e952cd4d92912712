r"""Hydra: coordinate descent on features that are spread over nodes.

Every node holds s = d/nodes columns and its part of w, and draws tau of its own coordinates. From
the same image B w all of them take their prox step; the changes of the image are added over the
nodes. That sum of n numbers is the only thing nodes exchange.

    w_j+ = argmin_t  f'_j(w) t + (v_j/(2 gamma))(t - w_j)^2 + lam g_j(t)

v_j comes from the ESO of the sampling (``Distributed``, from the pattern of the data), or is
beta L_j with Hydra's own beta = beta_1 + beta_2 (``HydraBeta``, from eigenvalues, dense data):

    beta_1 = 1 + (tau - 1)(sigma - 1)/s1,                  s1 = max(1, s - 1)
    beta_2 = (tau/s - (tau - 1)/s1) sigma (sigma' - 1)/sigma'
    sigma  = largest eigenvalue of M = B'B scaled to unit diagonal
    sigma' = the smallest number with M <= sigma' (block diagonal of M) <= nodes

beta_2 is the price of nodes that do not know of each other; beta <= 2 beta_1 for tau >= 2, so
at most the steps are twice as short. With one node this is PCDM.

Lecture "Empirical Risk Minimization" (Richtarik), Hydra.
Richtarik & Takac, JMLR 17 (2016), arXiv:1310.2059; checked in proofs_checks/hydra_beta.py.
"""

import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh

from jaxopt_svm.core.eso import LARGEST_EIGENPROBLEM, largest_eigenvalue
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sets import Distributed
from jaxopt_svm.methods.coordinate.coordinate_descent import CoordinateDescent
from jaxopt_svm.problems.coordinates import FeaturesOnNodes

__all__ = ["HydraBeta", "beta_terms", "hydra"]


def beta_terms(B: Array, nodes: int, tau: int) -> tuple[Array, Array]:
    """(beta_1, beta_2) for the rows of B (coordinates, n), split in order over nodes."""
    size, eps = B.shape[0] // nodes, jnp.finfo(B.dtype).eps
    s1 = max(1, size - 1)
    lengths = jnp.sqrt(jnp.sum(B * B, axis=1, keepdims=True))
    unit = B / jnp.maximum(lengths, jnp.finfo(B.dtype).tiny)
    small = unit @ unit.T if B.shape[0] <= B.shape[1] else unit.T @ unit
    sigma = jnp.maximum(largest_eigenvalue(small), 1.0)
    # sigma' is the largest eigenvalue of the sum of the projections on the nodes' spans
    _, values, span = jnp.linalg.svd(unit.reshape(nodes, size, -1), full_matrices=False)
    span = jnp.where((values > 4 * size * eps * values.max())[..., None], span, 0.0)
    span = span.reshape(-1, B.shape[1])
    small = span @ span.T if span.shape[0] <= span.shape[1] else span.T @ span
    across = jnp.clip(largest_eigenvalue(small), 1.0, float(nodes))
    share = tau / size - (tau - 1) / s1
    return 1.0 + (tau - 1) * (sigma - 1.0) / s1, share * sigma * (across - 1.0) / across


@pytree
class HydraBeta(Distributed):
    """``Distributed`` with v = beta L: tighter than the pattern for dense data."""

    def check(self, problem) -> None:
        super().check(problem)
        if not problem.rows.spans or min(problem.rows.shape) > LARGEST_EIGENPROBLEM:
            raise ValueError(
                "HydraBeta needs dense columns, and an eigenvalue problem of size at most "
                f"{LARGEST_EIGENPROBLEM}; use Distributed"
            )

    def constants(self, problem):
        p, _ = super().constants(problem)
        beta1, beta2 = beta_terms(problem.rows.toarray(), self.nodes, self.tau)
        return p, (beta1 + beta2) * problem.rows.sqnorms


@register(
    Info(
        name="hydra",
        family="coordinate",
        problems="ERM, smooth loss, l2 or elastic net",
        certificate="from slopes",
        lecture="Empirical Risk Minimization: Hydra",
        reference="Richtarik & Takac 2013, arXiv:1310.2059",
    )
)
def hydra(
    nodes: int = 4, tau: int = 1, beta: bool = False, mesh: Mesh | None = None
) -> CoordinateDescent:
    """Features over ``nodes``, tau of each node a step; with ``mesh`` on as many devices."""
    sampling = HydraBeta(nodes, tau) if beta else Distributed(nodes, tau)
    return CoordinateDescent(sampling, FeaturesOnNodes(nodes, mesh))
