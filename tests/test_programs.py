"""What is in the compiled programs: shared work is done once, and nothing of size n is copied."""

import re
from typing import Any

import jax
import numpy as np
import pytest
import scipy.sparse as sp
from jax.extend.core import jaxprs_in_params

import jaxopt_svm as js
from jaxopt_svm.core import lanes
from tests import toy

N, D, LANES, BLOCK = 1009, 13, 5, 16  # sizes that occur nowhere else in a program
# the programs that users run, see conftest.py (the stub says None)
XLA_CHOICE: Any = {"xla_cpu_use_fusion_emitters": True}


def problem(sparse: bool = False):
    X, y = toy.matrix(N, D)
    X = X.astype(np.float32)
    return js.make_erm(sp.csr_matrix(X) if sparse else X, y, loss=js.SmoothHinge(0.5))


METHODS = {
    "sdca": js.SDCA(block=BLOCK),
    "sdca-uniform": js.SDCA(js.Uniform(), block=BLOCK),
    "sdca-nice": js.SDCA(js.Nice(8)),
    "sgd": js.SGD(block=BLOCK),
    "saga": js.SAGA(block=BLOCK),
    "svrg": js.SVRG(block=BLOCK),
    "dfsdca": js.DfSDCA(block=BLOCK),
    "pegasos-batch": js.pegasos(batch=8),
    "averaged": js.Averaged(js.SGD(block=BLOCK)),
}


def one_pass(p, method, batched: bool):
    """The steps of one pass (the draw apart, whose random bits are made in a loop of their own)."""
    grid = p.with_lam(np.geomspace(1e-3, 1e-1, LANES)) if batched else p
    state = jax.tree.map(lambda x: jax.numpy.stack([x] * LANES) if batched else x, method.init(p))

    def steps(problem, method, state, samples):
        return lanes.one_pass_over(method, problem, state, samples)

    over = lanes.over_lanes(steps, grid, None, 0, None)
    return over, (grid, method, state, method.draw(p, jax.random.key(0)))


def equations(jaxpr):
    """Every equation, inner programs included."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in jaxprs_in_params(eqn.params):
            yield from equations(inner)


def test_rows_and_gram_matrix_are_formed_once_for_the_whole_grid():
    step, args = one_pass(problem(), METHODS["sdca"], batched=True)
    shapes = {"gather": [], "dot_general": []}
    for eqn in equations(jax.make_jaxpr(step)(*args).jaxpr):
        if eqn.primitive.name in shapes:
            shapes[eqn.primitive.name] += [v.aval.shape for v in eqn.outvars]
    assert (BLOCK, D) in shapes["gather"], "the rows of a block"
    assert (BLOCK, BLOCK) in shapes["dot_general"], "their Gram matrix"
    for name in shapes:
        for shape in shapes[name]:
            assert not (LANES in shape and shape[-2:] in ((BLOCK, D), (BLOCK, BLOCK))), (
                f"{name} of shape {shape}: once for each lane"
            )


def loop_bodies(text: str) -> dict[str, list[str]]:
    """HLO computations reached from the body of a while loop."""
    computations, name = {}, None
    for line in text.splitlines():
        head = re.match(r"^(?:ENTRY )?%?([\w.\-]+) \(", line)
        if head and line.rstrip().endswith("{"):
            name = head.group(1)
            computations[name] = []
        elif name:
            computations[name].append(line)
    reached, todo = set(), re.findall(r"body=%?([\w.\-]+)", text)
    while todo:
        now = todo.pop()
        if now in reached or now not in computations:
            continue
        reached.add(now)
        called = (
            r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.\-]+)"
        )
        todo += re.findall(called, "\n".join(computations[now]))
    return {name: computations[name] for name in reached}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("name", ["sdca", "sdca-uniform", "sgd", "saga", "svrg", "dfsdca"])
def test_no_loop_copies_an_array_of_size_n(name, batched, sparse):
    step, args = one_pass(problem(sparse), METHODS[name], batched)
    text = str(jax.jit(step).lower(*args).compile(dict(XLA_CHOICE)).as_text())
    copied = [
        line.strip()
        for lines in loop_bodies(text).values()
        for line in lines
        if re.search(rf"= \w+\[[\d,]*\b{N}\b[\d,]*\]\S* copy\(", line)
    ]
    assert not copied, copied


def test_the_copy_test_sees_a_copy():
    """A table read after the write it should precede is copied in every step."""

    def naive(table, index):
        def step(t, i):
            return t.at[i].set(t[i] + 1.0), t[(i + 1) % N] + t.sum()

        return jax.lax.scan(step, table, index)

    lowered = jax.jit(naive).lower(np.zeros(N, np.float32), np.arange(N))
    text = str(lowered.compile(dict(XLA_CHOICE)).as_text())
    lines = [line for lines in loop_bodies(text).values() for line in lines]
    assert any(re.search(rf"f32\[{N}\]\S* (copy|fusion)\(", line) for line in lines)
