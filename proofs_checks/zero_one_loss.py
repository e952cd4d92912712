r"""Claim. The 0-1 loss with a norm has no minimiser when some w separates the data:

    f(tw) = L01(tw) + lam t^2 ||w||^2 -> 0  as t falls to 0,   and f(0) = 1,

which is why losses that know the scale of w are used with norms. For margins z

    l01 <= lmargin = [z < 1],   l01 <= hinge,   l01 <= logistic/ln 2.

Lecture "Introduction to Machine Learning" (Srebro), losses.

Check. f along a separating direction down to t = 1e-150; the inequalities on a grid. False
variants, both of which have to fail: the infimum is attained at 0, and lmargin <= hinge (false for
0 < z < 1).
"""

import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Hinge, Logistic
from proofs_checks.claims import Claim, Result, smallest

LAM = 0.1


def check() -> Result:
    rng = np.random.default_rng(33)
    x = rng.normal(size=20)
    y = np.sign(x)
    f = lambda t: np.mean(y * x * t <= 0) + LAM * t * t
    ts = 10.0 ** -np.arange(0.0, 150.0, 5.0)
    values = np.array([f(t) for t in ts])
    falling = values[:-1] - values[1:]
    positive = np.where(values > 0, 1.0, -1.0)
    z = jnp.linspace(-3.0, 3.0, 601)
    one = jnp.ones_like(z)
    wrong, margin = jnp.where(z <= 0, 1.0, 0.0), jnp.where(z < 1, 1.0, 0.0)
    hinge, logistic = Hinge().value(z, one), Logistic().value(z, one) / np.log(2.0)
    true = [falling, positive, 1e-12 - values[-1], f(0.0) - 1.0]
    true += [jnp.min(above - wrong) for above in (margin, hinge, logistic)]
    return Result(smallest(*true), max(values[-1] - f(0.0), float(jnp.min(hinge - margin))))


claim = Claim(
    name="zero_one_loss",
    text="0-1 loss plus a norm has no minimiser; l01 is below margin, hinge and logistic/ln 2",
    lecture="Introduction to Machine Learning: losses",
    check=check,
)
