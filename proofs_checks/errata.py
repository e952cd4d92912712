"""What is printed in the lectures, and what it should say.

kind "numeric": a claim of this folder carries the printed form as its false variant. "notation": a
letter, an index or a word; nothing to compute.
"""

from typing import NamedTuple

__all__ = ["ERRATA", "Erratum"]


class Erratum(NamedTuple):
    """where: the slide. claim: the name of the claim that shows it, or None."""

    id: str
    lecture: str
    where: str
    printed: str
    correct: str
    kind: str
    claim: str | None = None


def _svm(id, where, printed, correct, claim=None) -> Erratum:
    kind = "notation" if claim is None else "numeric"
    return Erratum(id, "Optimization Methods for SVMs", where, printed, correct, kind, claim)


SVM_LECTURE = [
    _svm(
        "K1",
        "KKT conditions; primal in alpha",
        "-Q alpha + y beta + s - xi = -e, beta the intercept",
        "beta = -b: Q alpha + y b - s + xi = e",
        "kernel_kkt",
    ),
    _svm(
        "K2",
        "active set method, step 2",
        "s_0 = -Q_0s alpha_s - y_0 beta + 1 - c Q_0c e, and xi_c likewise",
        "both with the opposite signs",
        "active_set_signs",
    ),
    _svm("K3", "decomposition approach", "+e_B' alpha_B", "-e_B' alpha_B", "reduced_qp"),
    _svm(
        "K4",
        "decomposition approach",
        "B = {i: 0 < alpha_i < c}",
        "B is any set: from alpha = 0 that one would be empty",
    ),
    _svm(
        "K5",
        "support vector machines",
        "the intercept is the feature (x, 1)",
        "that penalises b and has no y'alpha = 0 in its dual",
        "augmentation",
    ),
    _svm(
        "K6",
        "finding the new set B",
        "|{i: d_i != 0}| = |B|, bounds at C",
        "at most q, q even; bounds at c",
        "working_set",
    ),
    _svm("K7", "complexity", "negative s and x_i", "negative s and xi_i"),
    _svm(
        "K8",
        "decomposition method",
        "alpha'Q - e as a column; sorted: Y(alpha'Q - e)",
        "Q alpha - e; sorted is Y(Q alpha - e)",
    ),
    _svm(
        "K9",
        "solver table",
        "O(R n s/eps), O(R s/eps); decomposition once O(n^2/eps) iterations and once in all",
        "factors R^2/lam; not polynomial means not in log 1/eps",
    ),
    _svm("K10", "Pegasos", "1/delta", "log(1/delta) can be had (Shalev-Shwartz et al. 2011)"),
    _svm(
        "K11",
        "Huber-smoothed hinge",
        "O(1/eps) for f",
        "with acceleration, mu proportional to eps, and for the smoothed f",
    ),
    _svm("K12", "SGD", "|l| <= 1", "|l'| <= 1: the hinge is not bounded by 1"),
    _svm(
        "K13",
        "subgradients and Pegasos",
        "l(w, (x, y)), S+, A+ without iterate, phi_mu without y_i",
        "l(w, (x_i, y_i)), S+ and A_t+ at w_t, y_i in the middle branch",
    ),
    _svm(
        "K14",
        "approximation and estimation error",
        "lam ||w||^2; w* of the sample and of the population",
        "lam/2 ||w||^2 as before; two different w*",
        "scalings",
    ),
    _svm(
        "K15",
        "optimization problem",
        "0 <= alpha <= c with y'alpha = 0 implied; s_i, xi_i next to vectors",
        "the box is part of the representer claim; y'alpha = 0 is not implied; s and xi: vectors",
    ),
    _svm(
        "K16",
        "active set",
        "0 < alpha_s < c always; argmin over sets that may be empty; the matrix [Q_ss y; y' 0]",
        "a new member is at a bound; an empty set gives +inf; singular Q_ss needs a null direction",
        "singular_pivot",
    ),
    _svm(
        "K17",
        "active set method, linear algebra",
        "O(n_c) to move an index to I_c; O(n_s n) for s_0",
        "O(n_s) for e'Q_cs, O(n_c) when an index joins I_s; O(n_s n) with c Q_c e maintained",
    ),
]

ERRATA: list[Erratum] = [*SVM_LECTURE]
