"""Run by test_mesh.py in a process with four devices: laws of problems laid over a mesh."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jax.sharding import NamedSharding, PartitionSpec

import jaxopt_svm as js
from jaxopt_svm.core import lanes, programs

N, D = 91, 7  # 91 rows do not divide by 4 nodes
LAMS = [0.3, 0.1, 0.03]  # nor three lanes by 2 devices
HINGE, SMOOTH, LOGISTIC = js.Hinge(), js.SmoothHinge(0.5), js.Logistic()
COLLECTIVE = (
    r"= (.*?) (all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)[-a-z]*\("
)
TABLE = {
    "disdca": (js.DisDCA(local=13, block=4), HINGE, "both", True),
    "disdca-basic": (js.DisDCA(local=3, practical=False), SMOOTH, "rows", False),
    "alm_newton": (js.ALMNewton(), HINGE, "both", False),
    "newton": (js.Newton(), SMOOTH, "rows", True),
    "interior_point": (js.InteriorPointLowRank(), HINGE, "both", False),
    "lbfgs": (js.LBFGS(), LOGISTIC, "rows", True),
    "huber_agd": (js.huber_agd(), HINGE, "both", True),
    "subgradient": (js.Subgradient(), HINGE, "rows", False),
    "sdca": (js.SDCA(), HINGE, "lanes", False),
}


def data(n: int = N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.6)
    return X, np.where(X @ rng.normal(size=D) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def make(mesh, loss, sparse=False, n=N, **options) -> js.ERM:
    X, y = data(n)
    return js.make_erm(sp.csr_matrix(X) if sparse else X, y, loss=loss, mesh=mesh, **options)


def same_numbers(meshes) -> None:
    """Every method, on a mesh and on one device: the same trace, lanes alone or together."""
    for name, (method, loss, axes, sparse) in TABLE.items():
        nodes = 4 if name.startswith("disdca") else None
        given = make(meshes[axes], loss, sparse, nodes=nodes)
        one = js.sweep(make(None, loss, sparse, nodes=nodes), LAMS, method, rtol=0.0, max_passes=3)
        many = js.sweep(given, LAMS, method, rtol=0.0, max_passes=3)
        for field in ("primal", "dual", "gap"):
            mine, theirs = getattr(many.trace, field), getattr(one.trace, field)
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11, err_msg=name)
        np.testing.assert_allclose(many.w, one.w, rtol=1e-9, atol=1e-11, err_msg=name)
        assert np.all(many.trace.gap >= -many.trace.floor), name
        if name == "newton":
            alone = js.solve(given.with_lam(LAMS[1]), method, rtol=0.0, max_passes=3)
            np.testing.assert_allclose(alone.w, many.w[1], rtol=1e-9, atol=1e-11, err_msg=name)


def collectives(problem, method) -> list[tuple[str, str]]:
    """(kind, shapes) of everything devices exchange in passes and certificates."""
    state, best, _ = programs.begin(problem, method, None)
    parts = programs.lowered(problem, method, state, best)
    text = "\n".join(part.compile().as_text() or "" for part in parts)
    return [(kind, shapes) for shapes, kind in re.findall(COLLECTIVE, text)]


def what_is_exchanged(meshes) -> None:
    """Rows: sums of d and d^2 numbers, whatever n is. Lanes: nothing."""
    for name, sparse in (("disdca", True), ("alm_newton", False)):
        method, loss, *_ = TABLE[name]
        found = []
        for n in (400, 1600):
            given = make(meshes["rows"], loss, sparse, n)
            X = jax.tree.leaves(given.rows.parts)[0]
            assert {s.data.shape[0] for s in X.addressable_shards} == {1}, "a node's own rows"
            found.append(collectives(given, method))
            assert found[-1] and {kind for kind, _ in found[-1]} == {"all-reduce"}, (name, found)
            wide = [int(x) for _, shapes in found[-1] for x in re.findall(r"\d+", shapes)]
            assert max(wide) < n // 4, (name, found[-1])
        assert found[0] == found[1], (name, found)
        grid = make(meshes["lanes"], loss).with_lam(np.geomspace(0.01, 1.0, 8))
        assert collectives(lanes.placed(grid, np.arange(8)), method) == [], name


def drivers(meshes) -> None:
    """The method that is chosen, a path, folds; classes; an X that is on the devices already."""
    both, (X, y) = meshes["both"], data()
    given, plain = make(both, HINGE), make(None, HINGE)
    grid = js.sweep(given, LAMS, rtol=1e-6)
    assert set(grid.status) == {"converged"} and grid.method[-1] == "disdca > alm_newton"
    np.testing.assert_allclose(js.recertify(given, grid).gap, grid.certificate.gap, atol=1e-12)
    assert js.lam_max(given) == js.lam_max(plain)
    # the same few steps of a cheap method, on the mesh and on one device
    few = {"rtol": 0.0, "max_passes": 3}
    plainest = js.Subgradient()
    down = [js.path(p, LAMS[:2], plainest, **few).certificate.primal for p in (given, plain)]
    np.testing.assert_allclose(*down, rtol=1e-10)
    folds = [js.cross_validate(p, LAMS, 3, method=plainest, **few) for p in (given, plain)]
    np.testing.assert_array_equal(folds[0].errors, folds[1].errors)
    np.testing.assert_allclose(folds[0].losses, folds[1].losses, rtol=1e-9)
    classes = np.digitize(X[:, 0], [-0.3, 0.3])
    several = [js.make_one_vs_rest(X, classes, mesh=m) for m in (both, None)]
    a, b = (js.solve(p, plainest, **few) for p in several)
    np.testing.assert_allclose(a.certificate.primal, b.certificate.primal, rtol=1e-10)
    placed = jax.device_put(X[:88], NamedSharding(both, PartitionSpec("rows")))
    a, b = (
        js.solve(js.make_erm(x, y[:88], intercept="free"), plainest, **few)
        for x in (placed, X[:88])
    )
    np.testing.assert_allclose(a.certificate.primal, b.certificate.primal, rtol=1e-10)


def structures(meshes) -> None:
    """Decodings of a device's own sequences: Frank-Wolfe step by step, BMRM by its certificate;
    batches of SGD shared out."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(T, 4)) for T in rng.integers(2, 6, 37)]
    y = [(x[:, 0] + np.r_[0, x[:-1, 1]] > 0).astype(int) for x in X]
    given, plain = (js.make_chain(X, y, mesh=m) for m in (meshes["both"], None))
    a, b = (js.sweep(p, LAMS, js.FrankWolfe(), rtol=0.0, max_passes=3) for p in (given, plain))
    np.testing.assert_allclose(a.trace.gap, b.trace.gap, rtol=1e-9)
    a, b = (js.sweep(p, LAMS, js.BMRM(), rtol=0.0, max_passes=3) for p in (given, plain))
    assert np.all(a.certificate.dual <= b.certificate.primal), "both intervals hold P*"
    assert np.all(b.certificate.dual <= a.certificate.primal)
    given, plain = (js.make_chain(X[:36], y[:36], mesh=m) for m in (meshes["both"], None))
    batches = js.StructuredSGD(batch=4)  # with fillers among the examples they would be others
    a, b = (js.sweep(p, LAMS, batches, rtol=0.0, max_passes=3) for p in (given, plain))
    np.testing.assert_allclose(a.trace.gap, b.trace.gap, rtol=1e-9)
    found = collectives(js.make_chain(X, y, mesh=meshes["rows"]), js.FrankWolfe())
    assert {kind for kind, _ in found} == {"all-reduce"}, found
    assert not re.search(r"\b(40|10)\b", str(found)), "nothing with an entry an example"


def refusals(meshes) -> None:
    X, y = data()
    rows = meshes["rows"]
    wrong = {
        "expected a jax mesh": lambda: js.make_erm(X, y, mesh=4),  # pyright: ignore
        "got 'data'": lambda: js.make_erm(X, y, mesh=jax.make_mesh((4,), ("data",))),
        "a multiple of the 4 devices": lambda: js.make_erm(X, y, mesh=rows, nodes=6),
        "sdca: it visits single rows.*DisDCA": lambda: js.solve(make(rows, HINGE), js.SDCA()),
        "sgd: it visits single rows.*DisDCA": lambda: js.solve(make(rows, HINGE), "sgd"),
        "visits features.*js.hydra": lambda: js.solve(make(rows, SMOOTH), "hydra"),
        "divided over 4; leave it None": lambda: js.solve(make(rows, HINGE), js.DisDCA(8)),
    }
    for message, call in wrong.items():
        try:
            call()
        except ValueError as error:
            assert re.search(message, str(error)), (message, error)
        else:
            raise AssertionError(f"not refused: {message}")


if __name__ == "__main__":
    assert len(jax.devices()) == 4
    meshes = {
        "rows": jax.make_mesh((4,), ("rows",)),
        "lanes": jax.make_mesh((4,), ("lanes",)),
        "both": jax.make_mesh((2, 2), ("rows", "lanes")),
    }
    refusals(meshes)
    what_is_exchanged(meshes)
    jax.config.update("jax_disable_most_optimizations", True)
    same_numbers(meshes)
    drivers(meshes)
    structures(meshes)
    assert jnp.zeros(()).dtype == np.float64
