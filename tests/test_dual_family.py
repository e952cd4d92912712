"""The dual family: who takes which sampling, special cases that coincide, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxopt_svm as js
from jaxopt_svm.core.protocols import Sample
from tests import toy

pytestmark = pytest.mark.usefixtures("quick_compilation")

SMOOTH = js.SmoothHinge(0.5)
GROUPS = [[*range(0, 10)], [*range(10, 25)], [*range(25, 40)]]
ONE_NICE, ONE_OPTIMAL, TAU_NICE = js.Uniform(), js.Optimal(), js.Nice(4)
ARBITRARY = js.Partition.of(GROUPS)

# The lecture's table of features: which samplings the theory of each method admits.
FEATURES = {
    "SDCA": (js.SDCA, {"1-nice"}),
    "mSDCA": (js.SDCA, {"1-nice", "tau-nice"}),
    "ASDCA": (js.ASDCA, {"1-nice", "tau-nice"}),
    "Iprox-SDCA": (js.SDCA, {"1-nice", "1-optimal"}),
    "APCG": (js.APCG, {"1-nice"}),
    "SPDC": (js.SPDC, {"1-nice", "1-optimal", "tau-nice"}),
    "Quartz": (js.Quartz, {"1-nice", "1-optimal", "tau-nice", "arbitrary"}),
}
# SPDC's own optimal weights mix norms with the uniform law: erratum E13 of the table
COLUMNS = {
    "1-nice": ONE_NICE,
    "1-optimal": ONE_OPTIMAL,
    "tau-nice": TAU_NICE,
    "arbitrary": ARBITRARY,
}


@pytest.mark.parametrize("name", FEATURES)
def test_the_lectures_table_of_features(name):
    method, admitted = FEATURES[name]
    problem = toy.dense64(SMOOTH)
    for column, sampling in COLUMNS.items():
        if name == "SPDC" and column == "1-optimal":
            sampling = js.Norms()
        if column in admitted:
            method(sampling).check(problem)
        elif method in (js.ASDCA, js.APCG, js.SPDC):
            with pytest.raises(ValueError, match="is analysed for uniform"):
                method(sampling).check(problem)


@pytest.mark.parametrize(
    "method", [js.Quartz(), js.ASDCA(), js.SPDC(), js.APCG(), js.AccProxSDCA()]
)
def test_methods_that_need_smoothness_say_what_to_use(method):
    with pytest.raises(ValueError, match=r"needs a smooth loss.*use SmoothHinge\(mu\).*or SDCA"):
        js.solve(toy.dense64(js.Hinge()), method)


@pytest.mark.parametrize(
    "method, message",
    [
        (js.Quartz(option=3), "option must be 1 or 2"),
        (js.SDNA(tau=41), "tau must lie between 1 and n = 40"),
        (js.SDNA(rounds=0), "rounds must be at least 1"),
        (js.DisDCA(nodes=0), "nodes must lie between 1 and n = 40"),
        (js.DisDCA(local=0), "local must be at least 1"),
        (js.AccProxSDCA(inner=0), "inner must be at least 1"),
    ],
)
def test_bad_parameters(method, message):
    with pytest.raises(ValueError, match=message):
        js.solve(toy.dense64(SMOOTH), method)


def trace(method, problem=None, passes=3):
    problem = toy.dense64(SMOOTH) if problem is None else problem
    return js.run(problem, method, passes=passes, key=jax.random.key(2))[1]


def test_disdca_on_one_node_is_sdca():
    """Both go through all examples in a random order: the same dual value after many passes,
    and the same step when the order is the same."""
    problem = toy.dense64(SMOOTH)
    disdca = js.DisDCA(nodes=1, local=40, block=8)
    sample = disdca.draw(problem, jax.random.key(1))[0]
    mine = disdca.step(problem, disdca.init(problem), sample)
    sdca = js.SDCA(block=40)
    theirs = sdca.step(problem, sdca.init(problem), Sample(sample.reshape(-1)))
    np.testing.assert_allclose(mine.tables[0][0], theirs.tables[0], atol=1e-13)
    np.testing.assert_allclose(mine.vectors[0], theirs.vectors[0], atol=1e-13)


@pytest.mark.parametrize("nodes, local", [(3, 5), (7, 4), (40, 1)])
def test_disdca_visits_every_example_once_a_pass(nodes, local):
    places = np.asarray(js.DisDCA(nodes, local).draw(toy.dense64(SMOOTH), jax.random.key(0)))
    held = -(-toy.N // nodes)
    for k in range(nodes):
        own = places[:, k].reshape(len(places), -1)
        assert np.all(np.sum(own < held, axis=1) <= local), "a round is at most ``local`` examples"
        np.testing.assert_array_equal(np.sort(own[own < held]), np.arange(held))


def test_sdna_with_one_coordinate_is_sdca():
    problem = toy.dense64(SMOOTH)
    mine, theirs = js.SDNA(tau=1, rounds=1), js.SDCA(js.Nice(1))
    np.testing.assert_allclose(
        trace(mine, problem).dual, trace(theirs, problem).dual, rtol=1e-11, atol=1e-13
    )


def test_more_rounds_of_sdna_gain_more():
    gains = [float(trace(js.SDNA(tau=8, rounds=r), passes=1).dual[-1]) for r in (1, 2, 8)]
    assert gains[0] < gains[1] <= gains[2] + 1e-12


def test_accprox_has_something_to_accelerate_and_does():
    """Least squares with lam far below R^2/(gamma n): a fraction of the row touches of SDCA."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30)) * np.geomspace(1, 1e-2, 30)[None, :]
    problem = js.make_erm(X / 2, rng.normal(size=60), loss=js.Squared(), lam=1e-4)
    kappa, beta = js.AccProxSDCA().steps(problem)
    assert float(kappa) > 10 * 1e-4 and float(beta) > 0.5
    fast = js.solve(problem, js.AccProxSDCA(), rtol=1e-5, max_passes=2000)
    plain = js.solve(problem, js.SDCA(), rtol=1e-5, max_passes=2000)
    assert fast.status == "converged"
    assert 2 * fast.trace.work[-1] < plain.trace.work[-1]
    assert float(js.AccProxSDCA().steps(problem.with_lam(10.0))[0]) == 0.0


def test_spdc_with_its_own_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * rng.uniform(0.05, 3.0, (60, 1))
    problem = js.make_erm(X, np.sign(X[:, 0] + 0.1), loss=SMOOTH, lam=1e-2)
    one = js.solve(problem, js.SPDC(js.Norms()), rtol=1e-7, max_passes=1500)
    assert one.status == "converged"


def test_theta_and_steps_belong_to_the_lane():
    """Erratum E14: optimal p, theta and step sizes depend on lam, so each lane has its own."""
    problem, lams = toy.dense64(SMOOTH), jnp.array([1e-3, 1e-1])
    for method in (js.Quartz(js.Optimal()), js.SPDC(), js.APCG(), js.ASDCA()):
        states = jax.vmap(lambda lam, m=method: m.init(problem.with_lam(lam)))(lams)
        some = states.scalars[-1] if not isinstance(method, js.APCG) else states.scalars[1]
        assert float(some[0]) != float(some[1])


def test_defaults_just_work():
    problem = toy.dense64(js.Logistic(), lam=1e-2)
    for name in ("quartz", "spdc", "apcg", "sdna", "disdca", "accprox_sdca", "msdca", "iprox_sdca"):
        one = js.solve(problem, name, rtol=1e-3, max_passes=400)
        assert one.status == "converged", (name, one)
