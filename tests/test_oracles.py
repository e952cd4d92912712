"""Every dynamic program against brute force: ties, length 1, padding, shared and own tables."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxopt_svm.oracles import chain, slack, tree
from jaxopt_svm.oracles.chain import Marginals

K, T = 3, 4
LENGTHS = (1, 1, 2, 3, 4, 4, 4)
KINDS = ("chain", "tree")


def cases(kind, shared, ties):
    """A padded batch: unary, pairwise, parent, mask. Ties: scores of 0 and 1."""
    rng = np.random.default_rng(len(kind) + 2 * shared + ties)
    n = len(LENGTHS)
    draw = (lambda *s: rng.integers(0, 2, s) * 1.0) if ties else (lambda *s: rng.normal(size=s))
    unary, pairwise = draw(n, T, K), draw(n, K, K) if shared else draw(n, T - 1, K, K)
    parent = np.tile(np.arange(-1, T - 1), (n, 1))
    if kind == "tree":
        parent[:, 1:] = rng.integers(0, np.arange(1, T), (n, T - 1))
    mask = np.arange(T) < np.array(LENGTHS)[:, None]
    if kind == "tree":
        parent = np.where(mask, parent, -7)  # padding may hold anything
    return unary, pairwise, parent, mask


@functools.cache
def program(kind, name):
    """One of the programs, batched and jitted, with the same arguments for both kinds."""
    if kind == "tree":
        return jax.jit(jax.vmap(getattr(tree, name)))
    function = getattr(chain, name)
    return jax.jit(jax.vmap(lambda unary, pairwise, _, mask: function(unary, pairwise, mask)))


def enumerated(unary, pairwise, parent, mask):
    """All labellings (K^length, length) of one example and their scores."""
    length = int(mask.sum())
    labellings = np.array(list(itertools.product(range(K), repeat=length)))
    tables = np.broadcast_to(pairwise, (T - 1, K, K))
    scores = unary[np.arange(length), labellings].sum(1)
    for v in range(1, length):
        scores = scores + tables[v - 1, labellings[:, parent[v]], labellings[:, v]]
    return labellings, scores


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shared", (True, False))
@pytest.mark.parametrize("ties", (True, False))
def test_decoding_is_brute_force(kind, shared, ties):
    given = cases(kind, shared, ties)
    values, labels = program(kind, "decode")(*given)
    marginals = program(kind, "max_marginals")(*given)
    for i, one in enumerate(zip(*given)):
        labellings, scores = enumerated(*one)
        length = labellings.shape[1]
        np.testing.assert_allclose(values[i], scores.max(), atol=1e-12)
        found = np.asarray(labels[i])
        assert (found[length:] == 0).all()
        best = labellings[scores >= scores.max() - 1e-12]
        # the documented rule for ties: last label first on a chain, root first on a tree
        key = best[:, ::-1] if kind == "chain" else best
        assert (found[:length] == best[np.lexsort(key.T[::-1])[0]]).all()
        for v in range(length):
            for a in range(K):
                want = scores[labellings[:, v] == a].max()
                np.testing.assert_allclose(marginals[i, v, a], want, atol=1e-12)
        np.testing.assert_allclose(marginals[i, length:], scores.max(), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shared", (True, False))
def test_marginals_are_brute_force(kind, shared):
    given = cases(kind, shared, False)
    total, (node, edge) = program(kind, "marginals")(*given)
    for i, one in enumerate(zip(*given)):
        labellings, scores = enumerated(*one)
        length, parent = labellings.shape[1], one[2]
        p = np.exp(scores - scores.max())
        p = p / p.sum()
        np.testing.assert_allclose(total[i], np.log(np.exp(scores).sum()), atol=1e-12)
        nodes, edges = np.zeros((T, K)), np.zeros((T - 1, K, K))
        for v in range(length):
            np.add.at(nodes[v], labellings[:, v], p)
            if v:
                np.add.at(edges[v - 1], (labellings[:, parent[v]], labellings[:, v]), p)
        np.testing.assert_allclose(node[i], nodes, atol=1e-12)
        np.testing.assert_allclose(edge[i], edges.sum(0) if shared else edges, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ties", (True, False))
def test_the_best_labelling_with_one_node_fixed_is_brute_force(kind, ties):
    _, pairwise, parent, mask = given = cases(kind, False, ties)
    wanted = np.random.default_rng(6).integers(0, K, mask.shape)
    found = program("tree", "given")(*given)
    rows = np.asarray(program("tree", "labels_given")(found, pairwise, parent, mask, wanted))
    np.testing.assert_array_equal(rows[~np.broadcast_to(mask[:, None], rows.shape)], 0)
    for i, one in enumerate(zip(*given)):
        labellings, scores = enumerated(*one)
        length = labellings.shape[1]
        for v in range(length):
            most = scores[labellings[:, v] == wanted[i, v]].max()
            np.testing.assert_allclose(found.whole[i, v, wanted[i, v]], most, atol=1e-12)
            own = scores[(labellings == rows[i, v, :length]).all(1)][0]
            np.testing.assert_allclose(own, most, atol=1e-12)
            assert rows[i, v, v] == wanted[i, v]


def test_slack_rescaling_is_brute_force():
    unary, pairwise, _, mask = given = cases("chain", True, False)
    truth = np.random.default_rng(5).integers(0, K, mask.shape)
    best = jax.jit(jax.vmap(slack.best_by_errors))(unary, pairwise, mask, truth)
    rescaled = jax.jit(jax.vmap(slack.slack_rescaled))(unary, pairwise, mask, truth)
    for i, one in enumerate(zip(*given)):
        labellings, scores = enumerated(*one)
        length = labellings.shape[1]
        errors = (labellings != truth[i, :length]).sum(1)
        for h in range(length + 1):
            np.testing.assert_allclose(best[i, h], scores[errors == h].max(), atol=1e-12)
        assert (best[i, length + 1 :] < -1e29).all()
        true = scores[errors == 0][0]
        np.testing.assert_allclose(rescaled[i], (errors * (1 + scores - true)).max(), atol=1e-12)


def test_a_chain_is_a_tree():
    given = cases("chain", True, False)
    for name in ("decode", "max_marginals", "marginals"):
        ours, theirs = program("chain", name)(*given), program("tree", name)(*given)
        for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_marginals_of_large_scores_are_finite():
    given = cases("tree", False, False)
    total, found = program("tree", "marginals")(1e4 * given[0], 1e4 * given[1], *given[2:])
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((total, found)))
    np.testing.assert_allclose(found.node.sum(-1), given[3] * 1.0, atol=1e-12)


def test_many_labels_take_the_plain_reduction():
    rng = np.random.default_rng(0)
    unary, table = rng.normal(size=(3, 70)), rng.normal(size=(70, 70))
    value, labels = chain.decode(jnp.asarray(unary), jnp.asarray(table), jnp.ones(3, bool))
    all_scores = unary[0][:, None, None] + table[:, :, None] + unary[1][None, :, None]
    all_scores = all_scores + table[None] + unary[2][None, None]
    np.testing.assert_allclose(value, all_scores.max(), atol=1e-12)
    assert tuple(np.asarray(labels)) == np.unravel_index(all_scores.argmax(), all_scores.shape)


def test_consistent_keeps_marginals_and_mends_anything_else():
    given = cases("tree", False, False)
    parent, mask = given[2:]
    mend = jax.jit(jax.vmap(tree.consistent))
    true = program("tree", "marginals")(*given)[1]
    kept = mend(true, parent, mask)
    for a, b in zip(kept, true, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    rng = np.random.default_rng(1)
    wild = Marginals(rng.normal(size=true.node.shape), rng.normal(size=true.edge.shape))
    node, edge = mend(wild, parent, mask)
    assert (node >= 0).all() and (edge >= 0).all()
    np.testing.assert_allclose(node.sum(-1), mask * 1.0, atol=1e-12)
    for i, length in enumerate(LENGTHS):
        for v in range(1, length):
            np.testing.assert_allclose(edge[i, v - 1].sum(0), node[i, v], atol=1e-12)
            np.testing.assert_allclose(edge[i, v - 1].sum(1), node[i, parent[i, v]], atol=1e-12)
