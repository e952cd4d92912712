r"""Claim. Losses are negative log likelihoods. With P(y | x) = 1/(1 + exp(-y h(x)))

    -log P(y | x) = log(1 + exp(-y h)),     P(+1 | x) + P(-1 | x) = 1,    P(+1 | x) > 1/2 iff h > 0,

and a model of texts P(text) = prod_i p(t_i | t_1..t_{i-1}) over independent documents has
-log P(data) = the sum of token losses, so that maximum likelihood is empirical risk minimisation.
Lecture "Introduction to Machine Learning" (Srebro), probabilistic models (printed: 1/(1 + e^h) for
y = 1, and tokens [:i-1], which as a slice forgets token i - 1).

Check. Scores on a grid; a random trigram model on random documents, its probability by
enumerating all texts of that length (they sum to one). False variants, all of which have to fail:
the printed sign, and the forgotten token.
"""

from itertools import product

import jax.numpy as jnp
import numpy as np

from jaxopt_svm import Logistic
from proofs_checks.claims import Claim, Result, equal, smallest

WORDS, LENGTH = 3, 4


def token_losses(table, text, forget: bool = False):
    """-log p(t_i | the two tokens before), a start token standing for what is missing."""
    padded = [WORDS, WORDS, *text]
    before = lambda i: (padded[i], WORDS if forget else padded[i + 1])
    return [-np.log(table[(*before(i), t)]) for i, t in enumerate(text)]


def check() -> Result:
    rng = np.random.default_rng(35)
    h = jnp.linspace(-8.0, 8.0, 321)
    P = lambda y: 1.0 / (1.0 + jnp.exp(-y * h))
    one = jnp.ones_like(h)
    true = [jnp.min(equal(-jnp.log(P(y)), Logistic().value(h, y * one))) for y in (1.0, -1.0)]
    true += [jnp.min(equal(P(1.0) + P(-1.0), one)), jnp.min((P(1.0) - 0.5) * h)]
    printed = jnp.min((1.0 / (1.0 + jnp.exp(h)) - 0.5) * h)
    table = rng.dirichlet(np.ones(WORDS), size=(WORDS + 1, WORDS + 1))
    chance = {t: np.exp(-sum(token_losses(table, t))) for t in product(range(WORDS), repeat=LENGTH)}
    true.append(equal(sum(chance.values()), 1.0))
    documents = [tuple(rng.integers(0, WORDS, LENGTH)) for _ in range(5)]
    likelihood = np.log(np.prod([chance[d] for d in documents]))
    losses = lambda forget: sum(sum(token_losses(table, d, forget)) for d in documents)
    true.append(equal(likelihood, -losses(False)))
    return Result(smallest(*true), max(float(printed), float(equal(likelihood, -losses(True)))))


claim = Claim(
    name="likelihood_losses",
    text="logistic loss = -log 1/(1 + exp(-yh)); token losses add up to -log P(documents)",
    lecture="Introduction to Machine Learning: probabilistic models",
    check=check,
)
