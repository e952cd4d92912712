r"""Coordinate descent: RCDM, PCDM and Shotgun, on features or on examples.

    minimise F(x) = f(B x) + sum_j psi_j(x_j)      (x = w, or x = alpha: problems/coordinates.py)

A step draws a random set S of coordinates and, from the same x, moves every j in S to

    x_j+ = argmin_t  f'_j(x) t + (q_j/2)(t - x_j)^2 + psi_j(t),

q_j the curvature at the ESO constant v_j of the sampling: then E F(x+) is bounded by a separable
function, and the step minimises it. On features with l2 and one coordinate at a time this is
w_j - (grad_j P)/Lc_j with Lc_j = lam + sum_i c_i x_ij^2/gamma; on examples it is SDCA.

    rcdm(a)       one coordinate, p_j proportional to Lc_j^a
    pcdm(tau)     tau coordinates, v from the ESO: safe for any data
    shotgun(tau)  tau coordinates, v_j = L_j as if alone: safe for tau < d/rho + 1, rho the largest
                  eigenvalue of B'B scaled to unit diagonal; beyond that it may diverge, and on
                  duplicated features it does (proofs_checks/shotgun_diverges.py)

Lecture "Empirical Risk Minimization" (Richtarik), RCDM, PCDM, Shotgun.
Nesterov, SIOPT 22(2) (2012); Richtarik & Takac, Math. Prog. 156 (2016), arXiv:1212.0873;
Bradley, Kyrola, Bickson & Guestrin, ICML 2011, arXiv:1105.5379.

Rate: psi_j is sigma_j-strongly convex (lam, or c_j gamma), so with theta = min_j p_j sigma_j/(q_j +
sigma_j):  E[F(x_t) - F*] <= (1 - theta)^t (F(x_0) - F*). For RCDM theta = lam/(max Lc^{1-a} sum
Lc^a), Nesterov's. Checked step by step in proofs_checks/rcdm_one_step.py, coordinate_views.py.
"""

from typing import Any

from jaxopt_svm.core.blocks import At, Example
from jaxopt_svm.core.protocols import Point
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Nice, Powers, Shuffled, Uniform
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.coordinate.coordinate_visits import CoordinateVisits
from jaxopt_svm.methods.dual.rates import contraction, powers, start_gap
from jaxopt_svm.problems.coordinates import Features

__all__ = ["CoordinateDescent", "Undamped", "pcdm", "rcdm", "shotgun"]

LECTURE = "Empirical Risk Minimization: {}"


@pytree
class Undamped:
    """v_j = L_j whatever the set: Shotgun's steps. Not an ESO, so nothing makes it safe."""

    def check(self, rows: Any) -> None:
        del rows

    def constants(self, rows: Any, share: float):
        del share
        return rows.sqnorms


@pytree
class CoordinateDescent(CoordinateVisits):
    """Few features and many examples, or few features that matter. A visit costs a column.

    sampling: of coordinates; any. on: ``Features()`` or ``Examples()``.
    block: visits done together by serial samplings; speed only.
    State: vectors (image of x,), tables (x,).
    """

    sampling: Any = Shuffled()
    on: Any = Features()
    block: int = static(default=BLOCK)

    def init(self, problem, start: Point | None = None) -> At:
        view, x = self.start(problem, start)
        v = () if self.sampling.serial else self.sampling.constants(view)[1]
        return At(vectors=(view.image(x),), tables=(x,), constants=v)

    def blend(self, images: tuple, scalars):
        del scalars
        return images[0]

    def move(self, view, example: Example, slope, entries: tuple, constants, scalars) -> tuple:
        del scalars
        v = example.row.sqnorm if self.sampling.serial else constants
        return (view.coordinate(entries[0], slope, example.y, example.c, v) - entries[0],)

    def point(self, problem, state: At) -> Point:
        return self.on.of(problem).point(state.tables[0], state.vectors[0])

    def theta(self, problem):
        """min_j p_j sigma_j/(q_j + sigma_j): the share of F - F* a step closes on average."""
        view = self.on.of(problem)
        return contraction(view, *self.sampling.constants(view))

    def bound(self, problem, t):
        """(1 - theta)^t (P(0) - D(0)) on E[F - F*], from x = 0; smooth losses, safe steps."""
        if not problem.loss.smooth or isinstance(getattr(self.sampling, "eso", None), Undamped):
            return None
        problem = self.prepare(problem)
        return start_gap(problem) * powers(problem, self.theta(problem), t)


def _info(name: str, title: str, reference: str) -> Info:
    return Info(
        name=name,
        family="coordinate",
        problems="ERM, smooth loss, l2 or elastic net",
        certificate="from slopes",
        lecture=LECTURE.format(title),
        reference=reference,
    )


@register(_info("rcdm", "RCDM", "Nesterov 2012"))
def rcdm(a: float = 0.0, on: Any = None, block: int = BLOCK) -> CoordinateDescent:
    """One coordinate at a time, p_j proportional to Lc_j^a; a in {0, 1/2, 1} in the lecture."""
    # a = 0 does not depend on lam: the lanes of a sweep then share their draws
    sampling = Uniform() if a == 0 else Powers(a)
    return CoordinateDescent(sampling, Features() if on is None else on, block=block)


@register(_info("pcdm", "PCDM", "Richtarik & Takac 2012, arXiv:1212.0873"))
def pcdm(tau: int = 4, on: Any = None, eso: Any = None) -> CoordinateDescent:
    """tau coordinates at once; ``eso`` as for ``Nice``, ``SparseESO()`` unless given."""
    sampling = Nice(tau) if eso is None else Nice(tau, eso)
    return CoordinateDescent(sampling, Features() if on is None else on)


@register(_info("shotgun", "Shotgun", "Bradley et al. 2011, arXiv:1105.5379"))
def shotgun(tau: int = 2, on: Any = None) -> CoordinateDescent:
    """tau (the paper's P) coordinates at once, undamped: see above for when that is safe."""
    return CoordinateDescent(Nice(tau, Undamped()), Features() if on is None else on)
