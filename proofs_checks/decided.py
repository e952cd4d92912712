"""The number that decides each numeric row of the errata: what is printed, and what is true.

Each is the smallest example we know, computed here from the two formulas; the claim named by the
row proves the correction in general. They take a second in all, so the list is always fresh.
"""

from collections.abc import Callable
from itertools import product
from math import exp, inf, log, nan, pi, sqrt
from typing import NamedTuple

import numpy as np

from proofs_checks.ball_last_iterate import descend, resisting

__all__ = ["DECIDED", "Number"]


class Number(NamedTuple):
    """what: the quantity. printed: its value by the slide. true: its value, or the right bound."""

    what: str
    printed: float
    true: float


def hinge(z):
    return np.maximum(0.0, 1.0 - z)


# --- Empirical Risk Minimization -------------------------------------------------------------


def theta(lam_gamma_n: float, L, p) -> float:
    return float(np.min(p * lam_gamma_n / (L + lam_gamma_n)))


def E1() -> Number:
    n = 700_000
    passes = lambda gamma: (1 - theta(gamma, 1.0, 1.0 / n)) ** n
    return Number(
        "(1 - theta)^n for the logistic loss, n = 7e5, lam = 1/n", passes(0.25), passes(4)
    )


def E2() -> Number:
    x, s, lam, n = np.array([1.2, -1.16]), np.array([1.0, -1.0]), 0.0137, 2

    def radius(rate: float) -> float:
        steps = []
        for i in range(n):
            A = np.eye(n)
            A[i] -= rate * n * (np.eye(n)[i] + s[i] * x[i] * x / (lam * n))
            steps.append(np.kron(A, A))
        return float(np.abs(np.linalg.eigvals(np.mean(steps, axis=0))).max())

    squared = float(np.min(lam**2 * n / (x**4 + lam**2 * n)) / n)  # Lw_i^2 v_i = x_i^4
    what = "growth of E||alpha||^2 a step, x = (1.2, -1.16), phi_2 concave"
    return Number(what, radius(theta(lam * n, x**2, 1 / n)), radius(squared))


def E3() -> Number:
    lam, kappa, y = 1.0, 0.5, 2.0
    w = (y - lam * kappa) / (1 + lam)  # minimises (w - y)^2/2 + lam (w^2/2 + kappa |w|)
    return Number("w* of the elastic net by w* = abar(alpha*), one example", (y - w) / lam, w)


def E4() -> Number:
    """One example of the smoothed hinge beside a long one of the other sign."""
    x, y, lam, gamma, n = np.array([1.0, -2.0]), np.array([1.0, 1.0]), 0.05, 1.0, 2
    slope = lambda z: -y * np.clip((1 - y * z) / gamma, 0, 1)
    loss = lambda z: np.where(
        y * z > 1 - gamma, hinge(y * z) ** 2 / (2 * gamma), 1 - y * z - gamma / 2
    )
    P = lambda w: np.mean(loss(x * w)) + lam / 2 * w**2
    w_of = lambda a: x @ a / (lam * n)
    D = lambda a: np.mean(y * a - gamma * a**2 / 2) - lam / 2 * w_of(a) ** 2
    rate, worst = theta(lam * gamma * n, x**2, 1 / n), 0.0
    for start in product(np.linspace(0, 1, 21), repeat=2):
        alpha, after = np.array(start), []
        for i in range(n):
            new = alpha.copy()
            new[i] -= rate * n * (slope(x * w_of(alpha))[i] + alpha[i])
            after.append(P(w_of(new)) - D(new))
        gap = P(w_of(alpha)) - D(alpha)
        worst = max(worst, np.mean(after) / gap) if gap > 1e-9 else worst
    what = "largest E[gap after a step]/gap of dfSDCA, two examples, if Quartz's theorem held"
    return Number(what, 1 - rate, float(worst))


def E5() -> Number:
    h = 1e-3
    quotient = (0.0 - (-1.0)) / (2 * h)  # phi' jumps from -1 to 0 at z = 1
    return Number("slope quotient of the hinge across its kink, 1/gamma = 1 asked", 1.0, quotient)


def E6() -> Number:
    x, y, a, w, lam, n = (
        np.array([1.0, 2.0]),
        np.array([1.0, -1.0]),
        np.array([0.5, 0.5]),
        1.0,
        1.0,
        2,
    )
    abar, z = x @ a / (lam * n), x * w
    phi, conj = (z - y) ** 2 / 2, a**2 / 2 - a * y
    brace = lam * (w**2 / 2 + abar**2 / 2 - w * abar)
    printed = brace + np.mean(phi) + np.sum(conj + a * z)
    what = "P(w) - D(alpha) of two examples, squared loss"
    return Number(what, float(printed), float(brace + np.mean(phi + conj + a * z)))


def E8() -> Number:
    rate = theta(1.0, 1.0, 1e-6)
    what = "steps over n + max L_i/(lam gamma) to divide the bound by 1,000"
    return Number(what, 1.0, float(rate * log(1e3) / -np.log1p(-rate)))


def E13() -> Number:
    L, x, n = np.array([1.0, 4.0, 25.0]), 10.0, 3
    mixed = 1 / (2 * n) + np.sqrt(L) / (2 * np.sqrt(L).sum())
    what = "theta with SPDC's weights, L = (1, 4, 25), lam gamma n = 10; optimal if so called"
    return Number(what, theta(x, L, (L + x) / (L + x).sum()), theta(x, L, mixed))


# --- Online solvers: one example, a loss of 1, one feature unless said ------------------------


def F1() -> Number:
    a = np.linspace(0, 1, 101)
    D = a - a**2 / 2
    return Number(
        "D at the solution, l = 1, Psi = 1, lam = 1; P* = 1/2", float(D.min()), float(D.max())
    )


def F4() -> Number:
    D, t, alpha, beta = (lambda a: a - a**2), np.linspace(0, 1, 801), 0.2, 1.0
    best = lambda point: float(t[np.argmax(D(point))])
    what = "tau for D(a) = a - a^2, alpha = 0.2, beta = 1"
    return Number(what, best((1 - t) * alpha + beta), best((1 - t) * alpha + t * beta))


def F6() -> Number:
    s, alpha, m = np.array([[0.0, 1.0], [0.0, 3.0]]), np.full((2, 2), 0.25), 2
    inner = m * (alpha * s).sum(1)
    printed = (s.max(1).sum() - inner) / m  # one value for each i it may mean
    what = "gap of two examples with scores (0, 1), (0, 3), even masses; best reading of i"
    return Number(what, float(printed.min()), float((s.max(1) - inner).mean()))


def F7() -> Number:
    w, w_i, tau, Psi, lam, m = 0.0, 0.0, 1.0, -1.0, 1.0, 1
    new = (1 - tau) * w_i - tau / (lam * m) * Psi
    return Number("w after the first step, Psi = -1, tau = 1", w + new - new, w + new - w_i)


def F8() -> Number:
    g, q = 1.0, 0.5
    return Number("gain of a full step with slope 1, curvature 1/2", -g - q / 2, g - q / 2)


def F9() -> Number:
    Psi, alpha = np.array([1.0, 3.0]), np.array([0.5, 0.5])
    return Number(
        "w_1 of two examples, Psi = (1, 3), lam = 1", -float(Psi @ alpha), -Psi[0] * alpha[0]
    )


def F11() -> Number:
    lam, delta, N = 1.0, 0.5, 2.0
    t = np.linspace(0, 1, 2001)  # mass moved: D rises by t delta - t^2 N/(2 lam)
    what = "gain of the best move with s_u - s_v = 1/2, ||.||^2 = 2, lam = 1"
    return Number(what, lam * delta / N, float((t * delta - t**2 * N / (2 * lam)).max()))


def F12() -> Number:
    m, lam, eps, masses, updates = 50, 100.0, 0.5, np.zeros(50), 0
    while True:
        before = updates
        for i in range(m):
            s = 1.0 - masses.sum() / lam  # score of the wrong label, Psi = 1
            if max(s, 0.0) - m * masses[i] * s > eps:
                g = (s - m * masses[i] * s) / m
                q = (1 / m - masses[i]) ** 2 / lam
                masses[i] += (1 / m - masses[i]) * (1.0 if q <= g else g / q)
                updates += 1
        if updates == before:
            break
    printed = 8 / (eps**2 * lam)
    what = f"bound on the updates of {m} alike examples, lam = 100, eps = 1/2; taken: {updates}"
    return Number(what, printed, max(printed, 2 * m / eps))


def F13() -> Number:
    eps, lam, k, Dm = 0.5, 1.0, 10, 1e-3
    gain = eps / k - (1 / k) ** 2 * Dm**2 / (2 * lam)  # one of k even masses moves as a whole
    what = f"least gain of an update, k = {k} even masses, eps = 1/2; taken: {gain:.3f}"
    proved = min(lam * eps**2 / (32 * Dm**2), eps / (4 * k))
    return Number(what, min(lam * eps**2 / (8 * Dm**2), eps / 2), proved)


def F14() -> Number:
    q, t, c, D = 1e-6, 10_000, 2.0, 2.0
    stays = (1 - q) ** t  # F = |w - 1| on [-1, 1], g = -1/q with probability q: E|g| = 1
    bound = lambda square: (D**2 / c + c * square) * (2 + log(t)) / sqrt(t)
    what = f"bound on E[F] - F* at t = 10^4 where E|g| = 1, E g^2 = 10^6; it is {stays:.3f}"
    return Number(what, bound(1.0), bound(1 / q))


def F15() -> Number:
    eta, w, sum_, T = 0.1, 0.05, 0.0, 4000
    for _ in range(T):
        sum_ += w
        w -= eta * (1.0 if w > 0 else -3.0)
    excess = max(sum_ / T, -3 * sum_ / T)
    what = f"bound on F(mean) - F* for ever, F = max(w, -3w), eta = 0.1; it is {excess:.2f}"
    return Number(what, 0.0, eta * 9 / 2)


def F18() -> Number:
    lam, delta, alpha, N = 1.0, 0.5, 0.5, np.float64(0.0)
    with np.errstate(divide="ignore"):
        printed = float(lam * delta**2 / (2 * N))
    return Number(
        "gain of a move between labels with one Psi, mass and s_u - s_v 1/2", printed, alpha * delta
    )


def F19() -> Number:
    lam, T, w, mass = 0.1, 1005, 0.0, 0.0
    for t in range(1, T + 1):
        wrong = float(w < 1)
        w = (1 - 1 / t) * w + wrong / (lam * t)
        mass += (wrong - mass) / t
    gap = lam / 2 * w**2 + max(0.0, 1 - w) - (mass - lam / 2 * w**2)
    return Number("certified gap of SGD after 1,005 steps, one example, lam = 0.1", inf, gap)


# --- SGD for structures ----------------------------------------------------------------------


def S1() -> Number:
    x = 1.0 - 0.6 * 4.0
    return Number("g(x_1) for g = 2 x^2, x_0 = 1, step 0.6; at most, if it falls", 2.0, 2 * x * x)


def S3() -> Number:
    C, N = 0.05, 10
    return Number(
        "w* for ten examples x = 1, C = 0.05: of the step, of the problem", C, min(1.0, C * N)
    )


def S4() -> Number:
    C, gamma, w = 1e6, 0.1, 0.0
    for _ in range(50):
        w = (1 - gamma) * w + (C * gamma if w < 1 else 0.0)
    what = "w after 50 steps, one example x = 1, C = 10^6, gamma = 0.1; without the shrink"
    return Number(what, C * gamma, w)


def S5() -> Number:
    w, T = 1.0, 10_000
    for t in range(1, T + 1):
        w -= np.sign(w - 1 / pi) / sqrt(t)
    squares = sum(1 / t for t in range(1, T + 1))
    what = f"|w - w*| after 10^4 steps 1/sqrt(t) on |w - 1/pi|; sum of squares {squares:.1f} so far"
    return Number(what, inf, float(abs(w - 1 / pi)))


def S6() -> Number:
    t, C = np.arange(1.0, 100_001), 0.1
    what = "share of the start left after 10^5 shrinks, C = 0.1, gamma0 = 1/2"
    left = lambda gamma: float(np.prod(1 - gamma))
    return Number(what, left(0.5 / (1 + 0.5 * t / C)), left(0.5 / (1 + 0.5 * t)))


def S7() -> Number:
    w, gamma, T = 1.0, 0.1, 1000
    for _ in range(T):
        w -= gamma * (w + np.sign(w))
    what = "g after 1,000 steps of 0.1 on w^2/2 + |w|; at a linear rate"
    return Number(what, 1.5 * (1 - gamma) ** T, float(w * w / 2 + abs(w)))


def S8() -> Number:
    def risk(sign: float) -> float:
        w, v = 0.0, 0.0
        for _ in range(10):
            g = sign * -1.0 if w < 1 else 0.0
            v += g * g
            w -= g / sqrt(v)
        return float(hinge(w))

    return Number(
        "hinge after ten AdaGrad steps, one example x = 1; 1 at the start", risk(-1.0), risk(1.0)
    )


def S9() -> Number:
    lam = 0.5

    def excess(separate: bool) -> float:
        w, v = 0.0, 0.0
        for _ in range(20_000):
            g = -1.0 if w < 1 else 0.0
            v += g * g
            w -= 0.5 * g / sqrt(v) + 0.5 * lam * w * (1.0 if separate else 1 / sqrt(v))
        return lam / 2 * w * w + max(0.0, 1 - w) - lam / 2  # w* = 1

    return Number(
        "P - P* after 20,000 AdaGrad steps, x = 1, lam = 1/2", excess(True), excess(False)
    )


def S10() -> Number:
    return Number("step 0/sqrt(0) of a feature never seen", nan, 0.0)


def S15() -> Number:
    values, B = np.array([0.0, 1.0, 5.0, 2.0]), 2
    means = [np.mean(pair) for pair in product(values, repeat=B)]
    what = "variance times decodings of a batch of 2 over that of one example"
    return Number(what, 1 / B, float(B * np.var(means) / np.var(values)))


# --- Introduction to Machine Learning --------------------------------------------------------


def A1() -> Number:
    return Number("P(y = 1) at h = 2", 1 / (1 + exp(2)), 1 / (1 + exp(-2)))


def A3() -> Number:
    x = np.linspace(1, 12, 200_001)
    p = np.exp(-(x**2) / 2)
    what = "E[h | h >= 1], h normal; mode, and mean"
    return Number(what, 1.0, float((x * p).sum() / p.sum()))


def A4() -> Number:
    return Number("log p(h)/p(0) at ||h|| = 1", -1.0, -0.5 * log(2 * pi) - 0.5 - -0.5 * log(2 * pi))


def A5() -> Number:
    x, y = np.array([1.0, 2.0, -1.5, 0.5]), np.array([1.0, 1.0, -1.0, -1.0])
    w = np.linspace(-20, 40, 60_001)
    log_p = -(w**2) / 8 - np.logaddexp(0, -np.outer(w, x * y)).sum(1)
    p = np.exp(log_p - log_p.max())
    what = "E[w | S] of the four examples, prior N(0, 4); mode, and mean"
    return Number(what, float(w[log_p.argmax()]), float((w * p).sum() / p.sum()))


def A6() -> Number:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + 1.0
    y = np.sign(X @ np.array([1.0, -1.0, 0.5]))

    def risk(sign: float) -> float:
        w = np.zeros(3)
        for t in range(200):
            batch = np.arange(4 * t, 4 * t + 4) % 40
            slopes = -y[batch] * (y[batch] * (X[batch] @ w) < 1)
            w = w + sign * 0.1 * slopes @ X[batch] / 4
        return float(hinge(y * (X @ w)).mean())

    return Number("hinge after 200 mini-batch steps; 1 at the start", risk(1.0), risk(-1.0))


def A9() -> Number:
    T = 200
    H = resisting(T)
    ws = descend(H, np.full(T, 1 / sqrt(T)), lambda values, t: t)
    what = "last iterate's excess over B rho/sqrt(T), T = 200, of a max of linear functions"
    return Number(what, 1.0, float((H @ ws[-1]).max() * sqrt(T)))


def A10() -> Number:
    q, T = 1e-6, 400
    what = "E[F] - F* after T = 400, F = |w - 1|, |F'| = 1, g = F'/q with probability q = 10^-6"
    return Number(what, 1 / sqrt(T), (1 - q) ** T)


def two_pieces(at: float, c: float) -> float:
    """max(<u, w>, <v, w>) at w = -at u minus its least value on the unit ball, <u, v> = c."""
    return max(-at, -at * c) + sqrt((1 + c) / 2)


def A11() -> Number:
    # w_1 = 0, w_2 = -u: the mean of both is -u/2
    what = "excess of the mean over B rho/sqrt(T), T = 2, step B/(rho sqrt(t)), two linear pieces"
    return Number(what, 1.0, two_pieces(0.5, -0.5) * sqrt(2))


def A12() -> Number:
    what = "excess of the mean of w(1)..w(T) over B rho/sqrt(T), T = 1, two linear pieces"
    return Number(what, 1.0, two_pieces(1.0, -7 / 8))


def A17() -> Number:
    return Number("T/m where 2 B R/sqrt(m) = B R/sqrt(T)", 1.0, 1 / 2.0**2)


def A18() -> Number:
    text, i = "abc", 2
    return Number(
        "tokens that token 2 of three (from 0) is conditioned on", len(text[: i - 1]), len(text[:i])
    )


def A19() -> Number:
    bump = lambda y: float(
        hinge(y * (-0.5 + 0.25)) - (hinge(y * (-2 + 4.0)) + hinge(y * (1 + 1.0))) / 2
    )
    what = "f(-1/2) - (f(-2) + f(1))/2, x = 1: positive shows non-convexity; y = +1, and y = -1"
    return Number(what, bump(1.0), bump(-1.0))


def A19b() -> Number:
    w, B = 0.5, 1.0
    return Number("norm of the projection of ||w|| = 1/2 on B = 1", B * w / w, w * min(1.0, B / w))


def A20() -> Number:
    f = lambda t: float(t <= 0) + 0.1 * t * t
    return Number(
        "L01 + lam ||w||^2, x = y = 1, lam = 0.1: at 0, and at t = 10^-9", f(0.0), f(1e-9)
    )


# --- Optimization Methods for SVMs: x = 2 (+), 1 (-): w = 2, b = -3, alpha = (2, 2) -----------

X, Y, ALPHA, BIAS = np.array([2.0, 1.0]), np.array([1.0, -1.0]), np.array([2.0, 2.0]), -3.0


def K1() -> Number:
    Q = np.outer(Y * X, Y * X)
    residual = lambda beta: float(np.abs(-Q @ ALPHA + Y * beta + 1).max())
    what = "residual of the KKT row at the optimum of two points; beta = b, and beta = -b"
    return Number(what, residual(BIAS), residual(-BIAS))


def K2() -> Number:
    at = 4.0 * float(ALPHA @ (Y * X))  # a third point x = 4 (+), outside the margin
    return Number("s_0 of a third point x = 4 (+) at the optimum", -at - BIAS + 1, at + BIAS - 1)


def K3() -> Number:
    a = np.linspace(0, 2, 201)
    best = lambda sign: float(a[np.argmin(a**2 / 2 + sign * a)])
    return Number("alpha_B that solves the reduced problem, Q = 1, c = 2", best(1.0), best(-1.0))


def K5() -> Number:
    Z = np.stack([X, np.ones(2)], 1)
    Q, a = (Y[:, None] * Z) @ (Y[:, None] * Z).T, np.zeros(2)
    for _ in range(2000):
        for i in range(2):
            a[i] = np.clip(a[i] - (Q[i] @ a - 1) / Q[i, i], 0, 1)
    return Number("y'alpha at the optimum of (x, 1), two points, c = 1", 0.0, float(Y @ a))


def K6() -> Number:
    y = np.array([1, 1, 1, -1, -1])
    sizes = [sum(map(abs, d)) for d in product((-1, 0, 1), repeat=5) if y @ np.array(d) == 0]
    what = "directions in {-1, 0, 1}^5 with y'd = 0 and q = 3: exactly q non-zeros, and 1 to q"
    return Number(what, sizes.count(3), sum(1 <= s <= 3 for s in sizes))


def K11() -> Number:
    eps = mu = 1e-3
    what = "steps to eps = 10^-3 of the smoothed hinge, mu = eps, R = B = 1: plain, accelerated"
    return Number(what, 1 / (2 * mu * eps), sqrt(2 / (mu * eps)))


def K12() -> Number:
    return Number("the hinge at z = -1, against |l| <= 1", 1.0, float(hinge(-1.0)))


def K14() -> Number:
    lam = 2.0
    return Number(
        "w* of one example x = 1, lam = 2: lam ||w||^2, and lam/2 ||w||^2", 1 / (2 * lam), 1 / lam
    )


def K16() -> Number:
    M = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    what = "rank of [Q_ss y; y' 0] for two equal examples; 3 to be inverted"
    return Number(what, 3.0, float(np.linalg.matrix_rank(M)))


DECIDED: dict[str, Callable[[], Number]] = {
    f.__name__: f
    for f in (
        *(E1, E2, E3, E4, E5, E6, E8, E13),
        *(F1, F4, F6, F7, F8, F9, F11, F12, F13, F14, F15, F18, F19),
        *(S1, S3, S4, S5, S6, S7, S8, S9, S10, S15),
        *(A1, A3, A4, A5, A6, A9, A10, A11, A12, A17, A18, A19, A19b, A20),
        *(K1, K2, K3, K5, K6, K11, K12, K14, K16),
    )
}
