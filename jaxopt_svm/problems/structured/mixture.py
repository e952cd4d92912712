"""A dual point as labels and their masses, for any model: exactly checkable, and small.

alpha_i = sum_k masses_ik [label_ik] is a distribution over labels as soon as masses_i is one, so a
certificate needs no more than clipping and normalising. A slot of mass 0 is empty.

Bytes a lane: n x slots x (T label bytes + 4 or 8). OCR (5,512 words, T = 14, int8 labels, float32)
with 64 slots: 6.3 MB. Marginals of nodes and edges, (n, T, K) + (n, T-1, K, K), are the other form
that can be checked: 202 MB. Edge tables summed over an example would be 23 MB, but their row and
column sums do not tell a distribution from an impostor (labels 0, 1, 0 with probability one and an
edge table I: the sums agree, no labelling has it), so no certificate can be built on them.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.solution import stored_form

__all__ = ["Mixture", "feasible"]


@stored_form
class Mixture(NamedTuple):
    """labels: (n, slots, ...) integers. masses: (n, slots), >= 0, each row sums to one."""

    labels: Any
    masses: Array


def feasible(mixture: Mixture) -> Mixture:
    """Masses clipped at 0 (nan too) and normalised; a row without mass goes to its first label."""
    masses = jnp.where(mixture.masses > 0, mixture.masses, 0)
    total = jnp.sum(masses, axis=-1, keepdims=True)
    first = jnp.zeros_like(masses).at[..., 0].set(1)
    return Mixture(
        mixture.labels, jnp.where(total > 0, masses / jnp.where(total > 0, total, 1), first)
    )
