r"""The step size by trial on a few examples: one vmapped run for the whole grid.

``tune_step(problem, method, Constant(grid))`` gives the method with the rule whose objective on a
subset of the examples is lowest after ``passes`` passes. The best step depends little on n, and a
grid on a subset costs less than one pass over everything.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar); Bottou, "SGD tricks", 2012.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxopt_svm.core.lanes import one_pass
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["Tuned", "tune_step"]


class Tuned(NamedTuple):
    """method: with the best rule. index: its place in the grid. objective: (k,) P on the subset."""

    method: Any
    index: int
    objective: np.ndarray


@jax.jit
def _objectives(problem, method, rules, keys):
    def one(rule):
        mine = dataclasses.replace(method, rule=rule)
        state = mine.init(problem)
        for key in keys:
            state = one_pass(problem, mine, state, key, 0)
        return problem.primal(mine.point(problem, state).w)

    return jax.vmap(one)(rules)


def tune_step(
    problem: Structured,
    method: Any,
    rules: Any,
    *,
    examples: int = 300,
    passes: int = 1,
    key: Array | None = None,
) -> Tuned:
    """Try every rule of a grid on the same few examples, in one program.

    Args:
      method: with a field ``rule``, such as ``StructuredSGD`` or ``Adaptive``.
      rules: one rule whose numbers have a leading axis: ``Constant(np.geomspace(1e-3, 1, 8))``.
      examples: how many, drawn without replacement. passes: over them.
    """
    if not hasattr(method, "rule"):
        raise ValueError(f"method: expected one with a step rule; got {type(method).__name__}")
    rules = jax.tree.map(lambda a: jnp.asarray(a, problem.c.dtype), rules)
    sizes = {np.shape(a)[:1] for a in jax.tree.leaves(rules)}
    if len(sizes) != 1 or sizes == {()}:
        raise ValueError("rules: expected a rule whose numbers are arrays of one length, the grid")
    if examples < 1 or passes < 1:
        raise ValueError(f"examples and passes: expected at least 1; got {examples}, {passes}")
    key = jax.random.key(0) if key is None else key
    index = np.asarray(jax.random.permutation(key, problem.n)[: min(examples, problem.n)])
    part = jax.tree.map(lambda a: a[index], (problem.x, problem.y, problem.c))
    small = dataclasses.replace(problem, x=part[0], y=part[1], c=part[2] / jnp.sum(part[2]))
    keys = list(jax.random.split(key, passes))
    found = np.asarray(_objectives(small, method, rules, keys))
    if not np.isfinite(found).any():
        raise ValueError("rules: every step of the grid diverged; try smaller ones")
    best = int(np.nanargmin(np.where(np.isfinite(found), found, np.inf)))
    rule = jax.tree.map(lambda a: a[best], rules)
    return Tuned(dataclasses.replace(method, rule=rule), best, found)
