r"""Claim. ``draw`` has the marginals and the pairs its sampling promises:

    Prob(i in S and j in S) = P_ij   for all i, j,

for one example at a time, tau-nice, independent, bucket, partition and distributed sets; a set
never holds an example twice, and its padding comes last.
Lecture "Empirical Risk Minimization" (Richtarik), samplings.

Check. Frequencies of many draws against P over all outcomes, six standard deviations allowed.
False variants, each of which has to fail: the same frequencies against the nearest other sampling
(tau-nice against independent sets, uneven against even, ...).
"""

import jax
import numpy as np

from jaxopt_svm import Bucket, Distributed, Independent, Nice, Optimal, Partition, Uniform
from proofs_checks.claims import Claim, Result, smallest
from proofs_checks.eso import GROUPS, N, pairs, problems

KEYS = 4000
UNEVEN = np.linspace(0.1, 0.6, N)


def frequencies(sampling, problem) -> tuple[np.ndarray, int]:
    """How often each pair came together, and in how many steps."""
    keys = jax.random.split(jax.random.key(9), KEYS)
    index, mask = jax.jit(jax.vmap(lambda key: sampling.draw(problem, key, 1)))(keys)
    index = np.asarray(index).reshape(-1, index.shape[-1])  # one row a step
    if mask is not None:
        mask = np.asarray(mask).reshape(index.shape)
        assert (mask == (index < N)).all() and (mask[:, :-1] >= mask[:, 1:]).all()
    times = (index[:, :, None] == np.arange(N)).sum(1)
    assert times.max() <= 1
    member = times.astype(float)
    return member.T @ member / len(member), len(member)


def slack(found: np.ndarray, steps: int, P) -> float:
    """Six standard deviations, minus the largest difference of frequency and promise."""
    P = np.clip(np.asarray(P), 0.0, 1.0)
    return float(np.min(6 * np.sqrt(P * (1 - P) / steps) + 1e-12 - np.abs(found - P)))


def check() -> Result:
    problem = problems()[0]
    # each sampling, and another it must not be mistaken for
    samplings = {
        Uniform(): Optimal(),
        Optimal(): Uniform(),
        Nice(3): Independent.of(3 / N),
        Independent.of(3 / N): Nice(3),
        Independent.of(UNEVEN): Independent.of(UNEVEN.mean()),
        Bucket.of(GROUPS): Partition.of(GROUPS),
        Partition.of(GROUPS, [0.4, 0.3, 0.3]): Partition.of(GROUPS),
        Distributed(2, 3): Nice(6),
    }
    true, wrong = [], []
    for sampling, other in samplings.items():
        seen = frequencies(sampling, problem)
        true.append(slack(*seen, pairs(sampling, problem)))
        wrong.append(slack(*seen, pairs(other, problem)))
    return Result(smallest(*true), max(wrong))


claim = Claim(
    name="sampling_draws",
    text="draws have the promised p and P: six kinds of sampling, 6 standard deviations",
    lecture="Empirical Risk Minimization: samplings",
    check=check,
)
