"""Where a lecture's slides say something else than what is true: the rows of the list of errata.

A row of kind "numeric" names the claim of proofs_checks that computes both: what is printed fails,
what is correct holds. A row of kind "notation" is a slip that no computation can tell from a
correct reading.
"""

from typing import NamedTuple

__all__ = ["ERRATA_F", "Erratum"]


class Erratum(NamedTuple):
    """where: the slide. kind: "numeric" or "notation". claim: a name in proofs_checks, or None."""

    id: str
    lecture: str
    where: str
    printed: str
    correct: str
    kind: str
    claim: str | None = None


def rows(lecture: str, *lines: tuple) -> tuple[Erratum, ...]:
    """Rows of one lecture, each (id, where, printed, correct, kind[, claim])."""
    return tuple(Erratum(first, lecture, *rest) for first, *rest in lines)


ERRATA_F = rows(
    "Online solvers for convex risk minimization (Franc)",
    (
        "F1",
        "SDA, dual problem",
        "alpha* = argmin of D over R^d",
        "argmax over the feasible set A; feasible points lie below D*, and over R^d D has no "
        "lower bound",
        "numeric",
        "structured_duality",
    ),
    (
        "F2",
        "SDA, dual problem",
        "alpha = (alpha_1; ...; alpha_m)^d",
        "alpha = (alpha_1; ...; alpha_m) in R^d",
        "notation",
    ),
    (
        "F3",
        "SDA, generic algorithm",
        "A^t is called a line between alpha^t and beta^t",
        "a segment: tau is in [0, 1]",
        "notation",
    ),
    (
        "F4",
        "SDA, reduced problem",
        "tau = argmax D(alpha (1 - tau) + beta)",
        "tau = argmax D(alpha (1 - tau) + tau beta)",
        "numeric",
        "segment",
    ),
    (
        "F5",
        "SDA, steepest feasible ascent",
        "sum_y beta_i(y) (l_j(y) + <w, Psi_j(y)>); the sets B_i and B_i^t",
        "l_i and Psi_i: j is bound to nothing; B_i and B_i^t are one set",
        "notation",
    ),
    (
        "F6",
        "SDA, stopping condition, last line of the gap",
        "(1/m) [sum_i max_y s_i - m sum_y alpha_i(y) s_i(y)]: i is free in the second term",
        "(1/m) sum_i [max_y s_i - m sum_y alpha_i(y) s_i(y)]",
        "numeric",
        "structured_gap",
    ),
    (
        "F7",
        "SDA, primal form of the algorithm; improvement of the dual objective",
        "w_i^t = (1 - tau) w_i^t - ..., w^{t+1} = w^t + w_i^{t+1} - w_i^t; tau^{t+1} for tau^t",
        "the left side is w_i^{t+1} (to the letter, w never moves); the blocks j != i carry over",
        "numeric",
        "trajectories",
    ),
    (
        "F8",
        "SDA, improvement of the dual objective, tau = 1",
        "<alpha - beta, b - A'A alpha> - 1/2 ||A (alpha - beta)||^2",
        "<beta - alpha, b - A'A alpha> - 1/2 ||A (alpha - beta)||^2; as printed never positive",
        "numeric",
        "segment",
    ),
    (
        "F9",
        "SDA, removing the dual variables",
        "w_i^{t+1} = -(1/sqrt(lam)) A (alpha_i (1 - tau) + tau beta_i)",
        "A_i in place of A",
        "numeric",
        "trajectories",
    ),
    (
        "F10",
        "SDA, near maximal gain, definition of beta",
        "no case for j = i and y other than u, v; alpha_j(y^t) for j != i",
        "beta_i(y) = alpha_i(y) there, beta_j(y) = alpha_j(y)",
        "notation",
    ),
    (
        "F11",
        "SDA, near maximal gain, improvement for tau < 1",
        "lam (s_u - s_v)/||Psi(u) - Psi(v)||^2",
        "lam (s_u - s_v)^2/(2 ||Psi(u) - Psi(v)||^2)",
        "numeric",
        "pair_gain",
    ),
    (
        "F12",
        "SDA, convergence guarantees",
        "T = 8 l_max D^2/(eps^2 lam) updates",
        "max{8 l_max D^2/(eps^2 lam), 2 m l_max/eps}: full steps gain eps/(2m) only; 50 alike "
        "examples with lam = 100, eps = 1/2 take 50 updates where T = 0.32",
        "numeric",
        "sda_iterations",
    ),
    (
        "F13",
        "SDA, convergence guarantees",
        "the theorem is for steepest ascent and for near maximal gain",
        "near maximal gain can gain less in one update; with k labels of mass at most "
        "max{32 l_max D^2/(lam eps^2), 4 m k l_max/eps} updates",
        "numeric",
        "fasole_gain",
    ),
    (
        "F18",
        "SDA, near maximal gain and both steepest ascent algorithms",
        "v over all labels with mass; tau a quotient",
        "v other than u (0/0); tau = 1 where ||Psi(u) - Psi(v)|| = 0 or ||A (beta - alpha)|| = 0",
        "numeric",
        "pair_gain",
    ),
)
