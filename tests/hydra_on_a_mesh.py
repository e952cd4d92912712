"""Run by test_coordinate_family.py in a process with four devices."""

import re

import jax
import numpy as np
import scipy.sparse as sp

import jaxopt_svm as js

D, N = 22, 37  # 22 features do not divide by 4 nodes; sizes that occur nowhere else


def problem(sparse: bool) -> js.ERM:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.5)
    y = np.sign(X @ rng.normal(size=D) + 0.1)
    return js.make_erm(sp.csr_matrix(X) if sparse else X, y, loss=js.SmoothHinge(0.5), lam=0.05)


def same_numbers(make, nodes: int, sparse: bool, mesh, passes: int = 3) -> None:
    """On the mesh, and as an array axis on one device; a grid of lam at once."""
    given, lams = problem(sparse), [0.05, 0.5]
    one, many = (
        js.sweep(given, lams, make(nodes, 2, mesh=m), rtol=0.0, max_passes=passes)
        for m in (None, mesh)
    )
    np.testing.assert_allclose(many.w, one.w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(many.trace.gap, one.trace.gap, rtol=1e-9, atol=1e-12)


def read_program(mesh) -> None:
    method = js.hydra(4, 2, mesh=mesh)
    given = js.prepare(problem(sparse=False), method)
    parts = given.columns.rows.parts.X
    assert {s.data.shape for s in parts.addressable_shards} == {(1, 6, N)}, "a node's own columns"
    state = method.init(given)
    sample = jax.tree.map(lambda x: x[0], method.draw(given, jax.random.key(0)))
    text = jax.jit(method.step).lower(given, state, sample).compile().as_text() or ""
    assert "all-reduce" in text, "the change of the image is added over devices"
    gathered = [line for line in text.splitlines() if re.search(r"= .*all-gather", line)]
    assert not any(re.search(rf"\[[\d,]*\b{N}\b[\d,]*\]", line) for line in gathered), gathered


if __name__ == "__main__":
    assert len(jax.devices()) == 4
    four = jax.make_mesh((4,), ("devices",))
    read_program(four)
    jax.config.update("jax_disable_most_optimizations", True)
    same_numbers(js.hydra2, 4, False, four)
    same_numbers(js.hydra, 8, True, four)
