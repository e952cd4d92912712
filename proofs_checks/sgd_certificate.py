r"""Claim. SGD with steps 1/(lam (t + t0)) and no projection carries a dual point:

    w_{T+1} = (1/lam) sum_i c_i alpha_i x_i,     alpha_i = (n A_i + t0 alpha^1_i) / (T + t0),

A_i the sum of -phi'_i over the visits of i (for mini-batches of k: over k). After whole shuffled
passes it is feasible as it stands, since every example has been visited equally often; at other
times it is clipped. Either way D(alpha) <= P*.
Lecture "Online solvers" (Franc) has no certificate for SGD; this is the Frank-Wolfe reading of
Pegasos for one example at a time, Shalev-Shwartz et al., Math. Prog. 127 (2011).

Check. The package's state after whole and broken passes, t0 = 0 and t0 > 0, single examples and
mini-batches. Two false variants, both of which have to fail: the divisor T + t0 + 1, off by one,
and feasibility without clipping when examples are drawn with replacement.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import SGD, Absolute, Hinge, InverseLam, Logistic, Point, Shuffled, Uniform
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, equal, optimum, smallest, toy


@jax.jit
def slacks(problem, method, start, best, order):
    """Identity, clipped bound, unclipped feasibility, and the identity off by one."""
    step = lambda state, index: (method.step(problem, state, Sample(index)), None)
    w, alpha = method.point(problem, lax.scan(step, method.init(problem, start), order)[0])
    steps = order.shape[0] + method.rule.t0
    clipped = problem.loss.clip(alpha, problem.y)
    return (
        jnp.min(equal(w, problem.w_of(alpha))),
        problem.primal(best.w) - problem.dual(clipped),
        jnp.min(-jnp.abs(clipped - alpha)),
        jnp.min(equal(w, problem.w_of(alpha * steps / (steps + 1.0)))),
    )


def check() -> Result:
    rng, true, shifted, replaced = np.random.default_rng(15), [], [], []
    for loss in (Hinge(), Logistic(), Absolute()):
        problem = toy(loss)
        n, best = problem.n, optimum(problem)
        warm = Point(jnp.zeros(problem.d), 0.5 * best.dual)
        passes = np.concatenate([rng.permutation(n) for _ in range(4)]).astype(np.int32)
        draws = rng.integers(0, n, 4 * n, dtype=np.int32)
        single = SGD(InverseLam(), Shuffled(), block=1)
        cases = [(single, problem.origin(), passes, 1)]
        if loss.lipschitz and not loss.smooth:
            cases += [
                (SGD(InverseLam(7.5), Shuffled(), block=1), warm, passes, 1),
                (SGD(InverseLam(), Shuffled(), batch=3), problem.origin(), passes, 3),
            ]
        for method, start, order, k in cases:
            found = slacks(problem, method, start, best, jnp.asarray(order.reshape(-1, k)))
            true += found[:3]
            shifted.append(float(found[3]))
        broken = slacks(problem, single, problem.origin(), best, jnp.asarray(passes[:-2, None]))
        method = SGD(InverseLam(), Uniform(), block=1)
        found = slacks(problem, method, problem.origin(), best, jnp.asarray(draws[:, None]))
        true += [*broken[:2], *found[:2]]
        replaced.append(float(found[2]))
    return Result(smallest(*true), max(*shifted, smallest(*replaced)))


claim = Claim(
    name="sgd_certificate",
    text="SGD with 1/(lam t) carries alpha: w = w(alpha), feasible after whole passes, D <= P*",
    lecture="Structured output learning: SGD",
    check=check,
)
