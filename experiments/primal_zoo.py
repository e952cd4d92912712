"""How do the modern primal methods compare with SGD, dense and sparse, for four lambdas at once?

Finite sums (SAG to Finito, dfSDCA) and coordinate descent on features beside SGD and SDCA, on
Covertype (50,000 rows) and on the 20 Newsgroups stand-in for rcv1; logistic loss, four lambdas as
lanes of one sweep, float32. The gap is drawn against row touches / n. Expected from the lecture:
straight lines (linear rates) against SGD's curve, steeper for larger lambda.
"""

import jaxopt_svm as js
from experiments.common import Found
from experiments.zoo import LAMS, Zoo, compare, reached

FINITE_SUMS = {
    "sgd": js.SGD(),
    "sgd, averaged": js.Averaged(js.SGD(), js.PolynomialMean()),
    "sdca": js.SDCA(),
    "sag": js.SAG(),
    "saga": js.SAGA(),
    "svrg": js.SVRG(),
    "s2gd": js.s2gd(),
    "ms2gd": js.MS2GD(),
    "s2cd": js.S2CD(),
    "dfsdca": js.DfSDCA(),
    "miso": js.miso(),
}
# those that remember points, n d numbers a lambda: 500 million of them for the texts
TABLES = {"miso1": js.miso1(), "finito": js.Finito()}
COORDINATES = {
    "rcdm": js.rcdm(),
    "pcdm": js.pcdm(8),
    "shotgun": js.shotgun(2),
    "approx": js.approx(8),
    "alpha": js.alpha(),
    "hydra": js.hydra(4),
    "hydra2": js.hydra2(4),
}
# the slowest last, in case the time is up
LAST = ("sag", "s2gd", "ms2gd", "s2cd")
FIRST = {name: method for name, method in FINITE_SUMS.items() if name not in LAST}
DENSE = FIRST | COORDINATES | {name: FINITE_SUMS[name] for name in LAST} | TABLES
# larger sets, since a step costs O(d) there
SPARSE = FIRST | {
    "rcdm": js.rcdm(),
    "pcdm": js.pcdm(256),
    "shotgun": js.shotgun(8),
    "approx": js.approx(256),
    "hydra": js.hydra(4, 64),
    "hydra2": js.hydra2(4, 64),
    "sag": js.SAG(),
    "s2gd": js.s2gd(),
    "ms2gd": js.MS2GD(b=32),
    "alpha": js.alpha(),
    "s2cd": js.S2CD(),
}
QUICK = {name: FINITE_SUMS[name] for name in ("sgd", "saga", "svrg", "dfsdca")}
QUICK |= {"rcdm": js.rcdm()}


ASKED = 1e-4


def main(*, quick: bool = False) -> Found:
    looks = {"bold": "saga", "dashed": tuple(COORDINATES), "passes_scale": "linear"}
    zoo = Zoo(DENSE, SPARSE, QUICK, js.Logistic(), ASKED, **looks)
    found = compare(zoo, quick)
    cases = [(data, lam) for data in dict.fromkeys(r["data"] for r in found.rows) for lam in LAMS]
    arrived = lambda name: sum(
        reached(found.rows, data, name, lam, ASKED) is not None for data, lam in cases
    )
    against = f"SGD gets there in {arrived('sgd')} of {len(cases)} cases, SAGA in {arrived('saga')}"
    return found._replace(sentence=f"{found.sentence} {against}.")
