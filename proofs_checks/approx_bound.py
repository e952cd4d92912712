r"""Claim. ALPHA, with t_0 = min_j p_j, satisfies

    E[F(x_k) - F*] <= 4 C/((k - 1) t_0 + 2)^2,
    C = (1 - t_0)(F(x_0) - F*) + (t_0^2/2) sum_j q_j (x_0j - x*_j)^2/p_j^2.

For tau-nice sets (APPROX) the right side is 4 n^2 C/((k - 1) tau + 2 n)^2. Its steps in u and z,
which touch S only, are those of the slide: y = (1 - t) x + t z, x+ = y + (t/p)(z+ - z); with p = 1
the first is a proximal gradient step.
Lecture "Empirical Risk Minimization" (Richtarik), APPROX, ALPHA; Fercoq & Richtarik,
arXiv:1312.5799; Qu & Richtarik, arXiv:1412.8060.

Check. The mean over many runs of the package's method, correlated features, l2 and elastic net,
sets and single coordinates of uneven probability, every k; the three identities along a run.
False variant: C without its first term, as if F(x_0) - F* were at most ||x_0 - x*||_v^2/2; one
coordinate at a time, whose v promise nothing about moving all, refutes it.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxopt_svm import Alpha, ElasticNet, Logistic, Nice, Powers, Squared, make_erm, prepare
from jaxopt_svm.core.protocols import Sample
from proofs_checks.claims import Claim, Result, equal, optimum, smallest

RUNS, STEPS, D = 400, 40, 6


def problem(loss, regularizer=None):
    """Features with a large common part: v = L alone is far from safe."""
    rng = np.random.default_rng(24)
    X = rng.normal(size=(12, D)) * np.linspace(0.3, 1.0, D) + 2.0 * rng.normal(size=(12, 1))
    y = X @ np.ones(D) if loss.regression else np.where(np.arange(12) % 2 == 0, 1.0, -1.0)
    p = make_erm(X, y, loss=loss, lam=1e-3, regularizer=regularizer)
    return prepare(p, Alpha())


def trajectory(problem, method, samples):
    """x_1, x_2, ... of the package's method."""

    def step(state, index):
        state = method.step(problem, state, Sample(index))
        return state, method.point(problem, state).w

    return lax.scan(step, method.init(problem), samples)[1]


def plain(problem, p, v, samples):
    """The same as on the slide, x, y and z in full."""

    def step(carry, index):
        x, z, t = carry
        y = (1 - t) * x + t * z
        slope = problem.grad(y) - problem.lam * problem.regularizer.grad(y)
        q = t * v / (p * problem.loss.gamma)
        new = problem.regularizer.prox(z - slope / q, problem.lam / q)
        new = z.at[index].set(new[index])
        x = y + t / p * (new - z)
        return (x, new, (jnp.sqrt(t**4 + 4 * t**2) - t**2) / 2), x

    zero = jnp.zeros_like(p)
    return lax.scan(step, (zero, zero, jnp.min(p)), samples)[1]


@jax.jit
def slacks(problem, method, samples, best):
    """Of the bound for every k, of its false variant, of the slide's form; (runs, steps, size)."""
    p, v = method.sampling.constants(method.on.of(problem))
    t0, least = jnp.min(p), problem.primal(best)
    xs = jax.vmap(lambda s: trajectory(problem, method, s))(samples)
    mean = jnp.mean(jax.vmap(jax.vmap(problem.primal))(xs), axis=0) - least
    first = (1 - t0) * (problem.primal(jnp.zeros_like(best)) - least)
    far = t0**2 / 2 * jnp.sum(v / problem.loss.gamma * best**2 / p**2)
    scale = 4.0 / (jnp.arange(STEPS, dtype=t0.dtype) * t0 + 2.0) ** 2
    same = equal(xs[0], plain(problem, p, v, samples[0]))
    return scale * (first + far) - mean, scale * far - mean, same


def check() -> Result:
    rng = np.random.default_rng(25)
    right, wrong = [], []
    cases = (
        (Squared(), None, Nice(2), 2),
        (Squared(), None, Powers(0.5), 1),
        (Logistic(), ElasticNet(0.3), Nice(2), 2),
    )
    for loss, regularizer, sampling, size in cases:
        p, method = problem(loss, regularizer), Alpha(sampling, block=1)
        chance = sampling.constants(method.on.of(p))[0]
        # the largest of u_j^(1/p_j), u uniform, is j with probability p_j/sum p
        order = rng.random((RUNS, STEPS, D)) ** (1 / np.asarray(chance))
        samples = jnp.asarray(np.argsort(-order, axis=2)[..., :size], jnp.int32)
        true, false, same = slacks(p, method, samples, optimum(p).w)
        right += [true, same]
        if sampling.serial:  # where v = L, which correlated features exceed most
            wrong.append(float(jnp.min(false)))
    # p = 1: the first step is a proximal gradient step
    p, everything = problem(Logistic(), ElasticNet(0.3)), Alpha(Nice(D))
    step = trajectory(p, everything, jnp.arange(D, dtype=jnp.int32)[None])[0]
    q = everything.sampling.constants(everything.on.of(p))[1] / p.loss.gamma
    slope = p.grad(jnp.zeros(D))  # the regulariser has slope 0 at 0
    right.append(equal(step, p.regularizer.prox(-slope / q, p.lam / q)))
    return Result(smallest(*right), max(wrong))


claim = Claim(
    name="approx_bound",
    text="mean F(x_k) - F* <= 4 C/((k-1) t_0 + 2)^2; touched form = slide; p = 1 is prox-gradient",
    lecture="Empirical Risk Minimization: APPROX, ALPHA",
    check=check,
)
