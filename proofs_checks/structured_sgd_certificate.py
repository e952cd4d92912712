r"""Claim. Structured SGD with eta = 1/(lam (t + t0)) carries a dual point: after T steps

    w_{T+1} = (1/lam) sum_i c_i [psi(x_i, y_i) - psi(x_i, alpha_i)], alpha_i(y) = n N_i(y)/(T + t0),

N_i(y) how often label y of example i was decoded, the rest of alpha_i on the truth. After whole
shuffled passes it is feasible as it stands. With L = sum_i c_i l(alpha_i), M_i = sum_y alpha_i(y),
and any 0 <= s <= 1/max_i M_i, also D(s) = s L - s^2 lam/2 ||w||^2 <= P*, from n + 1 numbers.
The slides have no certificate for SGD. Lecture "Online solvers ..." (Franc), projected SGD.

Check. The package's state after whole and broken passes, single examples and mini-batches, with and
without replacement, t0 = 0 and t0 > 0, and with fewer slots than labels; P* by enumeration.
False variant: s = 1 whatever M_i, for draws with replacement.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import InverseLam, StructuredSGD
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.methods.structured.structured_sgd import Turn
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import chain, listed, multiclass, optimum


@jax.jit
def after(problem, method, order):
    """w, the dual point, w(alpha), D and the counts after the steps of ``order`` (T, k)."""
    step = lambda s, i: (method.step(problem, s, Turn(Sample(i), jnp.asarray(False))), None)
    state = lax.scan(step, method.init(problem), order)[0]
    point = method.point(problem, state)
    return point.w, problem.w_of(point.dual), problem.dual(point.dual), state


def scalar_bound(problem, state, steps: float, s=None):
    """D(s) of the claim, with the best s allowed, or the one given."""
    counts = np.asarray(state.counts)
    wrong = problem.n * counts / steps
    wrong[:, 0] = 0.0  # on the truth: no features, no loss
    lost = np.asarray(jax.vmap(_losses, (None, 0, 0))(problem, _examples(problem), state.labels))
    L = np.asarray(problem.c) @ (wrong * lost).sum(1)
    w = np.asarray(state.scale * state.v)
    square = float(problem.lam) * w @ w
    most = 1 / max(wrong.sum(1).max(), 1e-300)
    s = np.clip(L / max(square, 1e-300), 0, most) if s is None else s
    return s * L - s**2 * square / 2


def _examples(problem):
    return problem.take(jnp.arange(problem.n))


def _losses(problem, example, labels):
    loss = problem.model.loss(example.x, example.y)
    return jax.vmap(lambda label: problem.model.score(loss, example.x, label))(labels)


def check() -> Result:
    rng, true, false = np.random.default_rng(55), [], []
    for problem in (multiclass(), chain(), multiclass(lam=20.0)):
        n, facts = problem.n, listed(problem)
        least = facts.dual(optimum(facts))
        passes = np.concatenate([rng.permutation(n) for _ in range(6)]).astype(np.int32)
        draws = rng.integers(0, n, 6 * n - 2, dtype=np.int32)
        whole = [(StructuredSGD(), passes[:, None])]
        if problem.d == 9 and n % 3 == 0:
            whole += [(StructuredSGD(batch=3), passes.reshape(-1, 3))]
            whole += [(StructuredSGD(InverseLam(4.0)), passes[:, None])]
        for method, order in whole:
            w, rebuilt, D, state = after(problem, method, jnp.asarray(order))
            true += [least - D]
            if float(method.rule.t0) == 0:
                true += [equal(w, rebuilt), least - scalar_bound(problem, state, len(order))]
        if problem.y.ndim > 1:
            continue  # chains: whole passes
        single = StructuredSGD()
        for order in (passes[:-2], draws, draws[:3]):
            _, _, D, state = after(problem, single, jnp.asarray(order[:, None]))
            true += [least - D, least - scalar_bound(problem, state, len(order))]
            false.append(least - scalar_bound(problem, state, len(order), s=1.0))
        few = StructuredSGD(capacity=2)
        true.append(least - after(problem, few, jnp.asarray(passes[:, None]))[2])
    return Result(smallest(*true), smallest(*false))


claim = Claim(
    name="structured_sgd_certificate",
    text="structured SGD with 1/(lam t) carries labels and masses: w = w(alpha), D <= P*",
    lecture="Online solvers: projected SGD",
    check=check,
)
