"""Where a lecture's slides say something else than what is true: the rows of the list of errata.

A row of kind "numeric" names the claim of proofs_checks that computes both: what is printed fails,
what is correct holds. A row of kind "notation" is a slip that no computation can tell from a
correct reading.
"""

from typing import NamedTuple

__all__ = ["ERRATA_F", "ERRATA_SR", "Erratum"]


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
        "F14",
        "projected SGD, convex case",
        "E||g|| <= G",
        "E||g||^2 <= G^2: with one heavy example among many E||g|| = 1, the printed bound fails",
        "numeric",
        "sgd_regimes",
    ),
    (
        "F15",
        "projected SGD, fixed step size",
        "guarantees even for a fixed step-size",
        "only down to a floor eta G^2/2; the last iterate need not converge",
        "numeric",
        "sgd_regimes",
    ),
    (
        "F16",
        "projected SGD, strongly convex case",
        "lambda-strictly convex",
        "lambda-strongly convex",
        "notation",
    ),
    (
        "F17",
        "projected SGD, step size",
        "requires a fixed step size, beside sum eta = inf and eta -> 0",
        "a schedule fixed in advance; log is the natural one",
        "notation",
    ),
    (
        "F18",
        "SDA, near maximal gain and both steepest ascent algorithms",
        "v over all labels with mass; tau a quotient",
        "v other than u (0/0); tau = 1 where ||Psi(u) - Psi(v)|| = 0 or ||A (beta - alpha)|| = 0",
        "numeric",
        "pair_gain",
    ),
    (
        "F19",
        "comparison of solvers, SGD",
        "no stopping certificate",
        "with eta = 1/(lam t) the steps telescope into a dual point, so there is one",
        "numeric",
        "structured_sgd_certificate",
    ),
)

ERRATA_SR = rows(
    "Stochastic Gradient Descent for Structures (Srikumar)",
    (
        "S1",
        "gradient descent",
        "g(x0) > g(x1) > ..., and a local minimum",
        "for steps below 2/L only; for convex g the minimum is global",
        "numeric",
        "gradient_descent",
    ),
    ("S2", "SGD for structural SVM", "y' = max_y (...)", "y' = argmax_y (...)", "notation"),
    (
        "S3",
        "SGD for structural SVM, objective of one example",
        "1/2 ||w||^2 + C max_y (...) as a sample of 1/2 ||w||^2 + C sum_i max_y (...)",
        "a sample of 1/2 ||w||^2 + (C/N) sum_i: the step solves lam = 1/C, not 1/(C N); the "
        "unbiased step has C N for C",
        "numeric",
        "c_form",
    ),
    (
        "S4",
        "SGD and perceptron compared",
        "with C very large the shrink does not matter",
        "at a fixed gamma it stays: w = C v has the steps of C = 1 with losses divided by C; it "
        "goes with gamma = gamma'/C",
        "numeric",
        "c_form",
    ),
    (
        "S5",
        "step sizes",
        "sum of gamma_t^2 < inf is asked for",
        "sufficient, not necessary: c/sqrt(t) converges without it",
        "numeric",
        "step_schedules",
    ),
    (
        "S6",
        "step sizes",
        "gamma0/(1 + gamma0 t/C)",
        "that of the lam-form with lam = 1/C; in the C-form, of strong convexity 1, "
        "gamma0/(1 + gamma0 t)",
        "numeric",
        "step_schedules",
    ),
    (
        "S7",
        "GD and SGD compared",
        "number of iterations N d ln(1/eps) and d/eps",
        "numbers of operations; ln(1/eps) needs smoothness, which the hinge lacks",
        "numeric",
        "gradient_descent",
    ),
    (
        "S8",
        "AdaGrad",
        "g = phi(x_i, y_i) - phi(x_i, y')",
        "its negative, times C: with the printed sign the risk rises",
        "numeric",
        "adagrad_regret",
    ),
    (
        "S9",
        "AdaGrad",
        "shrinking is separate",
        "then the fixed point is not the optimum; C in g cancels, so it must enter by the shrink",
        "numeric",
        "shrink_modes",
    ),
    (
        "S10",
        "AdaGrad, RMSProp",
        "rate gamma0/sqrt(v_j)",
        "0 where v_j = 0: 0/0 on features never seen",
        "numeric",
        "optax_equalities",
    ),
    (
        "S11",
        "subgradients",
        "defined for any f, convex or not",
        "the set may be empty when f is not convex",
        "notation",
    ),
    (
        "S13",
        "AdaGrad",
        "converges faster than SGD",
        "a statement on regret, and for sparse gradients",
        "notation",
    ),
    (
        "S14",
        "AdaGrad, recursion of v",
        "sum over j = 0..t",
        "v_0 = 0 and t >= 1: the current gradient is in v_t",
        "notation",
    ),
    (
        "S15",
        "mini-batches",
        "converges faster",
        "in steps, not in oracle calls: a batch of B divides the variance by B at B times the cost",
        "numeric",
        "structured_directions",
    ),
)
