"""Certified, batched SVM and regularised-ERM optimisation in JAX."""

from jaxopt_svm.core.eso import EigenESO, SparseESO, SpectralESO, eso_constants, eso_ratio
from jaxopt_svm.core.protocols import Certificate, Point
from jaxopt_svm.core.registry import list_methods
from jaxopt_svm.core.run import lam_grid, path, run, solve, sweep
from jaxopt_svm.core.sampling import Importance, Nice, Norms, Optimal, Shuffled, Uniform
from jaxopt_svm.core.sets import Bucket, Distributed, Independent, Partition
from jaxopt_svm.core.solution import Solution, Status, Trace, load, save
from jaxopt_svm.methods import (
    APCG,
    ASDCA,
    SDCA,
    SDNA,
    SGD,
    SPDC,
    AccProxSDCA,
    DisDCA,
    Quartz,
    Subgradient,
    iprox_sdca,
    msdca,
    pegasos,
)
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
from jaxopt_svm.problems.vector_losses import MultiSquared, Softmax
from jaxopt_svm.wrappers.averaged import Averaged, PolynomialMean, SuffixMean, UniformMean
from jaxopt_svm.wrappers.certified import Certified
from jaxopt_svm.wrappers.from_optax import FromOptax

__version__ = "0.1.0"

__all__ = [
    "APCG",
    "ASDCA",
    "ERM",
    "L2",
    "SDCA",
    "SDNA",
    "SGD",
    "SPDC",
    "Absolute",
    "AccProxSDCA",
    "Averaged",
    "Bottou",
    "Bucket",
    "C_from_lam",
    "Certificate",
    "Certified",
    "Constant",
    "DisDCA",
    "Distributed",
    "EigenESO",
    "ElasticNet",
    "FromOptax",
    "Hinge",
    "Hyperbolic",
    "Importance",
    "Independent",
    "InverseLam",
    "InverseSqrt",
    "Logistic",
    "MultiSquared",
    "Nice",
    "Norms",
    "Optimal",
    "Partition",
    "Point",
    "PolynomialMean",
    "Quartz",
    "Schedule",
    "Shuffled",
    "SmoothHinge",
    "Softmax",
    "Solution",
    "SparseESO",
    "SpectralESO",
    "Squared",
    "SquaredHinge",
    "Status",
    "Subgradient",
    "SuffixMean",
    "Trace",
    "Uniform",
    "UniformMean",
    "decision",
    "iprox_sdca",
    "eso_constants",
    "eso_ratio",
    "lam_from_C",
    "lam_from_ridge_alpha",
    "lam_from_sgd_alpha",
    "lam_grid",
    "load",
    "make_erm",
    "msdca",
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
