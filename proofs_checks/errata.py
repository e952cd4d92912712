"""What the lectures print and what is meant: one row a correction, one list a lecture.

kind "numeric": the printed statement is false in numbers, and ``claim`` names the claim whose false
variant or check shows it. kind "notation": a slip of symbols that no computation can settle;
``claim`` then may name a claim that states the corrected form. tests/test_proofs.py holds the list
to that.
"""

from typing import NamedTuple

__all__ = ["ERRATA", "ERRATA_K_SGD", "ERRATA_S", "Erratum"]

S = "Introduction to Machine Learning (Srebro)"
K = "Optimization Methods for SVMs (Scheinberg)"


class Erratum(NamedTuple):
    """id: unique. where: the topic of the slide. printed, correct: in plain text."""

    id: str
    lecture: str
    where: str
    printed: str
    correct: str
    kind: str
    claim: str | None = None


def _numeric(id, lecture, where, printed, correct, claim) -> Erratum:
    return Erratum(id, lecture, where, printed, correct, "numeric", claim)


def _notation(id, lecture, where, printed, correct, claim=None) -> Erratum:
    return Erratum(id, lecture, where, printed, correct, "notation", claim)


ERRATA_S = [
    _numeric(
        "S-A1",
        S,
        "discriminative model",
        "P(y = 1 | x) = 1/(1 + e^h); later a product without y_i",
        "P(y | x) = 1/(1 + e^(-y h)): for h = 2, P(1) is .881 and not .119",
        "likelihood_losses",
    ),
    _notation(
        "S-A2",
        S,
        "loss as likelihood",
        "loss = -log P(x | y), called the likelihood",
        "loss = -log P(y | x; w), the negative log likelihood",
        "likelihood_losses",
    ),
    _numeric(
        "S-A3",
        S,
        "Gaussian process, noise-free",
        "argmax ||w|| subject to L_S = 0, equal to E[h | L_S = 0]",
        "argmin ||w||; equal to the mean for equality constraints only (else mode 1, mean 1.525)",
        "gp_min_norm",
    ),
    _numeric(
        "S-A4",
        S,
        "Gaussian process prior",
        "p(h) proportional to exp(-||h||^2)",
        "exp(-1/2 ||h||^2), formal in infinite dimension",
        "gp_prior",
    ),
    _numeric(
        "S-A5",
        S,
        "Gaussian process, logistic likelihood",
        "E[h | S] is the MAP estimate",
        "only for a Gaussian posterior; logistic: mode 1.189, mean 1.532",
        "logistic_map",
    ),
    _numeric(
        "S-A6",
        S,
        "mini-batch SGD",
        "w(t+1) = w(t) + (eta/b) phi'_j x_j, for each j of the batch",
        "minus, and accumulated over the batch on w(t+1), slopes at w(t)",
        "minibatch_sign",
    ),
    _notation(
        "S-A7",
        S,
        "runtime of mini-batch SGD",
        "O(B^2 R^2/eps^2 b m)",
        "O(B^2 R^2/eps^2 b d): b inner products of length d a step",
    ),
    _notation(
        "S-A8",
        S,
        "gradient estimates",
        "independent g's",
        "conditionally unbiased: E[g_t | past] is a subgradient at w_t, on which g_t depends",
        "unbiased",
    ),
    _numeric(
        "S-A9",
        S,
        "subgradient descent",
        "returns w(T), with the bound B rho/sqrt(T); SGD's bound is stated for w(T) too",
        "the bound is for the mean (or the best); the last is 1.32 times it at T = 50, 1.62 at 200",
        "ball_last_iterate",
    ),
    _numeric(
        "S-A10",
        S,
        "SGD",
        "||grad F|| <= rho suffices; step by line search",
        "E||g||^2 <= rho^2; a line search on a noisy slope means nothing",
        "second_moment",
    ),
    _numeric(
        "S-A11",
        S,
        "step sizes",
        "sqrt(B^2/(rho^2 t)) twice; the same constant 1 for both",
        "the first has T; for the decaying step 3 B rho/sqrt(T) is what is proved",
        "ball_bounds",
    ),
    _numeric(
        "S-A12",
        S,
        "average of the iterates",
        "mean of w(1)..w(T) with w(0) = 0",
        "of w(0)..w(T-1), or a factor 1 + 1/(2T)",
        "ball_bounds",
    ),
    _notation(
        "S-A13",
        S,
        "subgradient of the hinge",
        "cases y_i phi(x_i) < 1; [1 - y_i w <w, .>]; no lam w on the left",
        "y_i <w, phi(x_i)> < 1; [1 - y_i <w, phi(x_i)>]_+; plus lam w",
        "pegasos_iterates",
    ),
    _notation(
        "S-A14",
        S,
        "predictor",
        "h_w(w) = sign(r_w); E[r]; indices i, j beside 1, 2",
        "h_w(x) = sign(r_w(x)); E[h]; one pair of indices",
    ),
    _notation(
        "S-A15",
        S,
        "Bayesian prediction",
        "expectation over y, no dw, answer in {0, 1}",
        "over y_query, integral dw, answer -1 or +1",
        "map_reparametrised",
    ),
    _notation(
        "S-A16",
        S,
        "batch against sweep",
        "step eta sum g_i, then (eta/m) sum g_i; g_m twice",
        "the two eta differ by m; indices 1..m",
    ),
    _numeric(
        "S-A17",
        S,
        "how long to run SGD",
        "2 B R/sqrt(m) = B R/sqrt(T) at T about m",
        "at T = m/4; and 2 B R/sqrt(m) holds in expectation, by the one-sided argument",
        "error_decomposition",
    ),
    _numeric(
        "S-A18",
        S,
        "language models; subgradients",
        "p(t_i | text[:i-1]) as a slice; differential set",
        "all tokens before i (text[:i-1] drops one); subdifferential",
        "likelihood_losses",
    ),
    _numeric(
        "S-A19",
        S,
        "non-convexity example; projection",
        "[1 - y (w x + w^2)]_+ is not convex; B w/||w|| for every w",
        "not convex for y = +1 only; the identity inside the ball",
        "convex_in_w",
    ),
    _numeric(
        "S-A19b",
        S,
        "projection",
        "B w/||w||",
        "w min(1, B/||w||)",
        "projection",
    ),
    _numeric(
        "S-A20",
        S,
        "0-1 loss with a norm",
        "min L01(w) + lam ||w||^2 as a learning rule",
        "has no minimiser on separable data: the infimum 0 is not attained",
        "zero_one_loss",
    ),
]

ERRATA_K_SGD = [
    _notation(
        "K-B7",
        K,
        "solver table",
        "negative s and x_i",
        "negative s and xi_i",
    ),
    _notation(
        "K-B8",
        K,
        "working set",
        "alpha'Q - e, sorted as it is",
        "the column Q alpha - e; what is sorted is Y (Q alpha - e)",
    ),
    _notation(
        "K-B9",
        K,
        "complexity table",
        "R in cutting-plane and Pegasos rows; O(n^2/eps) once as iterations, once as total",
        "R^2/lam; not polynomial means not in log(1/eps)",
        "pegasos_bound",
    ),
    _notation(
        "K-B10",
        K,
        "Pegasos, probability",
        "R^2/(delta lam eps)",
        "log(1/delta) is available for the average",
    ),
    _numeric(
        "K-B11",
        K,
        "Huber loss",
        "gradient descent needs O(1/eps) steps",
        "with acceleration and mu proportional to eps; plain descent R^2/(lam eps) log(1/eps)",
        "huber_bounds",
    ),
    _numeric(
        "K-B12",
        K,
        "sample average approximation",
        "|loss| <= 1",
        "|loss'| <= 1; the hinge is not bounded by 1",
        "hinge_lipschitz",
    ),
    _notation(
        "K-B13",
        K,
        "Pegasos, Huber loss",
        "loss(w, (x, y)) without indices; S+ and A+ without w; no y_i in phi_mu",
        "loss(w, (x_i, y_i)); sets at w_t; y_i <w, x_i> in every branch",
        "pegasos_iterates",
    ),
]

ERRATA = (*ERRATA_S, *ERRATA_K_SGD)
