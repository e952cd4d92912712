r"""Claim. Projected SGD on the structured hinge, i uniform, w^1 = 0, ||w|| <= B = ||w*||, D = 2 B,
G = lam B + Dm max_i n c_i:

    eta = c/sqrt(t)     E[P(w^t)] - P* <= (D^2/c + c G^2)(2 + ln t)/sqrt(t)         last iterate
    eta constant        E[P(wbar_T)] - P* <= ||w^1 - w*||^2/(2 eta T) + eta G^2/2    average

G bounds every ||g_t||, so the second moment that the theorems ask for is bounded by G^2.
Lecture "Online solvers for convex risk minimization" (Franc), projected SGD; Shamir & Zhang, ICML
2013, arXiv:1212.1824. (1/(lam t): structured_sgd_bounds. The first moment as printed fails in
sgd_regimes.)

Check. The package's steps, exactly over all n^5 sequences and by the mean over seeds for T = 1000,
at every t; the norms of iterates and subgradients. False variant: no floor eta G^2/2, as if a
fixed step converged.
"""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import Constant, InverseSqrt, StructuredSGD, Uniform
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.methods.structured.structured_sgd import Turn
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.structured_toys import listed, multiclass, optimum

SEEDS, LONG, C, ETA = 30, 1000, 0.3, 0.3


@jax.jit
def excess(problem, method, least, samples):
    """(T,) means over the sequences of P(w^t) - P* and P(wbar_t) - P*; the largest ||w^t|| and the
    largest ||g_t||."""

    def one(sequence):
        def step(state, i):
            w = method.point(problem, state).w
            g = problem.lam * w + problem.loss_grad(w, Sample(i[None]))
            turn = Turn(Sample(i[None]), jnp.asarray(True))
            return method.step(problem, state, turn), (w, jnp.linalg.norm(g))

        ws, sizes = lax.scan(step, method.init(problem), sequence)[1]
        means = jnp.cumsum(ws, axis=0) / jnp.arange(1.0, len(ws) + 1)[:, None]
        P = jax.vmap(problem.primal)
        return P(ws), P(means), jnp.max(jnp.linalg.norm(ws, axis=1)), jnp.max(sizes)

    last, mean, lengths, sizes = jax.vmap(one)(samples)
    return last.mean(0) - least, mean.mean(0) - least, jnp.max(lengths), jnp.max(sizes)


def check() -> Result:
    problem = multiclass(n=4)
    facts = listed(problem)
    best = optimum(facts)
    least, B = facts.dual(best), float(np.linalg.norm(facts.w_of(best)))
    G = facts.lam * B + facts.Dm * float(np.max(problem.n * facts.c))
    every = np.array(list(product(range(4), repeat=5)), np.int32)
    seeds = np.random.default_rng(61).integers(0, 4, (SEEDS, LONG), dtype=np.int32)
    rules = [StructuredSGD(r, Uniform(), B, project=True) for r in (InverseSqrt(C), Constant(ETA))]
    slacks, floorless = [], []
    for samples in map(jnp.asarray, (every, seeds)):
        t = np.arange(1.0, samples.shape[1] + 1)
        last, _, length, size = excess(problem, rules[0], least, samples)
        bound = ((2 * B) ** 2 / C + C * G**2) * (2 + np.log(t)) / np.sqrt(t)
        slacks += [1 - last / bound, 1 + 1e-12 - length / B, 1 - size / G]
        _, mean, length, size = excess(problem, rules[1], least, samples)
        start = B**2 / (2 * ETA * t)
        slacks += [1 - mean / (start + ETA * G**2 / 2), 1 + 1e-12 - length / B, 1 - size / G]
        floorless.append(smallest(1 - mean / start))
    return Result(smallest(*slacks), min(floorless))


claim = Claim(
    name="structured_sgd_regimes",
    text="structured SGD: c/sqrt(t), the last iterate; a constant step, the average, to a floor",
    lecture="Online solvers: projected SGD",
    check=check,
)
