r"""Claim. With prior w ~ N(0, s2 I) and logistic likelihood

    argmax p(w | S) = argmin (1/m) sum_i log(1 + exp(-y_i <x_i, w>)) + ||w||^2/(2 m s2)

so lam = 1/(m s2), liblinear's C = s2. Its posterior is not Gaussian: the mean is another point
(1.532 against 1.189 for four examples). Lecture "Introduction to Machine Learning" (Srebro),
conditional MAP; mean = mode is printed for it.

Check. In one dimension the mode of the posterior on a grid against the certified minimiser; the
gradient of the log posterior at the minimiser in several dimensions. False variants, both of
which have to fail: lam = 1/(2 m s2), and mean = mode.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Logistic, logistic_posterior, make_erm
from proofs_checks.claims import Claim, Result, equal, optimum, smallest

X, Y, S2 = np.array([1.0, 2.0, -1.5, 0.5]), np.array([1.0, 1.0, -1.0, -1.0]), 4.0


def minimiser(X, y, lam):
    return optimum(make_erm(X, y, loss=Logistic(), lam=lam)).w


def check() -> Result:
    rng, m = np.random.default_rng(31), len(X)
    posterior = logistic_posterior(X, Y, variance=S2)
    best, wrong = (minimiser(X[:, None], Y, k / (m * S2))[0] for k in (1.0, 0.5))
    true = [equal(posterior.mode, best)]
    wide, signs = rng.normal(size=(8, 3)), np.where(np.arange(8) % 2, 1.0, -1.0)
    w = minimiser(wide, signs, 1.0 / (8 * S2))

    def log_posterior(w):
        likelihood = -jnp.sum(jax.nn.softplus(-jnp.asarray(signs) * (jnp.asarray(wide) @ w)))
        return likelihood - jnp.sum(w**2) / (2 * S2)

    true.append(-jnp.linalg.norm(jax.grad(log_posterior)(w)))
    halved, mean = equal(posterior.mode, wrong), equal(posterior.mode, posterior.mean)
    return Result(smallest(*true), max(float(halved), float(mean)))


claim = Claim(
    name="logistic_map",
    text="logistic MAP with prior variance s2 is ERM with lam = 1/(m s2); its mean is not its mode",
    lecture="Introduction to Machine Learning: conditional MAP",
    check=check,
    tolerance=1e-6,
)
