r"""Claim. The bound of the fixed step B/(G sqrt(T)) is about the mean of the iterates. For the last
one it is false: there is a max-of-linear function with

    F(w_{T+1}) - F* > 1.3 B G/sqrt(T) at T = 50,  > 1.6 at T = 200,     mean: < 0.4

(the worst case grows like sqrt(1 + log(T)/4)). Steps that decay linearly to zero mend it,

    eta_t = B (T + 1 - t)/(G (T + 1)^1.5),      F(w_{T+1}) - F* <= B G/sqrt(T + 1).

Lecture "Introduction to Machine Learning" (Srebro), which returns the last iterate of
subgradient descent. Zamani & Glineur, arXiv:2307.11134; Defazio et al., arXiv:2310.07831.

Check. The resisting function by construction: row t is a maximiser at step t (checked), so it is a
valid subgradient, and the projection never acts. The linear decay on it and on random max-linear
functions, F* bounded below by convex combinations of the rows. Steps from the package's rules.
False variant: the fixed step's bound for the last iterate, as printed.
"""

import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Horizon, LinearDecay, make_ball
from proofs_checks.claims import Claim, Result, smallest

MOST = 200
UNIT = (np.array([[1.0], [-1.0]]), [1, -1])  # R = 1


def steps(rule, T: int) -> np.ndarray:
    """(T,) the package's step sizes for B = R = 1."""
    ball = make_ball(*UNIT, B=1.0)
    return np.asarray(rule.size(ball, jnp.arange(1, MOST + 1)) + jnp.zeros(MOST))[:T]


def resisting(T: int) -> np.ndarray:
    """(T + 1, T) rows of a function max_i <h_i, w>; step t meets row t."""
    a = 1.0 / (2.0 * np.arange(T, 0, -1))
    H = np.tril(np.tile(a, (T + 1, 1)), -1)[:, :T]
    H[np.arange(T), np.arange(T)] = -1.0
    return H / np.linalg.norm(H, axis=1).max()


def lower(H: np.ndarray, rounds: int = 500) -> float:
    """A lower bound of min over the unit ball: -||H' lam|| for lam in the simplex."""
    lam, G = np.full(len(H), 1.0 / len(H)), H @ H.T
    for _ in range(rounds):
        g = G @ lam
        move = -lam.copy()
        move[np.argmin(g)] += 1.0
        curvature = move @ G @ move
        lam += (np.clip(-(g @ move) / curvature, 0.0, 1.0) if curvature > 0 else 0.0) * move
    return -float(np.sqrt(max(0.0, lam @ G @ lam)))


def descend(H, eta, choose):
    """Every iterate w_1..w_{T+1}; ``choose`` picks the row."""
    w, ws = np.zeros(H.shape[1]), []
    for t, size in enumerate(eta):
        ws.append(w)
        values = H @ w
        row = choose(values, t)
        assert values[row] >= values.max() - 1e-12, "not a subgradient"
        w = w - size * H[row]
        w = w / max(1.0, np.linalg.norm(w))
    return np.array([*ws, w])


def check() -> Result:
    rng, true, false = np.random.default_rng(25), [], []
    F = lambda H, w: float((H @ w).max())
    for T, factor in ((50, 1.3), (200, 1.6)):
        H = resisting(T)
        ws = descend(H, steps(Horizon(float(T)), T), lambda values, t: t)
        # F(0) = 0 bounds F* from above, so what the last iterate loses is bounded from below
        last, mean = F(H, ws[-1]) * np.sqrt(T), (F(H, ws[:-1].mean(0)) - lower(H)) * np.sqrt(T)
        true += [last - factor, 1.0 - mean]
        false.append(1.0 - last)
        mended = descend(H, steps(LinearDecay(float(T)), T), lambda values, t: values.argmax())
        true.append(1.0 - (F(H, mended[-1]) - lower(H)) * np.sqrt(T + 1.0))
    for _ in range(20):
        T = int(rng.integers(2, 30))
        H = rng.normal(size=(int(rng.integers(2, 30)), int(rng.integers(1, 20))))
        H /= np.linalg.norm(H, axis=1).max()
        ws = descend(H, steps(LinearDecay(float(T)), T), lambda values, t: values.argmax())
        true.append(1.0 - (F(H, ws[-1]) - lower(H)) * np.sqrt(T + 1.0))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="ball_last_iterate",
    text="fixed steps: the bound fails for the last iterate; linear decay: B G/sqrt(T + 1) for it",
    lecture="Introduction to Machine Learning: subgradient descent",
    check=check,
)
