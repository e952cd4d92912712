r"""Claim. On the same random sets the block step of SDNA gains at least what separable steps gain:

    E[D(SDNA)] - D  >=  E[D(separable, tau-nice v)] - D  >=  theta (P - D),

and with tau = 1 the first is an equality. Lecture "Empirical Risk Minimization" (Richtarik), SDNA;
Qu, Richtarik, Takac & Fercoq, ICML 2016, arXiv:1502.02268.

Check. Exact expectations over all sets of three out of six, from random alpha; the block problem is
solved by eight cycles. False variant: a gain of twice the separable one (refuted near the optimum).
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm import SDCA, SDNA, Nice, Point
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import SMOOTH, Claim, Result, feasible, optimum, smallest, toy
from proofs_checks.outcomes import subsets

COUNT = 100


@jax.jit
def slacks(problem, newton, separable, alphas):
    members, chances = zip(*subsets(separable.sampling, problem.n))
    samples, probabilities = jnp.asarray(members, jnp.int32), jnp.asarray(chances)

    def gain(method, alpha):
        state = method.init(problem, Point(problem.w_of(alpha), alpha))
        after = lambda index: method.step(problem, state, Sample(index)).tables[0]
        values = jax.vmap(lambda i: problem.dual(after(i)))(samples)
        return probabilities @ values - problem.dual(alpha)

    def one(alpha):
        exact, bound = gain(newton, alpha), gain(separable, alpha)
        gap = problem.primal(problem.w_of(alpha)) - problem.dual(alpha)
        return exact - bound, bound - separable.theta(problem) * gap, exact - 2 * bound

    return [jnp.min(s) for s in jax.vmap(one)(alphas)]


def check() -> Result:
    rng = np.random.default_rng(4)
    found = []
    for loss in SMOOTH[:3]:
        problem = toy(loss)
        near = feasible(problem, rng, COUNT, optimum(problem).dual)
        alphas = np.concatenate([feasible(problem, rng, COUNT), near])
        for tau in (1, 3) if loss is SMOOTH[0] else (3,):
            newton, separable = SDNA(tau, rounds=8), SDCA(Nice(tau), block=1)
            found.append(slacks(problem, newton, separable, alphas))
    return Result(smallest(*(s for f in found for s in f[:2])), smallest(*(f[2] for f in found)))


claim = Claim(
    name="sdna_beats_pcdm",
    text="E[gain of SDNA] >= E[gain of the separable step] >= theta gap",
    lecture="Empirical Risk Minimization: SDNA",
    check=check,
)
