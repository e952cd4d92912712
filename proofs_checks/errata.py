"""Where a lecture's slides say something else than what is true: the rows of the list of errata.

A row of kind "numeric" names the claim of proofs_checks that computes both: what is printed fails,
what is correct holds. A row of kind "notation" is a slip that no computation can tell from a
correct reading.
"""

from typing import NamedTuple

__all__ = ["ERRATA_F", "ERRATA_K", "ERRATA_S", "Erratum"]


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

ERRATA_S = rows(
    "Introduction to Machine Learning (Srebro)",
    (
        "A1",
        "discriminative model",
        "P(y = 1 | x) = 1/(1 + e^h); later a product without y_i",
        "P(y | x) = 1/(1 + e^(-y h)): for h = 2, P(1) is .881 and not .119",
        "numeric",
        "likelihood_losses",
    ),
    (
        "A2",
        "loss as likelihood",
        "loss = -log P(x | y), called the likelihood",
        "loss = -log P(y | x; w), the negative log likelihood",
        "notation",
    ),
    (
        "A3",
        "Gaussian process, noise-free",
        "argmax ||w|| subject to L_S = 0, equal to E[h | L_S = 0]",
        "argmin ||w||; equal to the mean for equality constraints only (else mode 1, mean 1.525)",
        "numeric",
        "gp_min_norm",
    ),
    (
        "A4",
        "Gaussian process prior",
        "p(h) proportional to exp(-||h||^2)",
        "exp(-1/2 ||h||^2), formal in infinite dimension",
        "numeric",
        "gp_prior",
    ),
    (
        "A5",
        "Gaussian process, logistic likelihood",
        "E[h | S] is the MAP estimate",
        "only for a Gaussian posterior; logistic: mode 1.189, mean 1.532",
        "numeric",
        "logistic_map",
    ),
    (
        "A6",
        "mini-batch SGD",
        "w(t+1) = w(t) + (eta/b) phi'_j x_j, for each j of the batch",
        "minus, and accumulated over the batch on w(t+1), slopes at w(t)",
        "numeric",
        "minibatch_sign",
    ),
    (
        "A7",
        "runtime of mini-batch SGD",
        "O(B^2 R^2/eps^2 b m)",
        "O(B^2 R^2/eps^2 b d): b inner products of length d a step",
        "notation",
    ),
    (
        "A8",
        "gradient estimates",
        "independent g's",
        "conditionally unbiased: E[g_t | past] is a subgradient at w_t, on which g_t depends",
        "notation",
    ),
    (
        "A9",
        "subgradient descent",
        "returns w(T), with the bound B rho/sqrt(T); SGD's bound is stated for w(T) too",
        "the bound is for the mean (or the best); the last is 1.32 times it at T = 50, 1.62 at 200",
        "numeric",
        "ball_last_iterate",
    ),
    (
        "A10",
        "SGD",
        "||grad F|| <= rho suffices; step by line search",
        "E||g||^2 <= rho^2; a line search on a noisy slope means nothing",
        "numeric",
        "second_moment",
    ),
    (
        "A11",
        "step sizes",
        "sqrt(B^2/(rho^2 t)) twice; the same constant 1 for both",
        "the first has T; for the decaying step 3 B rho/sqrt(T) is what is proved",
        "numeric",
        "ball_bounds",
    ),
    (
        "A12",
        "average of the iterates",
        "mean of w(1)..w(T) with w(0) = 0",
        "of w(0)..w(T-1), or a factor 1 + 1/(2T)",
        "numeric",
        "ball_bounds",
    ),
    (
        "A13",
        "subgradient of the hinge",
        "cases y_i phi(x_i) < 1; [1 - y_i w <w, .>]; no lam w on the left",
        "y_i <w, phi(x_i)> < 1; [1 - y_i <w, phi(x_i)>]_+; plus lam w",
        "notation",
    ),
    (
        "A14",
        "predictor",
        "h_w(w) = sign(r_w); E[r]; indices i, j beside 1, 2",
        "h_w(x) = sign(r_w(x)); E[h]; one pair of indices",
        "notation",
    ),
    (
        "A15",
        "Bayesian prediction",
        "expectation over y, no dw, answer in {0, 1}",
        "over y_query, integral dw, answer -1 or +1",
        "notation",
    ),
    (
        "A16",
        "batch against sweep",
        "step eta sum g_i, then (eta/m) sum g_i; g_m twice",
        "the two eta differ by m; indices 1..m",
        "notation",
    ),
    (
        "A17",
        "how long to run SGD",
        "2 B R/sqrt(m) = B R/sqrt(T) at T about m",
        "at T = m/4; and 2 B R/sqrt(m) holds in expectation, by the one-sided argument",
        "numeric",
        "error_decomposition",
    ),
    (
        "A18",
        "language models; subgradients",
        "p(t_i | text[:i-1]) as a slice; differential set",
        "all tokens before i (text[:i-1] drops one); subdifferential",
        "numeric",
        "likelihood_losses",
    ),
    (
        "A19",
        "non-convexity example; projection",
        "[1 - y (w x + w^2)]_+ is not convex; B w/||w|| for every w",
        "not convex for y = +1 only; the identity inside the ball",
        "numeric",
        "convex_in_w",
    ),
    (
        "A19b",
        "projection",
        "B w/||w||",
        "w min(1, B/||w||)",
        "numeric",
        "projection",
    ),
    (
        "A20",
        "0-1 loss with a norm",
        "min L01(w) + lam ||w||^2 as a learning rule",
        "has no minimiser on separable data: the infimum 0 is not attained",
        "numeric",
        "zero_one_loss",
    ),
)

ERRATA_K = rows(
    "Optimization Methods for SVMs (Scheinberg)",
    (
        "K1",
        "KKT conditions; primal in alpha",
        "-Q alpha + y beta + s - xi = -e, beta the intercept",
        "beta = -b: Q alpha + y b - s + xi = e",
        "numeric",
        "kernel_kkt",
    ),
    (
        "K2",
        "active set method, step 2",
        "s_0 = -Q_0s alpha_s - y_0 beta + 1 - c Q_0c e, and xi_c likewise",
        "both with the opposite signs",
        "numeric",
        "active_set_signs",
    ),
    (
        "K3",
        "decomposition approach",
        "+e_B' alpha_B",
        "-e_B' alpha_B",
        "numeric",
        "reduced_qp",
    ),
    (
        "K4",
        "decomposition approach",
        "B = {i: 0 < alpha_i < c}",
        "B is any set: from alpha = 0 that one would be empty",
        "notation",
    ),
    (
        "K5",
        "support vector machines",
        "the intercept is the feature (x, 1)",
        "that penalises b and has no y'alpha = 0 in its dual",
        "numeric",
        "augmentation",
    ),
    (
        "K6",
        "finding the new set B",
        "|{i: d_i != 0}| = |B|, bounds at C",
        "at most q, q even; bounds at c",
        "numeric",
        "working_set",
    ),
    (
        "K7",
        "complexity",
        "negative s and x_i",
        "negative s and xi_i",
        "notation",
    ),
    (
        "K8",
        "decomposition method",
        "alpha'Q - e as a column; sorted: Y(alpha'Q - e)",
        "Q alpha - e; sorted is Y(Q alpha - e)",
        "notation",
    ),
    (
        "K9",
        "solver table",
        "O(R n s/eps), O(R s/eps); decomposition once O(n^2/eps) iterations and once in all",
        "factors R^2/lam; not polynomial means not in log 1/eps",
        "notation",
    ),
    (
        "K10",
        "Pegasos",
        "1/delta",
        "log(1/delta) can be had (Shalev-Shwartz et al. 2011)",
        "notation",
    ),
    (
        "K11",
        "Huber-smoothed hinge",
        "O(1/eps) for f",
        "with acceleration, mu proportional to eps, and for the smoothed f",
        "numeric",
        "huber_bounds",
    ),
    (
        "K12",
        "SGD",
        "|l| <= 1",
        "|l'| <= 1: the hinge is not bounded by 1",
        "numeric",
        "hinge_lipschitz",
    ),
    (
        "K13",
        "subgradients and Pegasos",
        "l(w, (x, y)), S+, A+ without iterate, phi_mu without y_i",
        "l(w, (x_i, y_i)), S+ and A_t+ at w_t, y_i in the middle branch",
        "notation",
    ),
    (
        "K14",
        "approximation and estimation error",
        "lam ||w||^2; w* of the sample and of the population",
        "lam/2 ||w||^2 as before; two different w*",
        "numeric",
        "scalings",
    ),
    (
        "K15",
        "optimization problem",
        "0 <= alpha <= c with y'alpha = 0 implied; s_i, xi_i next to vectors",
        "the box is part of the representer claim; y'alpha = 0 is not implied; s and xi: vectors",
        "notation",
    ),
    (
        "K16",
        "active set",
        "0 < alpha_s < c always; argmin over sets that may be empty; the matrix [Q_ss y; y' 0]",
        "a new member is at a bound; an empty set gives +inf; singular Q_ss needs a null direction",
        "numeric",
        "singular_pivot",
    ),
    (
        "K17",
        "active set method, linear algebra",
        "O(n_c) to move an index to I_c; O(n_s n) for s_0",
        "O(n_s) for e'Q_cs, O(n_c) when an index joins I_s; O(n_s n) with c Q_c e maintained",
        "notation",
    ),
)
