r"""Claim. ||psi(x_i, y) - psi(x_i, y_i)|| <= Dm. One visit of BCFW, i uniform, and one step of
Frank-Wolfe, from any feasible alpha and for any gamma in [0, 1]:

    E[D(alpha+)] - D(alpha) >= (gamma/n) (P - D) - gamma^2 C/(2n),    C = (4 Dm^2/lam) sum_i c_i^2
      D(alpha+)  - D(alpha) >=  gamma (P - D) - gamma^2 C_f/2,        C_f = 4 Dm^2/lam

and by induction, with line search or with steps 2n/(k + 2n) and 2/(k + 2),

    E[D* - D(alpha_k)] <= 2n/(k + 2n) (C + D* - D(alpha_0))       BCFW
      D* - D(alpha_k)  <= 2 C_f/(k + 2),  k >= 1                  Frank-Wolfe

Lacoste-Julien, Jaggi, Schmidt & Pletscher, ICML 2013, arXiv:1207.4747 (c_i = 1/n, C = C_f/n).

Check. The package's visits of all n examples from random dual points, so the expectation is exact;
whole runs at three lam, the mean over 300 of them with three standard errors.
Three false variants, all have to fail: C = C_f/n on weighted examples; C_f halved, on labels with
features v and -v; and the bound of BCFW without D* - D(alpha_0).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import BCFW, Decreasing, FrankWolfe, LineSearch, Point
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.methods.structured.label_visits import Turn
from jaxopt_svm.problems.structured.mixture import Mixture
from proofs_checks.claims import Claim, Result, equal, smallest
from proofs_checks.structured_toys import Y, listed, mixture, opposite, optimum, table

COUNT, STEPS = 50, 60


@pytree
class Either:
    """One of the two rules for steps, chosen by a number: one program for both."""

    search: jax.Array

    def length(self, g, q, k, blocks):
        rules = (rule.length(g, q, k, blocks) for rule in (LineSearch(), Decreasing()))
        return jnp.where(self.search, *rules)


@jax.jit
def paths(problem, method, labels, starts, samples):
    """(runs, steps) D after each step, from masses (runs, n, Y); and the last masses."""

    def step(state, sample):
        state = method.step(problem, state, sample)
        lost = problem.c @ jnp.sum(state.masses * problem.x.losses, 1)  # slot y holds label y
        return state, lost - problem.lam / 2 * (state.w @ state.w)

    def one(a, sample):
        state = method.init(problem, Point(None, Mixture(labels, a)))
        state, values = lax.scan(step, state, sample)
        return values, state.masses

    return jax.vmap(one)(starts, samples)


def both(problem, facts, starts, search):
    """D along BCFW (runs x n, STEPS), run k n + i with i first, and along Frank-Wolfe."""
    n, labels = problem.n, mixture(problem, facts, starts[0]).labels
    steps, rng = Either(jnp.asarray(search)), np.random.default_rng(36)
    index = rng.integers(0, n, (len(starts) * n, STEPS, 1), np.int32)
    index[:, 0, 0] = np.tile(np.arange(n), len(starts))
    yes = np.ones(index.shape[:2], bool)
    turns = Turn(Sample(jnp.asarray(index)), ask=jnp.asarray(yes), fresh=jnp.asarray(~yes))
    many = np.repeat(starts, n, axis=0)
    methods = BCFW(steps=steps, block=1, capacity=Y), FrankWolfe(steps, capacity=Y)
    found = (
        paths(problem, methods[0], labels, many, turns),
        paths(problem, methods[1], labels, starts, np.zeros((len(starts), STEPS))),
    )
    true = smallest(*(equal(values[:, -1], facts.dual(np.asarray(a))) for values, a in found))
    return *(np.asarray(values) for values, _ in found), methods, true


def one_step(problem, a):
    """Slacks at the best gamma for BCFW (C, and C_f/n in its place) and Frank-Wolfe (C_f, half)."""
    facts = listed(problem)
    visits, joint, _, same = both(problem, facts, a, True)
    n, before = problem.n, facts.dual(a)
    gap = facts.primal(facts.w_of(a)) - before
    gain = visits[:, 0].reshape(-1, n).mean(1) - before
    joint = joint[:, 0] - before
    Cf = 4 * facts.Dm**2 / facts.lam
    promised = lambda C: np.minimum(1, gap / C) * gap - np.minimum(1, gap / C) ** 2 * C / 2
    true = [same, gain - promised(Cf * np.sum(facts.c**2)) / n, joint - promised(Cf)]
    false = [gain - promised(Cf / n) / n, joint - promised(Cf / 2)]
    return smallest(*true), [smallest(f) for f in false]


@jax.jit
def bounds(problem, methods, k):
    return [method.bound(problem, k) for method in methods]


def rates(problem, top, search):
    """Relative slacks of both bounds over whole runs, and of BCFW's without the start."""
    facts, n = listed(problem), problem.n
    starts = np.broadcast_to(facts.start(), (COUNT, *facts.new.shape))
    values, joint, methods, same = both(problem, facts, starts, search)
    # the first visits go round the examples: as good as drawn, each has its share
    mean, error = top - values.mean(0), values.std(0) / np.sqrt(len(values))
    k = np.arange(1.0, STEPS + 1)
    Cf = 4 * facts.Dm**2 / facts.lam
    C, shrink = Cf * np.sum(facts.c**2), 2 * n / (k + 2 * n)
    of_bcfw, of_joint = (np.asarray(b) for b in bounds(problem, methods, k))
    true = [
        same,
        1 - (mean + 3 * error) / (shrink * (C + top)),
        1 - shrink * (C + top) / of_bcfw,  # the package has l_max for D*
        1 - (top - joint) / (2 * Cf / (k + 2)),
        equal(of_joint, 2 * Cf / (k + 2)),
    ]
    return smallest(*true), smallest(1 - (mean - 3 * error) / (shrink * C))


def check() -> Result:
    rng = np.random.default_rng(35)
    problems = [table(lam=lam) for lam in (0.1, 1.0, 1000.0)]
    true = [one_step(p, listed(p).masses(rng, COUNT))[0] for p in problems]
    tight, a = opposite(1.2)
    attained, false = one_step(tight, np.broadcast_to(a, (COUNT, *a.shape)))
    without = 0.0
    for problem in problems:
        top = listed(problem).dual(optimum(listed(problem)))
        for search in (True, False):
            slack, without = rates(problem, top, search)
            true.append(slack)
    return Result(smallest(attained, *true), max(*false, without))


claim = Claim(
    name="bcfw_rate",
    text="E[D* - D_k] <= 2n/(k + 2n) (C + D* - D_0), C = (4 Dm^2/lam) sum c_i^2; Frank-Wolfe too",
    lecture="Online solvers: steepest ascent",
    check=check,
)
