"""Importing this package fills the registry."""

from jaxopt_svm.methods.dual.sdca import SDCA
from jaxopt_svm.methods.primal.sgd import SGD, pegasos
from jaxopt_svm.methods.primal.subgradient import Subgradient

__all__ = ["SDCA", "SGD", "Subgradient", "pegasos"]
