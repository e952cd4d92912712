"""Certified, batched SVM and regularised-ERM optimisation in JAX."""

from jaxopt_svm.core.protocols import Certificate, Point
from jaxopt_svm.core.registry import list_methods
from jaxopt_svm.core.run import lam_grid, path, run, solve, sweep
from jaxopt_svm.core.sampling import Importance, Nice, Optimal, Shuffled, Uniform
from jaxopt_svm.core.solution import Solution, Status, Trace, load, save
from jaxopt_svm.methods import SDCA, SGD, Subgradient, pegasos
from jaxopt_svm.methods.primal.step_rules import (
    Bottou,
    Constant,
    Hyperbolic,
    InverseLam,
    InverseSqrt,
    Schedule,
)
from jaxopt_svm.problems.convert import (
    C_from_lam,
    lam_from_C,
    lam_from_ridge_alpha,
    lam_from_sgd_alpha,
    ridge_alpha_from_lam,
    sgd_alpha_from_lam,
)
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.losses import (
    Absolute,
    Hinge,
    Logistic,
    SmoothHinge,
    Squared,
    SquaredHinge,
)
from jaxopt_svm.problems.make import make_erm
from jaxopt_svm.problems.predict import decision, predict
from jaxopt_svm.problems.recertify import recertify
from jaxopt_svm.problems.regularizers import L2, ElasticNet
from jaxopt_svm.wrappers.averaged import Averaged, PolynomialMean, SuffixMean, UniformMean
from jaxopt_svm.wrappers.certified import Certified
from jaxopt_svm.wrappers.from_optax import FromOptax

__version__ = "0.1.0"

__all__ = [
    "ERM",
    "L2",
    "SDCA",
    "SGD",
    "Absolute",
    "Averaged",
    "Bottou",
    "C_from_lam",
    "Certificate",
    "Certified",
    "Constant",
    "ElasticNet",
    "FromOptax",
    "Hinge",
    "Hyperbolic",
    "Importance",
    "InverseLam",
    "InverseSqrt",
    "Logistic",
    "Nice",
    "Optimal",
    "Point",
    "PolynomialMean",
    "Schedule",
    "Shuffled",
    "SmoothHinge",
    "Solution",
    "Squared",
    "SquaredHinge",
    "Status",
    "Subgradient",
    "SuffixMean",
    "Trace",
    "Uniform",
    "UniformMean",
    "decision",
    "lam_from_C",
    "lam_from_ridge_alpha",
    "lam_from_sgd_alpha",
    "lam_grid",
    "load",
    "make_erm",
    "list_methods",
    "path",
    "pegasos",
    "predict",
    "recertify",
    "ridge_alpha_from_lam",
    "run",
    "save",
    "sgd_alpha_from_lam",
    "solve",
    "sweep",
]
