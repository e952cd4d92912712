"""Executable theorems: one claim of the lectures per file, with a false variant that must fail.

``python -m proofs_checks`` prints them as a table.
"""

from proofs_checks import (
    accelerated_bounds,
    blocks_exact,
    conjugates,
    dual_steps,
    eso,
    eso_general,
    minibatch_variance,
    moreau,
    optimal_sampling,
    pegasos_bound,
    primal_certificate,
    quartz_is_sdca,
    quartz_numbers,
    quartz_one_step,
    sampling_draws,
    sdca_one_step,
    sdna_beats_pcdm,
    sgd_certificate,
    sgd_regimes,
    split_identity,
    subgradients,
    unbiased,
    vector_losses,
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
        vector_losses,
        # duality
        split_identity,
        weak_duality,
        primal_certificate,
        # samplings and dual coordinate ascent
        eso,
        eso_general,
        sampling_draws,
        optimal_sampling,
        sdca_one_step,
        blocks_exact,
        # the dual family
        quartz_one_step,
        quartz_numbers,
        quartz_is_sdca,
        sdna_beats_pcdm,
        accelerated_bounds,
        # stochastic subgradients
        unbiased,
        minibatch_variance,
        pegasos_bound,
        sgd_regimes,
        sgd_certificate,
    )
)
