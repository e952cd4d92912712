"""Small problems with nothing special about them, and the table of methods under test.

A new method adds one line to ``table``; the laws of test_contract.py then hold it to account.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import optax
import scipy.sparse as sp

import jaxopt_svm as js

N, D = 40, 6
LAM = 0.1


class Case(NamedTuple):
    """A row of the table.

    loss: of the ERM problem; None for the rows of a family with fixtures of its own.
    passes: how many it is given. gap: what its gap must then be below (float64).
    linear: theory promises a linear rate, so ``gap`` is 1e-6 or less.
    names: registered names this row stands for. options: for ``make_erm``.
    problems: how each fixture makes its problem; those of ERM unless given.
    referee: a method that solves the problem well, for the bounds that need P*.
    picks: steps choose by an argmax, which rounding may decide differently alone and in a batch.
    """

    id: str
    method: Any
    loss: Any
    passes: int
    gap: float
    linear: bool = False
    names: tuple[str, ...] = ()
    options: dict[str, Any] = {}  # noqa: RUF012
    problems: dict[str, Callable[[], Any]] | None = None
    referee: Any = js.SDCA()
    picks: bool = False

    def problem(self, fixture: str) -> Any:
        if self.problems is not None:
            return self.problems[fixture]()
        return FIXTURES[fixture](self.loss, **self.options)


def matrix(n: int = N, d: int = D, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Sparse Gaussian rows, the last one all zero: degenerate rows break naive line searches."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X[-1] = 0.0
    y = np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def targets(y: np.ndarray, loss) -> np.ndarray:
    """Labels, or real targets for a regression loss."""
    return y + 0.3 * np.arange(len(y)) / len(y) if loss.regression else y


def weights(n: int = N) -> np.ndarray:
    """Uneven weights, one of them zero."""
    return np.r_[0.0, 1.0 + np.arange(n - 1) % 3]


def dense64(loss, **options: Any) -> js.ERM:
    """float64, dense, weighted, with an all-zero row."""
    X, y = matrix()
    options = {"lam": LAM, "weights": weights(), **options}
    return js.make_erm(X, targets(y, loss), loss=loss, **options)


def padded32(loss, **options: Any) -> js.ERM:
    """float32, sparse."""
    X, y = matrix()
    options = {"lam": LAM, **options}
    return js.make_erm(sp.csr_matrix(X.astype(np.float32)), targets(y, loss), loss=loss, **options)


FIXTURES = {"dense64": dense64, "padded32": padded32}

LOSSES = {
    "hinge": js.Hinge(),
    "smooth_hinge": js.SmoothHinge(0.5),
    "squared_hinge": js.SquaredHinge(),
    "logistic": js.Logistic(),
    "squared": js.Squared(),
    "absolute": js.Absolute(),
}

_FEW = js.Shrinking(js.SDCA(), share=4, rounds=4)
_ADAM = optax.adam(0.01)
_DECAY = lambda problem: optax.sgd(lambda t: 1.0 / (problem.lam * (t + 1.0)))


def erm_table() -> list[Case]:
    hinge, smooth, logistic = LOSSES["hinge"], LOSSES["smooth_hinge"], LOSSES["logistic"]
    net = {"regularizer": js.ElasticNet(0.1)}
    return [
        Case("sdca", js.SDCA(), smooth, 60, 1e-6, True, ("sdca",)),
        Case("sdca-hinge", js.SDCA(), hinge, 200, 1e-6),
        Case("sdca-absolute", js.SDCA(), LOSSES["absolute"], 300, 1e-4),
        Case("sdca-logistic", js.SDCA(block=16), logistic, 60, 1e-6, True),
        Case("sdca-squared", js.SDCA(), LOSSES["squared"], 100, 1e-6, True),
        Case("sdca-squared-hinge", js.SDCA(), LOSSES["squared_hinge"], 100, 1e-6, True),
        Case("sdca-elastic-net", js.SDCA(), smooth, 60, 1e-6, True, options=net),
        Case("sdca-uniform", js.SDCA(js.Uniform()), smooth, 80, 1e-6, True),
        Case("sdca-optimal", js.SDCA(js.Optimal()), smooth, 80, 1e-6, True),
        Case("sdca-nice", js.SDCA(js.Nice(4)), smooth, 120, 1e-6, True),
        Case("iprox-sdca", js.iprox_sdca(), hinge, 300, 1e-4, names=("iprox_sdca",)),
        Case("msdca", js.msdca(4), smooth, 120, 1e-6, True, ("msdca",)),
        Case("quartz", js.Quartz(), smooth, 60, 1e-6, True, ("quartz",)),
        Case("quartz-2-optimal", js.Quartz(js.Optimal(), option=2), logistic, 200, 1e-6, True),
        Case("quartz-2-nice", js.Quartz(js.Nice(4), option=2), smooth, 600, 1e-6, True),
        Case("quartz-elastic-net", js.Quartz(), smooth, 60, 1e-6, True, options=net),
        Case("asdca", js.ASDCA(), smooth, 400, 1e-6, True, ("asdca",)),
        Case("asdca-nice", js.ASDCA(js.Nice(4)), logistic, 400, 1e-6, True),
        Case("spdc", js.SPDC(), smooth, 120, 1e-6, True, ("spdc",)),
        Case("spdc-nice", js.SPDC(js.Nice(4)), logistic, 200, 1e-6, True),
        Case("apcg", js.APCG(), smooth, 120, 1e-6, True, ("apcg",)),
        Case("accprox-sdca", js.AccProxSDCA(), smooth, 60, 1e-6, True, ("accprox_sdca",)),
        Case("sdna", js.SDNA(4), smooth, 60, 1e-6, True, ("sdna",)),
        Case("disdca", js.DisDCA(3, 5), smooth, 120, 1e-6, True, ("disdca",)),
        Case("disdca-basic", js.DisDCA(2, 3, practical=False), smooth, 400, 1e-6, True),
        Case("sag", js.SAG(), smooth, 400, 1e-6, True, ("sag",)),
        Case("saga", js.SAGA(), smooth, 100, 1e-6, True, ("saga",)),
        Case("saga-uniform", js.SAGA(sampling=js.Uniform()), logistic, 100, 1e-6, True),
        Case("svrg", js.SVRG(), smooth, 100, 1e-6, True, ("svrg",)),
        Case("svrg-2", js.SVRG(law=js.AnyBefore(), m=200), logistic, 100, 1e-6, True),
        Case("s2gd", js.s2gd(), smooth, 100, 1e-6, True, ("s2gd",)),
        Case("ms2gd", js.MS2GD(), smooth, 100, 1e-6, True, ("ms2gd",)),
        Case("ms2gd-elastic-net", js.MS2GD(b=4), logistic, 100, 1e-6, True, options=net),
        Case("s2cd", js.S2CD(m=2000), smooth, 100, 1e-6, True, ("s2cd",)),
        Case("dfsdca", js.DfSDCA(), smooth, 100, 1e-6, True, ("dfsdca",)),
        Case("dfsdca-nice", js.DfSDCA(js.Nice(4)), logistic, 100, 1e-6, True),
        Case("miso", js.miso(), smooth, 100, 1e-6, True, ("miso",)),
        Case("miso1", js.miso1(), smooth, 400, 1e-6, True, ("miso1",)),
        Case("finito", js.Finito(), logistic, 100, 1e-6, True, ("finito",)),
        Case("rcdm", js.rcdm(), smooth, 60, 1e-6, True, ("rcdm",)),
        Case("rcdm-half", js.rcdm(0.5), LOSSES["squared"], 60, 1e-6, True),
        Case("pcdm", js.pcdm(3), logistic, 200, 1e-6, True, ("pcdm",)),
        Case("pcdm-elastic-net", js.pcdm(3), smooth, 200, 1e-6, True, options=net),
        Case("shotgun", js.shotgun(), smooth, 60, 1e-6, True, ("shotgun",)),
        Case("alpha", js.alpha(), smooth, 60, 1e-6, True, ("alpha",)),
        Case("approx", js.approx(3), smooth, 60, 1e-6, True, ("approx",)),
        Case("approx-examples", js.approx(4, js.Examples()), smooth, 120, 1e-6, True),
        Case("hydra", js.hydra(), smooth, 120, 1e-6, True, ("hydra",)),
        Case("hydra2", js.hydra2(3), logistic, 120, 1e-6, True, ("hydra2",)),
        Case("alm-newton", js.ALMNewton(), hinge, 40, 1e-6, True, ("alm_newton",)),
        Case("alm-newton-free", js.ALMNewton(), hinge, 40, 1e-6, options={"intercept": "free"}),
        Case("newton", js.Newton(), smooth, 40, 1e-6, True, ("newton",)),
        Case("newton-logistic", js.Newton(), logistic, 20, 1e-6, True),
        Case("lbfgs", js.LBFGS(), logistic, 60, 1e-6, True, ("lbfgs",)),
        Case(
            "shrinking", js.shrinking_sdca(), hinge, 60, 1e-6, names=("shrinking_sdca",), picks=True
        ),
        Case("sgd", js.SGD(), hinge, 200, 2e-2, names=("sgd",)),
        Case("sgd-projected", js.SGD(js.InverseSqrt(0.5), project=True), smooth, 200, 2e-1),
        Case("pegasos", js.pegasos(), hinge, 200, 2e-1, names=("pegasos",)),
        Case("pegasos-batch", js.pegasos(batch=4, project=True), smooth, 200, 2e-1),
        Case("subgradient", js.Subgradient(), hinge, 200, 2e-2, names=("subgradient",)),
        Case("gradient", js.Subgradient(), smooth, 200, 1e-3),
        Case("averaged", js.Averaged(js.SGD(), js.UniformMean()), hinge, 200, 2e-2),
        Case("averaged-suffix", js.Averaged(js.SGD(), js.SuffixMean()), smooth, 200, 2e-2),
        Case("averaged-steps", js.Averaged(js.Subgradient()), smooth, 200, 2e-3),
        Case("certified", js.Certified(js.pegasos(project=True)), hinge, 100, 2e-2),
        Case("optax-adam", js.FromOptax(_ADAM, batch=8), smooth, 200, 2e-2, names=("adam",)),
        Case("optax-decay", js.FromOptax(_DECAY, batch=8), logistic, 200, 2e-2),
    ]


def table() -> list[Case]:
    """Every row; each family of problems other than ERM has a file of its own."""
    from tests import toy_ball, toy_kernel, toy_structured

    families = (toy_ball, toy_structured, toy_kernel)
    return [*erm_table(), *(case for family in families for case in family.table())]
