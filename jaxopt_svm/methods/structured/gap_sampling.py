"""Examples drawn in proportion to what they are known to lack: their gaps when last visited."""

import jax
import jax.numpy as jnp
from jax import Array

from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.core.sampling import cut

__all__ = ["GapProportional"]


@pytree
class GapProportional:
    """p_i proportional to c_i (G_i + share of the mean gap), G_i as of the last visit.

    The share keeps examples in play whose gap was 0 when last seen and has grown since. p is
    computed once a pass, O(n); it depends on the state, so under a sweep every lane draws its own.
    Osokin et al., ICML 2016, arXiv:1605.09346.
    """

    share: float = 0.1

    serial = True
    unique = False

    def check(self, problem) -> None:
        del problem
        if not self.share > 0:
            raise ValueError(f"GapProportional: share must be positive; got {self.share}")

    def draw(self, problem, key: Array, size: int) -> Sample:
        """Numbers in [0, 1), to be aimed."""
        index, mask = cut(jnp.arange(problem.n, dtype=jnp.int32), size, problem.n)
        return Sample(jax.random.uniform(key, index.shape, problem.c.dtype), mask)

    def aim(self, problem, gaps, sample: Sample) -> Sample:
        p = problem.c * (gaps + self.share * jnp.mean(gaps) + jnp.finfo(gaps.dtype).tiny)
        edges = jnp.cumsum(p)
        index = jnp.searchsorted(edges / edges[-1], sample.index, side="right")
        index = jnp.minimum(index, problem.n - 1).astype(jnp.int32)
        real = True if sample.mask is None else sample.mask
        return Sample(jnp.where(real, index, problem.n), sample.mask)
