r"""Claim. SGD with step 1/(lam (t + t0)), t0 = Lf/lam, and the averages weighted by t approaches P*
like 1/t on smooth losses: in the last four octaves of a run the mean of P - P* over 32 seeds falls
with a log-log slope between -1.3 and -0.8.

Lecture "Empirical Risk Minimization" (Richtarik), SGD against the finite-sum methods.

Check. 32 seeds of the package's own SGD at once; a line through the logarithms at t = T/16 ... T.
False variant: the last iterate with steps that fall like 1/sqrt(t) does so too.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import (
    SGD,
    Averaged,
    InverseLam,
    InverseSqrt,
    Logistic,
    PolynomialMean,
    Uniform,
    run,
)
from jaxopt_svm.methods.finite_sum.terms import term_smoothness
from proofs_checks.claims import Claim, Result, optimum, toy

SEEDS, PASSES, OCTAVES = 32, 2**11, 4


@jax.jit
def excess(problem, method, best):
    """(records,) mean over the seeds of P - P* at PASSES/16, 2 PASSES/16, ..."""
    keys = jax.random.split(jax.random.key(0), SEEDS)
    every = PASSES // 2**OCTAVES
    primal = jax.vmap(lambda k: run(problem, method, passes=PASSES, every=every, key=k)[1].primal)
    return jnp.mean(primal(keys), axis=0)[1:] - problem.primal(best.w)


def slope(problem, method, best) -> float:
    values = np.asarray(excess(problem, method, best))
    at = 2 ** np.arange(OCTAVES + 1)
    return float(np.polyfit(np.log(at), np.log(values[at - 1]), 1)[0])


def check() -> Result:
    problem = toy(Logistic(), lam=0.2)
    best = optimum(problem)
    t0 = term_smoothness(problem) / problem.lam
    inside = lambda s: min(s + 1.3, -0.8 - s)
    averaged = Averaged(SGD(InverseLam(t0), Uniform(), block=8), PolynomialMean())
    right = slope(problem, averaged, best)
    wrong = slope(problem, SGD(InverseSqrt(0.5), Uniform(), block=8), best)
    return Result(inside(right), inside(wrong))


claim = Claim(
    name="sgd_slope",
    text="E[P] - P* of SGD falls like 1/t: log-log slope in [-1.3, -0.8] over 32 seeds",
    lecture="Empirical Risk Minimization: SGD",
    check=check,
)
