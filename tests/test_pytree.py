"""Values that carry data: classes stay apart, numbers are leaves, choices are types."""

import jax
import jax.numpy as jnp
import pytest

import jaxopt_svm as js

SAME_FIELDS = [
    (js.Uniform(), js.Optimal()),
    (js.Hinge(), js.Logistic()),
    (js.SmoothHinge(0.5), js.SquaredHinge(0.5)),
    (js.SDCA(), js.APCG(js.Shuffled())),
    (js.Constant(0.1), js.InverseSqrt(0.1)),
]


@pytest.mark.parametrize("a, b", SAME_FIELDS)
def test_two_classes_with_the_same_fields_are_two_structures(a, b):
    """Or a jitted function could run the program that was compiled for the other one."""
    assert jax.tree.structure(a) != jax.tree.structure(b)
    assert jax.tree.structure(a) == jax.tree.structure(type(a)(**vars(a)))


def test_numbers_are_leaves_and_choices_are_not():
    method = js.SGD(js.InverseLam(t0=3.0), batch=4)
    assert jax.tree.leaves(method) == [3.0]
    assert jax.tree.structure(method) != jax.tree.structure(js.SGD(js.InverseLam(3.0), batch=5))
    doubled = jax.tree.map(lambda x: 2 * x, method)
    assert doubled.rule.t0 == 6.0 and doubled.batch == 4
    paths = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_leaves_with_path(method)]
    assert paths == [".rule.t0"]


def test_values_pass_through_jit_and_vmap():
    scale = jax.jit(lambda loss, z: loss.value(z, 1.0))
    values = jax.vmap(scale, in_axes=(js.SmoothHinge(0), None))
    losses = jax.tree.map(lambda *mu: jnp.array(mu), js.SmoothHinge(0.5), js.SmoothHinge(1.0))
    found = values(losses, jnp.asarray(0.0))
    assert found.tolist() == [0.75, 0.5]
