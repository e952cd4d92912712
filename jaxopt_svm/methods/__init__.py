"""Importing this package fills the registry."""

from jaxopt_svm.methods.dual.accprox_sdca import AccProxSDCA
from jaxopt_svm.methods.dual.apcg import APCG
from jaxopt_svm.methods.dual.asdca import ASDCA
from jaxopt_svm.methods.dual.disdca import DisDCA
from jaxopt_svm.methods.dual.quartz import Quartz
from jaxopt_svm.methods.dual.sdca import SDCA, iprox_sdca, msdca
from jaxopt_svm.methods.dual.sdna import SDNA
from jaxopt_svm.methods.dual.spdc import SPDC
from jaxopt_svm.methods.primal.sgd import SGD, pegasos
from jaxopt_svm.methods.primal.subgradient import Subgradient

__all__ = [
    "APCG",
    "ASDCA",
    "SDCA",
    "SDNA",
    "SGD",
    "SPDC",
    "AccProxSDCA",
    "DisDCA",
    "Quartz",
    "Subgradient",
    "iprox_sdca",
    "msdca",
    "pegasos",
]
