"""Executable theorems: one claim of the lectures per file, with a false variant that must fail.

``python -m proofs_checks`` prints them as a table.
"""

from proofs_checks import (
    accelerated_bounds,
    approx_bound,
    blocks_exact,
    conjugates,
    coordinate_views,
    dfsdca_lyapunov,
    dfsdca_nonconvex,
    dual_steps,
    eso,
    eso_general,
    finite_sum_unbiased,
    finito_bound,
    hydra_beta,
    minibatch_variance,
    miso_is_dfsdca,
    moreau,
    optimal_sampling,
    pegasos_bound,
    primal_certificate,
    quartz_is_sdca,
    quartz_numbers,
    quartz_one_step,
    rcdm_one_step,
    saga_lyapunov,
    sampling_draws,
    sdca_one_step,
    sdna_beats_pcdm,
    sgd_certificate,
    sgd_regimes,
    sgd_slope,
    shotgun_diverges,
    split_identity,
    subgradients,
    svrg_epochs,
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
        # coordinates of w
        rcdm_one_step,
        coordinate_views,
        shotgun_diverges,
        hydra_beta,
        approx_bound,
        # finite sums
        finite_sum_unbiased,
        saga_lyapunov,
        svrg_epochs,
        dfsdca_lyapunov,
        dfsdca_nonconvex,
        miso_is_dfsdca,
        finito_bound,
        # stochastic subgradients
        unbiased,
        minibatch_variance,
        pegasos_bound,
        sgd_regimes,
        sgd_certificate,
        sgd_slope,
    )
)
