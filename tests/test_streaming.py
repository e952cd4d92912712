"""Rows on disk: certificates, solves, what happens when a file breaks, and bad input."""

import jax
import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.core.programs import runs_of
from jaxopt_svm.problems import erm
from jaxopt_svm.streaming.pages import COPIES, Pages
from jaxopt_svm.streaming.sources import Table
from tests import toy

N, D = 61, 5
LAMS = [0.02, 0.1, 0.5]
ROOM = 1600  # bytes: chunks of at most 20 rows, the last one with room to spare


def svmlight(path, X, y) -> str:
    """Every digit, a comment and a blank line."""
    rows = [" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(map(float, x)) if v) for x in X]
    lines = [f"{label:g} {row}" for label, row in zip(y, rows)]
    path.write_text("# made by hand\n\n" + "\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    X, y = toy.matrix(N, D, seed=3)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    text = svmlight(folder / "rows.svm", X, y)
    wide = np.zeros((N, 600))
    wide[:, ::120] = X
    svmlight(folder / "wide.svm", wide, y)
    return folder, X, y, text, wide


def made(kind: str, data, **options):
    """A streamed problem, and the same in memory."""
    folder, X, y, text, wide = data
    npy = str(folder / "X.npy")
    given = {
        "npy": ((npy, folder / "y.npy"), {}, X),
        "copy": ((npy, y), {"scratch": folder}, X),
        "map": ((np.load(npy, mmap_mode="r"), y), {}, X),
        "svmlight": ((text,), {}, X),
        "wide": ((str(folder / "wide.svm"),), {"columns": 600, "memory": 6000}, wide),
        "wide copy": (
            (str(folder / "wide.svm"),),
            {"columns": 600, "memory": 6000, "scratch": folder},
            wide,
        ),
    }
    names, more, matrix = given[kind]
    streamed = js.make_streamed(*names, **{"memory": ROOM, "lam": 0.1} | more | options)
    assert len(streamed.pages.groups()) > 2
    options.pop("memory", None)
    return streamed, js.make_erm(matrix, y, lam=0.1, **options)


POINTS = [
    ("npy", {}),
    ("copy", {"loss": js.Softmax(), "weights": np.arange(N) % 3}),
    ("map", {"intercept": "penalised", "memory": 1900, "regularizer": js.ElasticNet(0.1)}),
    ("wide copy", {"intercept": "penalised"}),
]


def test_chunks_are_summed_block_after_block(data, monkeypatch):
    """As those of many rows are: c and n are those of the whole, the rows are not."""
    for name, value in (("MANY", 4), ("EXAMPLES", 8), ("UNIT", 1)):
        monkeypatch.setattr(erm, name, value)
    problem, referee = made("npy", data, memory=1700)
    rng = np.random.default_rng(2)
    point = js.Point(rng.normal(size=D), rng.random(N) * referee.y)
    jax.clear_caches()
    found = problem.certificate(point)
    monkeypatch.undo()
    wanted = referee.certificate(point)
    jax.clear_caches()
    for name in found._fields:
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-12)


@pytest.mark.parametrize("kind, options", POINTS, ids=[kind for kind, _ in POINTS])
def test_the_certificate_is_that_of_the_rows_in_memory(data, kind, options, quick_compilation):
    problem, referee = made(kind, data, **options)
    rng = np.random.default_rng(1)
    draw = lambda like: rng.normal(size=(2, *like.shape))
    w, alpha = map(draw, referee.origin())
    both = problem.with_lam([0.1, 0.3])
    for dual in (alpha, None):
        found = both.certificate(js.Point(w, dual))
        for k, lam in enumerate((0.1, 0.3)):
            one = js.Point(w[k], None if dual is None else alpha[k])
            wanted = referee.with_lam(lam).certificate(one)
            np.testing.assert_allclose(
                [field[k] for field in found], wanted, rtol=1e-12, atol=1e-14
            )


@pytest.fixture(scope="module")
def solved(data):
    return {kind: js.sweep(made(kind, data)[0], LAMS, rtol=1e-6) for kind in ("npy", "svmlight")}


def test_the_gap_closes_and_the_answer_is_that_of_memory(data, solved):
    problem, referee = made("npy", data)
    found = solved["npy"]
    assert np.all(found.status == "converged")
    again = js.recertify(problem, found)
    assert np.all(again.gap <= 1e-6 * again.primal)
    for k, lam in enumerate(LAMS):
        mine = referee.with_lam(lam).certificate(js.Point(found.w[k], found.dual[k]))
        np.testing.assert_allclose(found.certificate.primal[k], mine.primal, rtol=1e-12)
        np.testing.assert_allclose(found.certificate.dual[k], mine.dual, rtol=1e-12)
    alone = js.solve(problem.with_lam(LAMS[0]), rtol=1e-6)
    assert alone.passes == found.passes[0]
    np.testing.assert_allclose(alone.w, found.w[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(
        js.predict(problem, alone, data[1]), js.predict(referee, alone, data[1])
    )


def test_text_and_numbers_give_the_same_bits(solved):
    for name in ("w", "dual", "passes"):
        one, two = (np.asarray(getattr(solved[kind], name)) for kind in ("npy", "svmlight"))
        np.testing.assert_array_equal(one, two)


def test_sgd_counts_examples_not_padding(data, quick_compilation):
    problem, referee = made("npy", data)
    assert problem.pages.size * len(problem.pages.groups()) > N
    runs, key = runs_of(problem), jax.random.key(1)
    state, best, _ = runs.begin(problem, js.SGD(), None)
    state, best, _ = runs.advance(problem, js.SGD(), state, best, key, 0, 2)
    assert int(state.scalars[0]) == 1 + 2 * N
    alpha = state.tables[0] / 2  # n A_i / T after two passes
    np.testing.assert_allclose(referee.abar(alpha), state.vectors[0], rtol=1e-9, atol=1e-12)
    relay = js.solve(problem, js.Relay((js.SGD(), js.SDCA()), (1,)), rtol=1e-3)
    assert relay.status == "converged" and relay.method == "sgd > sdca"


def _cut(path):
    path.write_bytes(path.read_bytes()[:-300])


def _change(path):
    text = path.read_bytes()
    path.write_bytes(text[:-40] + bytes([text[-40] ^ 1]) + text[-39:])


BREAKS = [
    ("npy", "X.npy", _cut, r"X.npy, rows \d+\.\.\d+ \(bytes \d+\.\.\d+\): the file ends at byte"),
    ("npy", "X.npy", _change, r"X.npy, rows \d+\.\.60 \(bytes \d+\.\.\d+\): not what was there"),
    ("svmlight", "rows.svm", _change, r"rows.svm, lines \d+\.\.6\d \(bytes .*: not what was there"),
]


@pytest.mark.parametrize("kind, name, damage, said", BREAKS)
def test_a_broken_file_is_named_and_nothing_is_lost(
    data, kind, name, damage, said, tmp_path, monkeypatch, solved
):
    problem, _ = made(kind, data)
    path, passes = data[0] / name, []
    whole, each = path.read_bytes(), Pages.each

    def break_later(self, groups, dtype, work):
        passes.append(1)
        if len(passes) == 8:
            damage(path)
        return each(self, groups, dtype, work)

    options = {"rtol": 1e-6, "checkpoint": tmp_path / "c.npz"}
    with monkeypatch.context() as patched, pytest.raises(js.Unreadable, match=said) as caught:
        patched.setattr(Pages, "each", break_later)
        js.sweep(problem, LAMS, **options)
    path.write_bytes(whole)
    assert "c.npz to go on" in str(caught.value)
    so_far = caught.value.solution
    assert so_far is not None and set(so_far.status) == {"interrupted"}
    again = js.recertify(problem, so_far)
    np.testing.assert_allclose(so_far.certificate.gap, again.gap, rtol=1e-9)
    # a mended file is the same problem: the solve goes on as if nothing had happened
    mended, _ = made(kind, data)
    rest = js.sweep(mended, LAMS, **options)
    np.testing.assert_array_equal(rest.dual, solved[kind].dual)
    np.testing.assert_array_equal(rest.passes, solved[kind].passes)


SHAPES = [(1, 3, 100), (7, 3, 100), (1000, 3, 100), (1000, 3, 5e3), (1000, 3, 1e6), (97, 50, 1e4)]


@pytest.mark.parametrize("n, d, memory", SHAPES)
def test_chunks_hold_every_row_once_and_fit(n, d, memory):
    pages = Pages(Table(np.ones((n, d))), memory, False, np.float64)
    assert pages.size * d * 8 * COPIES <= memory
    assert pages.size * len(pages.groups()) < n + pages.count + pages.size
    order = np.random.default_rng(0).permutation(pages.count)
    rows = np.concatenate([pages.rows_of(group) for group in pages.groups(order)])
    np.testing.assert_array_equal(np.sort(rows), np.arange(n))
    assert all(len(pages.rows_of(group)) <= pages.size for group in pages.groups(order))


def _file(folder, name, content) -> str:
    path = folder / name
    if isinstance(content, str):
        path.write_text(content)
    else:
        np.save(path, content)
    return str(path)


ONES = np.ones((4, 2))
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
HOLE = np.array([[1.0, 2.0], [3.0, np.nan]])
REFUSED = [
    ("a.npy", ONES[0], (SIGNS,), {}, r"a.npy: expected a matrix of shape \(n, d\); got shape \(2,"),
    ("a.npy", ONES.astype("<U3"), (SIGNS,), {}, "a.npy: expected real numbers"),
    ("a.npy", ONES * 1j, (SIGNS,), {}, "a.npy: expected real numbers"),
    ("a.npy", "no numbers", (SIGNS,), {}, "a.npy: expected a file of np.save"),
    ("a.npy", HOLE, (SIGNS[:2],), {}, r"a.npy, rows 1..1 .*finite numbers; .* in column 1"),
    ("a.npy", np.asfortranarray(np.ones((3, 2))), (SIGNS[:3],), {}, "a.npy: stored by columns"),
    ("a.npy", ONES, (), {}, "y: .*a.npy has no labels"),
    ("a.npy", ONES, (SIGNS[:3],), {}, "y: 3 labels, but .*a.npy has 4 rows"),
    ("a.npy", ONES, (np.arange(4),), {}, "y: Hinge needs exactly two labels; found 4"),
    ("a.npy", ONES, (SIGNS,), {"memory": 31}, "memory: expected at least 32 bytes, 2 copies of"),
    ("a.npy", ONES, (SIGNS,), {"memory": -1}, "memory: expected a positive number of bytes"),
    ("a.npy", ONES, (SIGNS,), {"scratch": "/no/such"}, "scratch: expected a folder that exists"),
    ("a.npy", ONES, (SIGNS,), {"intercept": "free"}, 'intercept: "free" couples all rows'),
    ("a.svm", "1 1:1\n-1 3:1\n", (), {"columns": 2}, "a.svm: line 2: feature 3, but columns = 2"),
    ("a.svm", "1 1:1\n-1 3:\n", (), {}, "a.svm, line 2: expected svmlight"),
    ("a.svm", "1 1:1\n\n-1 3:nan\n", (), {}, "a.svm, line 3: expected finite numbers"),
    ("a.svm", "1 1:1\n2 1:1\n3 1:1\n", (), {}, "a.svm: y: Hinge needs exactly two labels; found 3"),
    ("a.svm", "1 1:1\n-1 1:1\n", (SIGNS,), {}, "y: .*a.svm has labels of its own"),
    ("a.svm", "# nothing\n", (), {}, "a.svm: the file has no rows"),
    ("a.svm.gz", "1 1:1", (), {}, "a.svm.gz: a packed file has no place to start"),
    ("a.npz", "1", (), {}, "a.npz: a zip file cannot be read from the middle"),
]


@pytest.mark.parametrize("name, content, rest, options, said", REFUSED)
def test_bad_input_is_named(tmp_path, name, content, rest, options, said):
    with pytest.raises(ValueError, match=said):
        js.make_streamed(_file(tmp_path, name, content), *rest, **options)


def test_the_file_is_named_not_its_copy(tmp_path):
    """Also what the solve's own dtype cannot hold."""
    big = np.array([[1.0, 2.0], [1e300, 0.0]])
    path = _file(tmp_path, "a.npy", big)
    with jax.enable_x64(False), pytest.warns(UserWarning, match="computing in float32"):
        with pytest.raises(js.Unreadable, match=r"/a.npy, rows 1..1 .* in column 0"):
            js.make_streamed(path, SIGNS[:2], scratch=tmp_path)


def test_a_file_that_breaks_between_groups_of_lanes(data, monkeypatch):
    """What was solved before the group that failed comes along."""
    problem, _ = made("npy", data)
    path, whole = data[0] / "X.npy", (data[0] / "X.npy").read_bytes()
    advance, calls = Pages.each, []

    def each(self, groups, dtype, work):
        calls.append(1)
        if len(calls) == 18:
            _cut(path)
        return advance(self, groups, dtype, work)

    monkeypatch.setattr(Pages, "each", each)
    with pytest.raises(js.Unreadable) as caught:
        js.sweep(problem, LAMS, rtol=1e-3, memory=problem.lane_bytes())
    path.write_bytes(whole)
    so_far = caught.value.solution
    assert so_far is not None and list(so_far.status) == ["interrupted", "converged"]
    np.testing.assert_allclose(so_far.lam, LAMS[1:])


def test_a_file_cut_off_before_it_is_read(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, ONES)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(js.Unreadable, match=r"cut off at byte 172; 4 rows need 192 .* rows 2..3"):
        js.make_streamed(path, SIGNS)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        js.make_streamed(tmp_path / "b.npy", SIGNS)


def test_what_cannot_be_done_by_chunks_is_refused():
    problem = js.make_streamed(ONES, SIGNS)
    for method, said in [
        (js.Quartz(), "use js.SDCA.., js.SGD.., or a Relay of them; got Quartz"),
        (js.SDCA(js.Optimal()), "draws all examples alike"),
        (js.SGD(project=True), "step 1/.lam t., single examples and no projection"),
        (js.SGD(js.Constant(0.1)), "step 1/.lam t., single examples and no projection"),
    ]:
        with pytest.raises(ValueError, match=said):
            js.solve(problem, method)
    with pytest.raises(ValueError, match="for rows on disk use solve or sweep"):
        js.run(problem, js.SDCA(), passes=1)
