"""What runs when the user names no method: a table of rules, the first that applies.

First-order passes are cheap and enough where lam is large; what is left after some of them has a
small lam, where second-order iterations do not mind, and lanes between others need few of them
(core/rounds.py). The measurements behind the numbers: experiments/bench_auto.py.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxopt_svm.core.registry import plan
from jaxopt_svm.core.relay import Relay
from jaxopt_svm.methods.dual.disdca import DisDCA
from jaxopt_svm.methods.dual.sdca import SDCA
from jaxopt_svm.methods.second_order.alm_newton import ALMNewton
from jaxopt_svm.methods.second_order.newton import Newton
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.losses import Hinge
from jaxopt_svm.problems.rows import NARROW, Dense, Padded, make_dense
from jaxopt_svm.problems.split import Split, are_dense
from jaxopt_svm.problems.tiles import Tiles, evenly_tiled
from jaxopt_svm.streaming.problem import Streamed
from jaxopt_svm.wrappers.shortlist import Shortlist
from jaxopt_svm.wrappers.shrinking import Shrinking

__all__ = ["RULES", "Rule", "densified", "rule_for"]

FEW, MANY = 256, 4096  # features: an iteration of Newton is cheap, or affordable
LOCAL = 512  # examples of a node between two exchanges: few exchanges, hardly more passes
TILED = 8  # lanes of a pass over tiles: a vector register; 12 or 16 of them take longer each
OPENING = 4  # passes of SDCA for all lanes together
APART = 4.0  # between lanes that are solved first, in lam
CELLS = 100_000_000  # narrow sparse rows are made dense, up to this size


class Rule(NamedTuple):
    """when: in words. applies: the same as a test. method: what to run."""

    when: str
    applies: Callable[[ERM], bool]
    method: Callable[[ERM], Any]


def _newton(problem: ERM) -> Any:
    return Newton() if problem.loss.smooth else ALMNewton()


def _on_nodes(problem: ERM) -> Any:
    first = DisDCA(local=LOCAL)
    if not problem.regularizer.linear or problem.loss.vector:
        return first
    if problem.regularizer.free:
        return _newton(problem)
    return Relay((first, _newton(problem)), (5 if problem.d <= FEW else 20,))


RULES = (
    Rule(
        "rows divided over nodes: DisDCA, then Newton, where it applies (alone if the intercept is "
        "free): what nodes exchange does not grow with n",
        lambda p: isinstance(p.rows, Split),
        _on_nodes,
    ),
    Rule(
        "elastic net or several outputs: SDCA",
        lambda p: not p.regularizer.linear or p.loss.vector,
        lambda p: SDCA(),
    ),
    Rule(
        "a free intercept: Newton from far to near, which has no coordinates to move",
        lambda p: p.regularizer.free,
        lambda p: Relay((_newton(p), _newton(p)), (1,), apart=APART),
    ),
    Rule(
        f"dense, at most {MANY} features: {OPENING} passes of SDCA, then Newton from far to near",
        lambda p: isinstance(p.rows, Dense) and p.d <= MANY,
        lambda p: Relay((SDCA(), _newton(p)), (OPENING,), apart=APART),
    ),
    Rule(
        "the hinge on sparse rows of like lengths: SDCA by tiles, with a short list",
        lambda p: isinstance(p.rows, Padded) and evenly_tiled(p.rows) and isinstance(p.loss, Hinge),
        lambda p: Relay((Shortlist(),), (), lanes=TILED),
    ),
    Rule(
        "other losses on sparse rows of like lengths: SDCA by tiles",
        lambda p: isinstance(p.rows, Padded) and evenly_tiled(p.rows),
        lambda p: Relay((SDCA(Tiles()),), (), lanes=TILED),
    ),
    Rule(
        "the hinge on other sparse or very wide rows: 8 passes of SDCA, then with shrinking",
        lambda p: isinstance(p.loss, Hinge),
        lambda p: Relay((SDCA(), Shrinking(SDCA(), share=3, rounds=6)), (8,)),
    ),
    Rule("anything else: SDCA", lambda p: True, lambda p: SDCA()),
)


def densified(problem: ERM) -> ERM:
    """The same problem with dense rows, where sparse ones do not pay: few features."""
    rows = problem.rows
    if are_dense(rows) or problem.d > NARROW or problem.n * problem.d > CELLS:
        return problem
    dense = rows.dense() if isinstance(rows, Split) else make_dense(rows.toarray())
    return dataclasses.replace(problem, rows=dense)


def rule_for(problem: ERM) -> Rule:
    return next(rule for rule in RULES if rule.applies(problem))


@plan
def choose_for_streamed(problem: Any) -> tuple[Any, Any] | None:
    """Rows on disk: exact coordinate steps make the most of a row that has been read."""
    return (problem, SDCA()) if isinstance(problem, Streamed) else None


@plan
def choose_for_erm(problem: Any) -> tuple[Any, Any] | None:
    """(the problem as it will be solved, the method), or None for other kinds of problem."""
    if not isinstance(problem, ERM):
        return None
    several = not problem.regularizer.linear or problem.loss.vector
    if several and problem.regularizer.free:
        return None  # no rule has both; the registry falls back on subgradients
    problem = densified(problem)
    return problem, rule_for(problem).method(problem)
