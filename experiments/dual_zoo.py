"""Which dual method closes the gap soonest, dense and sparse, for four lambdas at once?

Every dual method on Covertype (50,000 rows) and on the 20 Newsgroups stand-in for rcv1, smoothed
hinge, four lambdas as lanes of one sweep, float32. The gap is drawn against row touches / n, the
bound of SDCA and of Quartz beside their traces.
"""

import jaxopt_svm as js
from experiments.common import Found
from experiments.zoo import Zoo, compare

METHODS = {
    "sdca": js.SDCA(),
    "iprox_sdca": js.iprox_sdca(),
    "msdca": js.msdca(16),
    "disdca": js.DisDCA(4, 32),
    "quartz I": js.Quartz(),
    "quartz II": js.Quartz(option=2),
    "asdca": js.ASDCA(),
    "spdc": js.SPDC(),
    "apcg": js.APCG(),
    "accprox_sdca": js.AccProxSDCA(),
    "sdna": js.SDNA(16, 2),
}
SPARSE = METHODS | {"spdc": js.SPDC(js.Nice(64)), "disdca": js.DisDCA(4, 256)}
QUICK = {name: METHODS[name] for name in ("sdca", "quartz I", "apcg", "sdna")}


def main(*, quick: bool = False) -> Found:
    # SDCA wide, because Quartz with option I moves alpha as SDCA does and covers it
    bounds = ("sdca", "quartz I")
    zoo = Zoo(METHODS, SPARSE, QUICK, js.SmoothHinge(0.5), with_bound=bounds, bold="sdca")
    return compare(zoo, quick)
