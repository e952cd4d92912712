"""Executable theorems: one claim of the lectures per file, with a false variant that must fail.

``python -m proofs_checks`` prints them as a table.
"""

from proofs_checks import (
    blocks_exact,
    conjugates,
    dual_steps,
    eso,
    minibatch_variance,
    moreau,
    optimal_sampling,
    pegasos_bound,
    primal_certificate,
    sdca_one_step,
    sgd_certificate,
    sgd_regimes,
    split_identity,
    subgradients,
    unbiased,
    weak_duality,
)

__all__ = ["CLAIMS"]

CLAIMS = tuple(
    module.claim
    for module in (
        # losses and regularisers
        conjugates,
        dual_steps,
        moreau,
        subgradients,
        # duality
        split_identity,
        weak_duality,
        primal_certificate,
        # samplings and dual coordinate ascent
        eso,
        optimal_sampling,
        sdca_one_step,
        blocks_exact,
        # stochastic subgradients
        unbiased,
        minibatch_variance,
        pegasos_bound,
        sgd_regimes,
        sgd_certificate,
    )
)
