"""The coordinate family: columns, views, special cases that coincide, nodes, restarts."""

import os
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import jaxopt_svm as js
from jaxopt_svm.core.protocols import Sample
from jaxopt_svm.problems.rows import transposed
from jaxopt_svm.problems.split import split_rows
from tests import toy

SMOOTH = js.SmoothHinge(0.5)
SCRIPT = pathlib.Path(__file__).parent / "hydra_on_a_mesh.py"


def sparse64(loss, **options) -> js.ERM:
    X, y = toy.matrix()
    options = {"lam": toy.LAM, "weights": toy.weights(), **options}
    return js.make_erm(sp.csr_matrix(X), toy.targets(y, loss), loss=loss, **options)


pytestmark = pytest.mark.usefixtures("quick_compilation")


BOTH = pytest.mark.parametrize("make", [toy.dense64, sparse64], ids=["dense", "sparse"])


# --- columns ---------------------------------------------------------------------------------


@BOTH
def test_columns_are_the_transposed_weighted_matrix(make):
    problem = js.with_columns(make(SMOOTH))
    X, root = toy.matrix()[0], np.sqrt(np.asarray(problem.c))
    rows = problem.columns.rows
    np.testing.assert_allclose(rows.toarray(), (X * root[:, None]).T, atol=1e-15)
    np.testing.assert_allclose(rows.sqnorms, ((X * root[:, None]) ** 2).sum(0), rtol=1e-13)
    assert type(rows) is type(problem.rows)


def test_columns_of_a_matrix_with_nothing_in_it():
    rows = js.make_erm(sp.csr_matrix((4, 3)), [0, 1, 0, 1], loss=SMOOTH).rows
    assert transposed(rows, np.ones(4)).shape == (3, 4)
    one = js.solve(js.make_erm(sp.csr_matrix((4, 3)), [0, 1, 0, 1], loss=SMOOTH), js.rcdm())
    assert one.status in ("converged", "precision_floor")
    np.testing.assert_array_equal(one.w, 0.0)


@BOTH
@pytest.mark.parametrize("nodes", [1, 2, 4, 5, 9])
def test_split_rows_are_the_same_rows(make, nodes):
    rows = js.with_columns(make(SMOOTH)).columns.rows
    split, d = split_rows(rows, nodes), rows.shape[0]
    padded = np.pad(np.asarray(rows.toarray()), ((0, split.shape[0] - d), (0, 0)))
    np.testing.assert_array_equal(split.toarray(), padded)
    np.testing.assert_array_equal(split.column_counts(), rows.column_counts())
    w = jnp.linspace(1.0, 2.0, rows.shape[1])
    np.testing.assert_allclose(split.weighted_sqnorms(w)[:d], rows.weighted_sqnorms(w), rtol=1e-14)
    x = jnp.linspace(-1.0, 1.0, split.shape[0])
    np.testing.assert_allclose(split.rmatvec(x), rows.rmatvec(x[:d]), atol=1e-14)
    each = -(-d // nodes)
    touched = (padded.reshape(nodes, each, -1) != 0).any(1).sum(0)
    np.testing.assert_array_equal(split.groups_touched(None, nodes), touched)


def test_pure_runs_ask_for_columns_in_words():
    problem, method = toy.dense64(SMOOTH), js.rcdm()
    with pytest.raises(ValueError, match=r"has no columns.*js.prepare\(problem, method\)"):
        js.run(problem, method, passes=1)
    js.run(js.prepare(problem, method), method, passes=1)
    assert js.prepare(problem, js.SDCA()) is problem
    ready = js.prepare(problem, method)
    assert js.prepare(ready, js.pcdm(2)) is ready
    with pytest.raises(ValueError, match="has no columns"):
        js.run(ready, js.hydra(), passes=1)


def test_wrappers_prepare_for_the_method_inside():
    problem = toy.dense64(SMOOTH)
    for method in (js.Averaged(js.pcdm(3)), js.Certified(js.rcdm()), js.Restarted(js.pcdm(3), 5)):
        assert js.prepare(problem, method).columns is not None
        assert js.solve(problem, method, rtol=1e-2, max_passes=200).status == "converged"


# --- what a step is -----------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("loss", [SMOOTH, js.Logistic(), js.Squared(0.7), js.SquaredHinge()])
def test_a_visit_is_the_textbook_step(make, loss):
    """w_j - (grad_j P)/Lc_j with Lc_j = lam + sum_i c_i x_ij^2/gamma."""
    method = js.CoordinateDescent(js.Uniform(), block=1)
    problem = js.prepare(make(loss), method)
    w = jnp.linspace(-1.0, 2.0, toy.D)
    state = method.init(problem, js.Point(w))
    X = toy.matrix()[0]
    for j in range(toy.D):
        new = method.step(problem, state, Sample(jnp.array([j], jnp.int32)))
        Lc = toy.LAM + float(np.asarray(problem.c) @ X[:, j] ** 2) / loss.gamma
        wanted = w.at[j].add(-problem.grad(w)[j] / Lc)
        np.testing.assert_allclose(new.tables[0], wanted, rtol=1e-11)
        view = method.on.of(problem)
        np.testing.assert_allclose(new.vectors[0], view.image(new.tables[0]), atol=1e-13)


@pytest.mark.parametrize("loss", [js.Softmax(), js.MultiSquared()])
def test_several_outputs(loss):
    X, _ = toy.matrix()
    y = np.arange(toy.N) % 3
    y = np.eye(3)[y] if loss.regression else y
    for form, method in ((X, js.rcdm()), (X, js.hydra2(2)), (sp.csr_matrix(X), js.approx(3))):
        problem = js.make_erm(form, y, loss=loss, lam=toy.LAM)
        one = js.solve(problem, method, rtol=0.0, atol=1e-6, max_passes=300)
        assert one.status == "converged", (method, one)


def test_hydra_on_one_node_is_pcdm_and_more_nodes_only_another_sampling():
    problem = toy.dense64(js.Logistic(), regularizer=js.ElasticNet(0.1))
    for nodes, tau in ((1, 3), (3, 1)):
        mine = js.hydra(nodes, tau)
        theirs = js.CoordinateDescent(js.Distributed(nodes, tau))
        a, b = (js.solve(problem, m, rtol=0.0, max_passes=4) for m in (mine, theirs))
        np.testing.assert_allclose(a.w, b.w, rtol=1e-11, atol=1e-14)
        if nodes == 1:
            view = mine.on.of(js.prepare(problem, mine))
            whole = theirs.on.of(js.prepare(problem, theirs))
            np.testing.assert_allclose(
                mine.sampling.constants(view)[1], js.Nice(tau).constants(whole)[1], rtol=1e-12
            )


def test_powers_of_lc():
    problem = js.with_columns(toy.dense64(SMOOTH))
    view = js.Features().of(problem)
    Lc = np.asarray(problem.lam + view.rows.sqnorms / SMOOTH.mu)
    for a in (0.0, 0.5, 1.0):
        p = js.Powers(a).constants(view)[0]
        np.testing.assert_allclose(p, Lc**a / (Lc**a).sum(), rtol=1e-13)
    np.testing.assert_allclose(
        js.Powers(1.0).constants(problem)[0], js.Optimal().constants(problem)[0], rtol=1e-13
    )


def test_shotgun_that_diverges_says_so():
    X = np.repeat(np.random.default_rng(0).normal(size=(30, 1)), 8, axis=1)
    problem = js.make_erm(X, X[:, 0] + 0.3, loss=js.Squared(), lam=1e-3)
    assert js.solve(problem, js.shotgun(8), rtol=1e-6).status == "diverged"
    assert js.solve(problem, js.pcdm(8), rtol=1e-6).status == "converged"


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rcdm", "pcdm", "shotgun", "alpha", "approx", "hydra", "hydra2"])
def test_features_need_a_smooth_loss(name):
    with pytest.raises(ValueError, match=r"needs a smooth loss.*use SmoothHinge\(mu\)"):
        js.solve(toy.dense64(js.Hinge()), name)


@pytest.mark.parametrize(
    "method, message",
    [
        (js.pcdm(7), "tau must lie between 1 and n = 6"),
        (js.hydra(0, 1), "nodes must be at least 1"),
        (js.hydra(4, 3), "tau must lie between 1 and n/nodes = 2"),
        (js.CoordinateDescent(js.Nice(2), js.FeaturesOnNodes(2)), r"need Distributed\(2"),
        (js.hydra(2, 1, mesh=jax.make_mesh((1, 1), ("a", "b"))), "expected a mesh of one axis"),
        (js.Restarted(js.pcdm(2)), "say every how many passes"),
        (js.Restarted(js.pcdm(2), every=0), "every must be at least 1"),
    ],
)
def test_bad_parameters(method, message):
    with pytest.raises(ValueError, match=message):
        js.solve(toy.dense64(SMOOTH), method)


def test_other_refusals():
    with pytest.raises(ValueError, match='cannot fit intercept="free"'):
        js.solve(toy.dense64(SMOOTH, intercept="free"), "rcdm")
    with pytest.raises(ValueError, match="HydraBeta needs dense columns"):
        js.solve(sparse64(SMOOTH), js.hydra(2, 1, beta=True))
    with pytest.raises(ValueError, match="no theory says when"):
        js.solve(toy.dense64(js.Hinge()), js.alpha(on=js.Examples()))
    js.solve(toy.dense64(js.Hinge()), js.CoordinateDescent(on=js.Examples()), max_passes=3)


# --- acceleration and restarts --------------------------------------------------------------------


def test_acceleration_pays_where_lam_is_small():
    """A chain, where news from one end need many steps to the other."""
    d = 40
    X = np.eye(d + 1, d) - np.eye(d + 1, d, k=-1)
    problem = js.make_erm(X, np.eye(d + 1)[0], loss=js.Squared(), lam=1e-4 / d)
    fast = js.solve(problem, js.alpha(), rtol=1e-4, max_passes=4000)
    plain = js.solve(problem, js.rcdm(), rtol=1e-4, max_passes=4000)
    assert fast.status == plain.status == "converged"
    assert 2 * fast.passes < plain.passes


def test_a_restart_is_a_fresh_start_from_the_same_point():
    method = js.Alpha(js.Nice(3))
    problem = js.prepare(toy.dense64(SMOOTH), method)
    state, _ = js.run(problem, method, passes=3)
    again = method.restart(problem, state)
    anew = method.init(problem, method.point(problem, state))
    for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(anew)):
        np.testing.assert_allclose(a, b, atol=1e-13)


def test_restarts_come_when_they_should():
    inner = js.Alpha(js.Nice(3))
    problem = js.prepare(toy.dense64(SMOOTH), inner)
    key = jax.random.key(0)
    method = js.Restarted(inner, every=2)
    state = js.run(problem, method, passes=5, key=key)[0]
    assert int(state.passes) == 1 and int(state.every) == 2
    by_hand = inner.init(problem)
    for r in range(5):
        for index in inner.draw(problem, jax.random.fold_in(key, r)).index:
            by_hand = inner.step(problem, by_hand, Sample(index))
        by_hand = inner.restart(problem, by_hand) if r in (1, 3) else by_hand
    np.testing.assert_allclose(
        method.point(problem, state).w, inner.point(problem, by_hand).w, atol=1e-13
    )


def test_every_lane_restarts_at_its_own_time():
    method = js.approx(3)
    problem = js.prepare(toy.dense64(SMOOTH), method)
    states = jax.vmap(lambda lam: method.init(problem.with_lam(lam)))(jnp.array([1e-3, 1.0]))
    assert int(states.every[0]) > int(states.every[1])


# --- nodes on devices -----------------------------------------------------------------------------


def test_nodes_on_four_devices():
    """The same numbers as on one, and columns never leave their device."""
    flags = "--xla_force_host_platform_device_count=4"
    env = {**os.environ, "XLA_FLAGS": flags, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    env["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
    folder = SCRIPT.parent.parent
    env["PYTHONPATH"] = str(folder)  # the package beside the script, whatever is installed
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], env=env, cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
