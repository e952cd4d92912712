r"""Claim. Option I of Quartz never reads w: its alpha is the path of SDCA, step for step.

Its w_t is an exponential average of grad g*(abar) and nothing else, which is why the package
returns grad g*(abar). Lecture "Empirical Risk Minimization" (Richtarik), Quartz, options I and II.

Check. The same samples to both, serial and in sets, l2 and elastic net: the same alpha.
False variant: the same of option II.
"""

import jax.numpy as jnp
from jax import lax, random

from jaxopt_svm import SDCA, ElasticNet, Logistic, Nice, Quartz, Uniform
from proofs_checks.claims import Claim, Result, smallest, toy


def alphas(problem, method, samples):
    step = lambda state, sample: (method.step(problem, state, sample), None)
    return lax.scan(step, method.init(problem), samples)[0].tables[0]


def check() -> Result:
    true, false = [], []
    for regularizer, samplings in ((None, (Uniform(), Nice(3))), (ElasticNet(0.3), (Nice(3),))):
        problem = toy(Logistic(), regularizer, n=12)
        for sampling in samplings:
            sdca = SDCA(sampling, block=1)
            samples = sdca.draw(problem, random.key(3))
            path = alphas(problem, sdca, samples)
            for option, kept in ((1, true), (2, false)):
                other = alphas(problem, Quartz(sampling, option=option, block=1), samples)
                kept.append(-jnp.max(jnp.abs(other - path)))
    return Result(smallest(*true), max(map(float, false)))


claim = Claim(
    name="quartz_is_sdca",
    text="option I of Quartz moves alpha exactly as SDCA does",
    lecture="Empirical Risk Minimization: Quartz",
    check=check,
)
