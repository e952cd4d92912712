r"""Claim. MAP depends on the parameters chosen, Bayesian prediction does not. With u = e^w the
density is p_u(u) = p_w(log u)/u, so for w ~ N(m, s^2)

    argmax p_u = exp(m - s^2),     not exp(m) = exp(argmax p_w),

while P(y | x, S) = integral of P(y | x, w) p(w | S) is the same in w, in e^w and in sinh(w).
Lecture "Introduction to Machine Learning" (Srebro), MAP and Bayes.

Check. The package's posteriors on a grid: Gaussian, where the mode is known, and logistic, whose
plug-in predictions differ (0.99999 and 0.993 at x = 10) and whose average agrees (0.9430).
False variants, both of which have to fail: exp(m) as the mode of u, and the plug-in of the MAP in
u equal to that in w.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Posterior, logistic_posterior
from proofs_checks.claims import Claim, Result, equal, smallest

M, S = 0.7, 0.6
X, Y = np.array([1.0, 2.0, -1.5, 0.5]), np.array([1.0, 1.0, -1.0, -1.0])
ASKED = np.array([1.0, 3.0, 10.0])


def check() -> Result:
    w = jnp.linspace(M - 8 * S, M + 8 * S, 20_001)
    gauss = Posterior(w, w, -((w - M) ** 2) / (2 * S**2))
    lifted = gauss.through(jnp.exp)
    true = [equal(lifted.mode, np.exp(M - S**2)), equal(gauss.mode, M), equal(gauss.mean, M)]
    true.append(equal(lifted.mean, np.exp(M + S**2 / 2)))
    wrong = equal(lifted.mode, np.exp(M))
    own = logistic_posterior(X, Y, variance=4.0)
    in_u, in_v = own.through(jnp.exp), own.through(jnp.sinh)
    at = own.predict(ASKED)
    true += [jnp.min(equal(other.predict(ASKED), at)) for other in (in_u, in_v)]
    plug_w, plug_u = (jax.nn.sigmoid(ASKED * value) for value in (own.mode, jnp.log(in_u.mode)))
    return Result(smallest(*true), max(float(wrong), float(jnp.min(equal(plug_w, plug_u)))))


claim = Claim(
    name="map_reparametrised",
    text="the mode of e^w is exp(m - s^2); the Bayesian prediction is the same in every parameter",
    lecture="Introduction to Machine Learning: MAP and Bayes",
    check=check,
    tolerance=1e-6,
)
