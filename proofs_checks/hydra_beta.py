r"""Claim. For tau coordinates on each of several nodes, Hydra's v = (beta_1 + beta_2) L is an ESO,

    beta_1 = 1 + (tau - 1)(sigma - 1)/s1,
    beta_2 = (tau/s - (tau - 1)/s1) sigma (sigma' - 1)/sigma',

and beta_2 <= beta_1 for tau >= 2: not knowing of each other costs the nodes a factor of 2 at most.
Lecture "Empirical Risk Minimization" (Richtarik), Hydra; Richtarik & Takac, arXiv:1310.2059.

Check. The exact ratio of ``eso_ratio`` with the sampling's pair probabilities, six settings of
nodes and tau, dense features, features with a common part, an all-zero one. False variants:
v = beta_1 L; and beta_2 <= beta_1 for tau = 1, which correlated features on many nodes refute.
"""

import numpy as np

from jaxopt_svm import HydraBeta, Squared, eso_ratio, hydra, make_erm, prepare
from jaxopt_svm.methods.coordinate.hydra import beta_terms
from proofs_checks.claims import Claim, Result, smallest

D, N = 24, 10
SETTINGS = ((2, 1), (2, 5), (2, 12), (6, 1), (6, 2), (6, 4))


def problem(X, nodes: int, tau: int):
    return prepare(make_erm(X, np.ones(N), loss=Squared()), hydra(nodes, tau))


def matrices() -> list[np.ndarray]:
    rng = np.random.default_rng(23)
    plain = rng.normal(size=(N, D))
    common = plain + 2.0 * rng.normal(size=(N, 1))
    common[:, 5] = 0.0
    return [plain, common]


def check() -> Result:
    right, alone = [], []
    for X in matrices():
        for nodes, tau in SETTINGS:
            view = hydra(nodes, tau).on.of(problem(X, nodes, tau))
            sampling = HydraBeta(nodes, tau)
            rows, P = view.rows, sampling.pair_probabilities(view)
            beta1, beta2 = beta_terms(rows.toarray(), nodes, tau)
            ratio = lambda v, rows=rows, P=P: 1.0 - eso_ratio(rows.toarray(), P, v)
            right.append(ratio(sampling.constants(view)[1]))
            right += [beta1 - beta2] if tau > 1 else []
            alone.append(float(ratio(beta1 * rows.sqnorms)))
    one_each = problem(matrices()[1], D, 1).columns.rows
    beta1, beta2 = beta_terms(one_each.toarray(), D, 1)
    return Result(smallest(*right), max(min(alone), float(beta1 - beta2)))


claim = Claim(
    name="hydra_beta",
    text="(beta_1 + beta_2) L is an ESO for sets on nodes, and beta_2 <= beta_1 for tau >= 2",
    lecture="Empirical Risk Minimization: Hydra",
    check=check,
)
