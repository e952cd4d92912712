"""Samplings draw what they say."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats

import jaxopt_svm as js
from jaxopt_svm.core.shuffle import shuffle
from tests import toy

pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 17, 40, 97, 1000, 1023])
def test_shuffle_is_a_bijection(n):
    keys = jax.random.split(jax.random.key(0), 5)
    orders = np.asarray(jax.jit(jax.vmap(lambda key: shuffle(key, n)))(keys))
    assert orders.dtype == np.int32
    np.testing.assert_array_equal(np.sort(orders), np.tile(np.arange(n), (5, 1)))


def test_shuffle_is_even_at_every_place_and_for_every_pair_of_places():
    n, draws = 12, 20000
    keys = jax.random.split(jax.random.key(0), draws)
    orders = np.asarray(jax.jit(jax.vmap(lambda k: shuffle(k, n)))(keys))
    for place in (0, 5, 11):
        share = np.bincount(orders[:, place], minlength=n) / draws
        assert abs(share - 1 / n).max() < 5 * np.sqrt(1 / n / draws)
    ordered = (orders[:, 0] < orders[:, 1]).mean()
    assert abs(ordered - 0.5) < 0.02


@pytest.mark.parametrize("size", [1, 7, 40, 64])
def test_a_shuffled_pass_visits_every_example_once(size):
    p = toy.dense64(js.Hinge())
    index, mask = js.Shuffled().draw(p, jax.random.key(1), size)
    seen = np.asarray(index).ravel() if mask is None else np.asarray(index[mask])
    np.testing.assert_array_equal(np.sort(seen), np.arange(toy.N))
    first = np.asarray(js.Shuffled().draw(p, jax.random.key(1), 1).index).ravel()
    np.testing.assert_array_equal(seen, first)


def test_independent_draws_follow_their_probabilities():
    p = toy.dense64(js.SmoothHinge(0.5))
    for sampling in (js.Uniform(), js.Optimal(), js.Importance(jnp.arange(1.0, 41.0) / 820.0)):
        keys = jax.random.split(jax.random.key(2), 500)
        index = jax.jit(jax.vmap(lambda k, s=sampling: s.draw(p, k, 8).index))(keys)
        share = np.bincount(np.asarray(index).ravel(), minlength=toy.N) / index.size
        np.testing.assert_allclose(share, sampling.constants(p)[0], atol=6e-3)


def test_nice_sets_are_sets_and_even():
    p, tau = toy.dense64(js.Hinge()), 6
    keys = jax.random.split(jax.random.key(4), 400)
    sets = np.asarray(jax.vmap(lambda k: js.Nice(tau).draw(p, k, 0).index)(keys)).reshape(-1, tau)
    assert all(len(set(s)) == tau for s in sets)
    assert sets.min() >= 0 and sets.max() < toy.N
    member = np.zeros((len(sets), toy.N))
    np.put_along_axis(member, sets, 1.0, axis=1)
    together = member.T @ member / len(sets)
    n = toy.N
    np.testing.assert_allclose(np.diag(together), tau / n, atol=0.03)
    pairs = together[~np.eye(n, dtype=bool)]
    np.testing.assert_allclose(pairs.mean(), tau * (tau - 1) / (n * (n - 1)), rtol=1e-9)
    assert abs(pairs - tau * (tau - 1) / (n * (n - 1))).max() < 0.02


def test_eigenvalue_constants_are_never_below_the_exact_ones():
    p = toy.dense64(js.Hinge())
    X = np.asarray(p.rows.X)
    norms = np.maximum(np.linalg.norm(X, axis=1), 1e-300)
    s = np.linalg.svd(X / norms[:, None], compute_uv=False)[0] ** 2
    v = np.asarray(js.Nice(5, js.EigenESO()).constants(p)[1])
    exact = norms**2 * (1 + (s - 1) * 4 / 39)
    assert np.all(v >= exact) and np.allclose(v, exact, rtol=1e-10, atol=1e-200)


# --- sets ------------------------------------------------------------------------------------

ORDER = np.random.default_rng(5).permutation(toy.N)
GROUPS = [ORDER[:7].tolist(), ORDER[7:9].tolist(), ORDER[9:20].tolist(), ORDER[20:].tolist()]
UNEVEN = np.random.default_rng(6).uniform(0.02, 0.4, toy.N)

SETS = {
    "nice": js.Nice(4),
    "independent": js.Independent.of(0.1),
    "independent-uneven": js.Independent.of(UNEVEN),
    "bucket": js.Bucket.of(GROUPS),
    "partition": js.Partition.of(GROUPS),
    "partition-uneven": js.Partition.of(GROUPS, [0.4, 0.3, 0.2, 0.1]),
    "distributed": js.Distributed(4, 3),
}
each_set = pytest.mark.parametrize("name", SETS)


@functools.cache
def steps_of(sampling, seeds: int = 60):
    """(steps, size) index and mask of many passes."""
    problem, keys = toy.padded32(js.Hinge()), jax.random.split(jax.random.key(7), seeds)
    index, mask = jax.jit(jax.vmap(lambda k: sampling.draw(problem, k, 1)))(keys)
    mask = np.ones(index.shape, bool) if mask is None else np.asarray(mask)
    return np.asarray(index).reshape(-1, index.shape[-1]), mask.reshape(-1, index.shape[-1])


@each_set
def test_a_set_has_no_repeats_and_its_padding_is_last(name):
    index, mask = steps_of(SETS[name])
    assert index.dtype == np.int32
    np.testing.assert_array_equal(mask, index < toy.N)
    assert (index[~mask] == toy.N).all() and (index >= 0).all()
    assert (mask[:, :-1] >= mask[:, 1:]).all()
    assert all(len(set(i[m])) == m.sum() for i, m in zip(index, mask))


@each_set
def test_sets_have_the_sizes_they_promise(name):
    sampling, p = SETS[name], toy.dense64(js.Hinge())
    index, mask = steps_of(sampling)
    chances = np.asarray(sampling.constants(p)[0])
    share = np.bincount(index[mask], minlength=toy.N) / len(index)
    assert (abs(share - chances) <= 6 * np.sqrt(chances * (1 - chances) / len(index)) + 1e-9).all()
    # a pass looks at about n examples, unless q says otherwise
    if name != "partition-uneven":
        steps = len(index) / 60
        assert toy.N <= steps * chances.sum() < toy.N + chances.sum() + 1e-6


def test_bucket_and_partition_sets_are_made_of_groups():
    index, _ = steps_of(SETS["bucket"])
    assert all(set(index[:, g]) == set(group) for g, group in enumerate(GROUPS))
    index, mask = steps_of(SETS["partition"])
    assert {tuple(i[m]) for i, m in zip(index, mask)} == {tuple(g) for g in GROUPS}


def test_distributed_sets_take_tau_from_each_node():
    index, _ = steps_of(SETS["distributed"])
    np.testing.assert_array_equal(index // 10, np.tile(np.repeat(np.arange(4), 3), (len(index), 1)))


def test_independent_sets_can_be_empty_full_or_certain():
    index, _ = steps_of(js.Independent.of(1.0), 3)
    np.testing.assert_array_equal(index, np.tile(np.arange(toy.N), (3, 1)))
    _, mask = steps_of(js.Independent.of(0.01), 20)
    assert mask.sum(1).min() == 0
    index, mask = steps_of(js.Independent.of(np.r_[1.0, np.full(toy.N - 1, 0.05)]))
    assert (index[:, 0] == 0).all() and 1 < mask.sum(1).mean() < 5


@pytest.mark.parametrize("n", [30, 1000, 10**6])
@pytest.mark.parametrize("p", [1e-6, 1e-3, 0.1, 0.5, 0.99, 1.0])
def test_independent_sets_do_not_overflow(n, p):
    capacity = js.Independent.of(p).capacity(n)
    assert capacity <= n
    assert capacity == n or scipy.stats.binom.sf(capacity, n, p) < 1e-12


def test_a_draw_does_not_grow_with_n():
    """The arrays of one step: as large as the set, whatever n is."""
    rows = lambda n: js.make_erm(np.ones((n, 1), np.float32), np.arange(n) % 2)
    for of in (lambda n: js.Independent.of(20 / n), lambda n: js.Nice(20)):
        shape = lambda n, of=of: jax.eval_shape(of(n).draw, rows(n), jax.random.key(0), 1)
        sizes = [shape(n).index.shape[1] for n in (1000, 4000)]
        assert max(sizes) - min(sizes) <= 1


# --- constants -------------------------------------------------------------------------------


@each_set
def test_constants_agree_for_dense_and_sparse_rows_and_are_safe(name):
    sampling = SETS[name]
    dense, sparse = toy.dense64(js.Hinge()), toy.padded32(js.Hinge())
    (p, v), (q, u) = (jax.jit(sampling.constants)(x) for x in (dense, sparse))
    assert v.dtype == p.dtype == jnp.float64 and u.dtype == q.dtype == jnp.float32
    np.testing.assert_allclose(v, u, rtol=1e-5)
    np.testing.assert_allclose(p, q, rtol=1e-5)
    P = sampling.pair_probabilities(dense)
    np.testing.assert_allclose(np.diag(P), p, rtol=1e-12)
    assert js.eso_ratio(dense.rows, P, v) <= 1 + 1e-12
    assert js.eso_ratio(sparse.rows, sampling.pair_probabilities(sparse), u) <= 1 + 1e-5


def test_groups_and_nodes_agree_where_they_are_the_same_sampling():
    for p in (toy.dense64(js.Hinge()), toy.padded32(js.Hinge())):
        table = jnp.arange(toy.N).reshape(5, 8)
        pairs = [
            (js.Bucket(table), js.Distributed(5, 1)),
            (js.Bucket(table.reshape(40, 1)), js.Independent.of(1.0)),
            (js.Distributed(1, 7), js.Nice(7)),
            (js.Partition(table.reshape(1, 40)), js.Nice(40)),
        ]
        for a, b in pairs:
            for x, y in zip(a.constants(p), b.constants(p)):
                np.testing.assert_allclose(x, y, rtol=1e-5)
            np.testing.assert_allclose(a.pair_probabilities(p), b.pair_probabilities(p), rtol=1e-5)


def test_groups_that_share_no_feature_are_as_safe_as_one_example():
    X = np.kron(np.eye(3), np.ones((4, 2)))
    for given in (X, sp.csr_matrix(X)):
        p = js.make_erm(given, np.arange(12) % 2)
        bucket = js.Bucket.of(np.arange(12).reshape(3, 4).tolist())
        np.testing.assert_array_equal(bucket.constants(p)[1], p.rows.sqnorms)


def test_msdca_constants():
    p = toy.dense64(js.Hinge())
    X = np.asarray(p.rows.X)
    R2, b = (X**2).sum(1).max(), 5
    sigma = np.linalg.norm(X, 2) ** 2 / R2
    v = np.asarray(js.Nice(b, js.SpectralESO()).constants(p)[1])
    np.testing.assert_allclose(v, R2 * (1 + (b - 1) * (sigma - 1) / (toy.N - 1)), rtol=1e-10)
    assert (v >= R2 * (1 + (b - 1) * (sigma - 1) / (toy.N - 1))).all()
    np.testing.assert_allclose(js.Nice(1, js.SpectralESO()).constants(p)[1], R2, rtol=1e-12)


def test_group_helpers_of_rows():
    X, _ = toy.matrix()
    group = np.random.default_rng(1).integers(0, 5, toy.N).astype(np.int32)
    weights = np.arange(1.0, toy.N + 1)
    with_zeros = sp.csr_matrix(X)
    with_zeros.data[::7] = 0.0  # stored, but zero
    for given in (X, sp.csr_matrix(X), with_zeros):
        rows = js.make_erm(given, np.arange(toy.N) % 2).rows
        X = np.asarray(rows.toarray())
        np.testing.assert_array_equal(X, sp.csr_matrix(given).toarray())
        has = X != 0
        counts = np.array([has[group == g].sum(0) for g in range(5)])
        np.testing.assert_array_equal(
            rows.groups_touched(jnp.asarray(group), 5), (counts > 0).sum(0)
        )
        np.testing.assert_allclose(rows.column_sums(jnp.asarray(weights)), weights @ has)
        together = rows.group_counts(jnp.asarray(group), 5).astype(jnp.float64)
        found = rows.entry_sqnorms(together)
        np.testing.assert_allclose(found, (counts[group] * X**2).sum(1), rtol=1e-12)


def test_the_general_calculator_and_the_ratio():
    p = toy.dense64(js.Hinge())
    four = js.Nice(4)
    P, (_, v) = four.pair_probabilities(p), four.constants(p)
    for rows in (p.rows, np.asarray(p.rows.X), toy.padded32(js.Hinge()).rows):
        np.testing.assert_allclose(js.eso_constants(rows, P), v, rtol=1e-4)
    X = np.random.default_rng(0).normal(size=(8, 4)) + 1.0
    P = np.where(np.eye(8), 4 / 8, 4 * 3 / (8 * 7))
    L = (X**2).sum(1)
    assert js.eso_ratio(X, P, L) > 1.2  # 4 dense examples at once are not safe with v = L
    assert np.isinf(js.eso_ratio(X, P, np.zeros(8)))
    r = js.eso_ratio(X, P, L)
    np.testing.assert_allclose(js.eso_ratio(X, P, r * L), 1.0, rtol=1e-12)


# --- refusals --------------------------------------------------------------------------------


def table(*groups):
    return jnp.asarray(groups)


ROW = np.arange(40)


@pytest.mark.parametrize(
    "sampling, message",
    [
        (lambda: js.Nice(0), "tau must lie between 1 and n = 40"),
        (lambda: js.Nice(41), "tau must lie between 1 and n = 40"),
        (lambda: js.Importance(jnp.ones(3) / 3), "p must have shape"),
        (lambda: js.Importance(jnp.ones(40) / 20), "must sum to 1"),
        (lambda: js.Importance(jnp.r_[0.0, jnp.ones(39) / 39]), "every p_i must be positive"),
        (lambda: js.Independent.of(np.r_[0.0, np.ones(39)]), "never seen; got 0.0"),
        (lambda: js.Independent.of(1.5), "must lie in .0, 1.*got 1.5"),
        (lambda: js.Independent.of(float("nan")), "got nan"),
        (lambda: js.Independent.of(np.ones(3)), "have shape .40,."),
        (lambda: js.Independent.of(np.ones((40, 1))), "a number or have shape"),
        (lambda: js.Independent(jnp.asarray(0.5), top=0.2, mean=0.2), "top = 0.2"),
        (lambda: js.Bucket.of([ROW[:20].tolist(), ROW[19:].tolist()]), "19 is in more than one"),
        (lambda: js.Bucket.of([ROW[:20].tolist(), ROW[21:].tolist()]), "20 is in no group"),
        (lambda: js.Bucket.of([[*range(41)]]), "no example 40"),
        (lambda: js.Bucket.of([]), "at least one group"),
        (lambda: js.Bucket.of([[0], []]), "no empty group"),
        (lambda: js.Bucket(table([-1, 0], [1, 2])), "padding .-1. at the end"),
        (lambda: js.Bucket(jnp.ones((2, 20))), "table of integers"),
        (lambda: js.Partition.of([ROW[:20].tolist(), ROW[19:].tolist()]), "Partition: example 19"),
        (lambda: js.Partition.of(GROUPS, [0.5, 0.5]), "q must have shape .4,."),
        (lambda: js.Partition.of(GROUPS, [0.5, 0.5, 0.5, 0.5]), "q must sum to 1"),
        (lambda: js.Partition.of(GROUPS, [0.0, 0.5, 0.2, 0.3]), "group l is never seen"),
        (lambda: js.Distributed(3, 2), "do not split evenly over 3 nodes"),
        (lambda: js.Distributed(0, 2), "do not split evenly over 0 nodes"),
        (lambda: js.Distributed(4, 11), "between 1 and n/nodes = 10"),
    ],
)
def test_samplings_refuse(sampling, message):
    with pytest.raises(ValueError, match=message):
        js.solve(toy.dense64(js.Hinge()), js.SDCA(sampling()))


def test_the_eigenvalue_rule_refuses_sparse_rows():
    with pytest.raises(ValueError, match="EigenESO needs dense rows"):
        js.solve(toy.padded32(js.Hinge()), js.SDCA(js.Nice(4, js.EigenESO())))


def test_the_spectral_rule_is_safe_for_sparse_rows_too():
    p, nice = toy.padded32(js.Hinge()), js.Nice(4, js.SpectralESO())
    v, exact = nice.constants(p)[1], nice.constants(toy.dense64(js.Hinge()))[1]
    assert (np.asarray(v) >= np.asarray(exact)).all()
    assert js.eso_ratio(p.rows, nice.pair_probabilities(p), v) <= 1


# --- a method on top -------------------------------------------------------------------------

RULES = {f"nice-{type(r).__name__}": js.Nice(4, r) for r in (js.EigenESO(), js.SpectralESO())}


@pytest.mark.parametrize("name", [*SETS, *RULES])
def test_sdca_converges_with_every_sampling(name):
    method = js.SDCA({**SETS, **RULES}[name])
    last = jax.jit(lambda p: js.run(p, method, passes=500, every=500)[1].gap[-1])
    assert last(toy.dense64(js.SmoothHinge(0.5))) <= 1e-6
    if name in SETS:
        assert last(toy.padded32(js.SmoothHinge(0.5))) <= 1e-6


def test_sets_work_on_a_grid():
    p, lams = toy.dense64(js.SmoothHinge(0.5)), js.lam_grid(0.05, 0.5, 3)
    found = js.sweep(p, lams, js.SDCA(SETS["independent-uneven"]), rtol=1e-6).certificate
    assert (np.asarray(found.gap) <= 1e-6 * np.asarray(found.primal)).all()
