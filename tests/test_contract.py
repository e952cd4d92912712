"""What every method must satisfy, whatever it is. A new method adds one line to toy.table.

Each row is run once on each fixture, and all laws read that one run: a compiled program for one
lam and one for a grid.
"""

import functools
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import jaxopt_svm as js
from jaxopt_svm.core import lanes, programs
from jaxopt_svm.core.loop import NEAR_FLOOR
from tests import toy

pytestmark = pytest.mark.usefixtures("quick_compilation")

TABLE = {case.id: case for case in toy.table()}
ERM = {name: case for name, case in TABLE.items() if case.loss is not None}
LAMS = (0.05, 0.1, 0.3)
PASSES = 3


class Evidence(NamedTuple):
    """One full run, one stopped early, a grid and the same grid one by one."""

    case: toy.Case
    problem: Any
    full: js.Solution
    stopped: js.Solution
    target: float
    grid: js.Solution
    loop: list[js.Solution]
    programs: int


def programs_compiled() -> int:
    compiled: Any = (programs._by_default, programs._small_kernels, programs._plain_kernels)
    return sum(program._cache_size() for program in compiled)


@functools.cache
def evidence(name: str, fixture: str) -> Evidence:
    case = TABLE[name]
    problem = case.problem(fixture)
    method = case.method
    full = js.solve(problem, method, rtol=0.0, max_passes=case.passes)
    before = programs_compiled()
    # a target the run passes somewhere on its way
    gaps = np.minimum.accumulate(full.trace.gap)
    target = float(gaps[len(gaps) // 2]) * 1.001
    stopped = js.solve(problem, method, rtol=0.0, atol=target, max_passes=case.passes)
    loop = [js.solve(problem.with_lam(lam), method, rtol=0.0, max_passes=PASSES) for lam in LAMS]
    count = programs_compiled() - before
    grid = js.sweep(problem, LAMS, method, rtol=0.0, max_passes=PASSES)
    return Evidence(case, problem, full, stopped, target, grid, loop, count)


def runs() -> list:
    """Every row on both fixtures; the float32 one of a mere variant is left to make test-all."""

    def one(name: str, fixture: str):
        variant = not TABLE[name].names and fixture == "padded32"
        return pytest.param(name, fixture, marks=[pytest.mark.full] if variant else [])

    return [one(name, fixture) for name in TABLE for fixture in toy.FIXTURES]


@pytest.mark.parametrize("name, fixture", runs())
def test_the_laws(name, fixture):
    """All laws on one run; each is a function below that says what it asserts."""
    e = evidence(name, fixture)
    weak_duality_holds_everywhere(e)
    the_gap_closes_as_far_as_promised(e, fixture)
    the_solution_is_what_the_problem_certifies(e)
    it_stops_on_the_certificate(e)
    a_sweep_equals_a_loop(e)
    one_trace_serves_many_values(e)
    the_same_key_gives_the_same_bits(e)
    the_state_keeps_its_type(e)


def weak_duality_holds_everywhere(e: Evidence) -> None:
    for trace in (e.full.trace, *(one.trace for one in e.loop)):
        assert np.all(trace.gap >= -trace.floor)
        assert np.all(trace.primal >= np.max(trace.dual) - np.max(trace.floor))
        assert np.all(np.diff(trace.dual) >= 0), "the dual of a trace is the best so far"


def the_gap_closes_as_far_as_promised(e: Evidence, fixture: str) -> None:
    gap = float(e.full.certificate.gap)
    floor = float(e.full.certificate.floor)
    assert gap <= max(e.case.gap, 10 * floor)
    if e.case.linear:
        assert e.case.gap <= 1e-6
    bound = e.case.method.bound(e.problem, e.full.trace.updates[-1])
    if bound is None:
        return
    # the bound is on the gap, on P - P* or on D* - D; a good dual value stands for P*
    reached = {
        "gap": lambda: gap,
        "primal": lambda: e.full.trace.primal[-1] - _best_dual(e),
        "dual": lambda: _best_dual(e) - e.full.trace.dual[-1],
    }[e.case.method.bound_on]()
    assert reached <= float(bound) + 10 * floor


def _best_dual(e: Evidence) -> float:
    """A lower bound of P* that is as good as a strong method makes it."""
    return float(js.solve(e.problem, e.case.referee, rtol=1e-12, max_passes=500).certificate.dual)


def the_solution_is_what_the_problem_certifies(e: Evidence) -> None:
    again = e.problem.certificate(e.full.point)
    for mine, theirs in zip(again, e.full.certificate):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=float(again.floor))
    assert float(e.full.certificate.gap) <= np.min(e.full.trace.gap) + 2 * float(again.floor)


def it_stops_on_the_certificate(e: Evidence) -> None:
    gaps = e.stopped.trace.gap
    assert e.stopped.status in ("converged", "precision_floor")
    assert np.all(gaps[:-1] > e.target)
    assert gaps[-1] <= max(e.target, e.stopped.trace.floor[-1] * NEAR_FLOOR)


def a_sweep_equals_a_loop(e: Evidence) -> None:
    """To 1e-10 in float64; lanes see the same examples, whatever their number."""
    exact = e.problem.c.dtype == np.float64
    rtol = 1e-10 if exact else 2e-3
    for k, one in enumerate(e.loop):
        if e.case.picks:
            ours = jax.tree.map(lambda x, k=k: x[k], e.grid.certificate)
            floor = float(ours.floor + one.certificate.floor)
            assert ours.dual <= one.certificate.primal + floor, "both intervals hold P*"
            assert one.certificate.dual <= ours.primal + floor
            continue
        np.testing.assert_allclose(e.grid.trace.primal[k], one.trace.primal, rtol=rtol)
        np.testing.assert_allclose(e.grid.trace.dual[k], one.trace.dual, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(e.grid.w[k], one.w, rtol=rtol, atol=rtol)


def one_trace_serves_many_values(e: Evidence) -> None:
    assert e.programs == 0, "another lam or tolerance compiled another program"


def the_same_key_gives_the_same_bits(e: Evidence) -> None:
    again = js.sweep(e.problem, LAMS, e.case.method, rtol=0.0, max_passes=PASSES)
    np.testing.assert_array_equal(again.w, e.grid.w)
    np.testing.assert_array_equal(again.trace.gap, e.grid.trace.gap)


def the_state_keeps_its_type(e: Evidence) -> None:
    method, problem = e.case.method, js.prepare(e.problem, e.case.method)
    before = jax.eval_shape(method.init, problem)
    samples = jax.eval_shape(lanes.samples, problem, method, before, jax.random.key(0), 0)
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), samples)
    after = jax.eval_shape(method.step, problem, before, one)
    chex.assert_trees_all_equal_shapes_and_dtypes(before, after)
    floats = [x.dtype for x in jax.tree.leaves(after) if jnp.issubdtype(x.dtype, jnp.floating)]
    assert set(floats) <= {problem.c.dtype}, "a step must not leave the problem's precision"


# msdca takes an exact eigenvalue for dense rows and a bound of it for sparse ones; Newton factors a
# matrix of dense rows and takes conjugate gradients on sparse ones
OTHER_STEPS = ("msdca", "alm-newton", "newton", "newton-logistic")
SAME_STEPS = [n for n, c in ERM.items() if c.linear and not c.options and n not in OTHER_STEPS]


@pytest.mark.parametrize("name", SAME_STEPS)
def test_sparse_equals_dense(name):
    """The same steps on the same numbers, stored in two ways."""
    case = TABLE[name]
    X, y = toy.matrix()
    y = toy.targets(y, case.loss)
    dense = js.make_erm(X, y, loss=case.loss, lam=toy.LAM, weights=toy.weights())
    sparse = js.make_erm(sp.csr_matrix(X), y, loss=case.loss, lam=toy.LAM, weights=toy.weights())
    a, b = (js.solve(p, case.method, rtol=0.0, max_passes=PASSES) for p in (dense, sparse))
    np.testing.assert_allclose(a.w, b.w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(a.certificate.gap, b.certificate.gap, rtol=1e-7, atol=1e-12)


def test_every_registered_name_is_in_the_table():
    covered = {name for case in toy.table() for name in case.names}
    assert covered == set(js.list_methods()), "add a line to tests/toy.py"


@pytest.mark.full
@pytest.mark.parametrize("loss", toy.LOSSES)
@pytest.mark.parametrize("name", ERM)
def test_every_method_with_every_loss(name, loss):
    """The cross product: whatever a method does not refuse, it must do without breaking a law."""
    case = TABLE[name]
    problem = toy.dense64(toy.LOSSES[loss], **case.options)
    one = js.solve(problem, case.method, rtol=0.0, max_passes=40)
    assert one.status in ("max_passes", "precision_floor")
    assert np.all(one.trace.gap >= -one.trace.floor)
    grid = js.sweep(problem, LAMS, case.method, rtol=0.0, max_passes=PASSES)
    assert np.all(grid.trace.gap >= -grid.trace.floor)
