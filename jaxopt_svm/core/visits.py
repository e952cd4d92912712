"""What every method made of visits shares: how a pass is drawn, and how a step runs its visits."""

from typing import Any

import jax
from jax import Array

from jaxopt_svm.core.blocks import At, Example, parallel_step, serial_step
from jaxopt_svm.core.protocols import Sample, Spent

__all__ = ["BLOCK", "Visits"]

BLOCK = 32  # visits a step for dense rows; speed only, the iterates do not depend on it
SPARSE = 8  # sparse rows take blocks this many times longer: only their tables profit


class Visits:
    """A method that defines ``visit`` and has fields ``sampling`` and ``block``."""

    sampling: Any
    block: int
    scales = True  # False: visits only ever add rows to vectors
    kernels = "small"  # see core/programs.py

    def prepare(self, problem) -> Any:
        """What the sampling wants: tiles."""
        own = getattr(self.sampling, "prepare", None)
        return problem if own is None else own(problem)

    def visit(self, problem, example: Example, at: At) -> At:
        raise TypeError(f"{type(self).__name__} must define visit")

    def linear(self, problem) -> bool:
        """Whether visits only scale and add vectors (static)."""
        del problem
        return True

    def refresh(self, problem, state: At) -> At:
        """Called before each block: recompute what would drift."""
        del problem
        return state

    def block_size(self, problem) -> int:
        """Visits a step: longer blocks for sparse rows, where only the tables profit."""
        return self.block if problem.rows.spans or self.block == 1 else SPARSE * self.block

    def set_size(self) -> int:
        """m: how many examples a step of the algorithm looks at together."""
        return 1 if self.sampling.serial else self.sampling.tau

    def updates(self, problem) -> float:
        """Steps of the algorithm a pass: visits, or sets."""
        if self.sampling.serial:
            return float(problem.n)
        sets = jax.eval_shape(self.draw, problem, jax.random.key(0)).index
        return float(sets.shape[0])

    def spent(self, problem) -> Spent:
        """A pass touches every row once."""
        return Spent(work=1.0, oracle_calls=0.0, updates=self.updates(problem))

    def draw(self, problem, key: Array) -> Sample:
        return self.sampling.draw(problem, key, self.block_size(problem))

    def facts(self, problem) -> dict[str, Any]:
        """What ``core.blocks`` has to know of the visits of a step."""
        tiled = getattr(self.sampling, "tiles", False)
        facts = {"unique": self.sampling.unique, "linear": self.linear(problem)}
        return facts | {"scales": self.scales, "tiled": tiled}

    def block_step(self, visit, problem, state: At, sample: Sample, *, scales: bool) -> At:
        """``visit`` over one sample, in the order the sampling asks for."""
        if self.sampling.serial:
            facts = self.facts(problem) | {"scales": scales}
            return serial_step(visit, problem, state, sample, **facts)
        through = None if self.linear(problem) else problem.regularizer.link
        return parallel_step(visit, problem, state, sample, through=through)

    def step(self, problem, state: At, sample: Sample) -> At:
        state = self.refresh(problem, state)
        return self.block_step(self.visit, problem, state, sample, scales=self.scales)
