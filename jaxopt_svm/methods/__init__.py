"""Importing this package fills the registry."""

from jaxopt_svm.methods.coordinate.alpha import Alpha
from jaxopt_svm.methods.coordinate.coordinate_descent import (
    CoordinateDescent,
    Undamped,
    pcdm,
    rcdm,
    shotgun,
)
from jaxopt_svm.methods.coordinate.hydra import HydraBeta, hydra
from jaxopt_svm.methods.cutting.bmrm import BMRM
from jaxopt_svm.methods.cutting.oca import OCA
from jaxopt_svm.methods.cutting.svm_perf import SVMPerf
from jaxopt_svm.methods.dual.accprox_sdca import AccProxSDCA
from jaxopt_svm.methods.dual.apcg import APCG
from jaxopt_svm.methods.dual.asdca import ASDCA
from jaxopt_svm.methods.dual.disdca import DisDCA
from jaxopt_svm.methods.dual.quartz import Quartz
from jaxopt_svm.methods.dual.sdca import SDCA, iprox_sdca, msdca
from jaxopt_svm.methods.dual.sdna import SDNA
from jaxopt_svm.methods.dual.spdc import SPDC
from jaxopt_svm.methods.finite_sum.dfsdca import ConvexTheta, Damping, DfSDCA, NonConvexTheta, miso
from jaxopt_svm.methods.finite_sum.iterate_table import Finito, Smoothness, StrongConvexity, miso1
from jaxopt_svm.methods.finite_sum.lengths import AnyAfter, AnyBefore, Geometric, Last
from jaxopt_svm.methods.finite_sum.ms2gd import MS2GD
from jaxopt_svm.methods.finite_sum.s2cd import S2CD
from jaxopt_svm.methods.finite_sum.sag import SAG
from jaxopt_svm.methods.finite_sum.saga import SAGA
from jaxopt_svm.methods.finite_sum.svrg import SVRG, s2gd
from jaxopt_svm.methods.kernel.active_set import ActiveSet
from jaxopt_svm.methods.kernel.box_sdca import BoxSDCA
from jaxopt_svm.methods.kernel.decomposition import Decomposition
from jaxopt_svm.methods.kernel.kernel_pegasos import KernelPegasos
from jaxopt_svm.methods.kernel.shrinking import ShrinkingSMO
from jaxopt_svm.methods.kernel.smo import SMO
from jaxopt_svm.methods.primal.huber import Huber, huber_agd, huber_gd
from jaxopt_svm.methods.primal.one_pass import OnePass
from jaxopt_svm.methods.primal.sgd import SGD, pegasos
from jaxopt_svm.methods.primal.subgradient import Subgradient
from jaxopt_svm.methods.second_order.alm_newton import ALMNewton
from jaxopt_svm.methods.second_order.interior_point import InteriorPoint
from jaxopt_svm.methods.second_order.interior_point_lowrank import InteriorPointLowRank
from jaxopt_svm.methods.second_order.lbfgs import LBFGS
from jaxopt_svm.methods.second_order.newton import Newton
from jaxopt_svm.methods.structured.adaptive import (
    AdaGrad,
    Adam,
    Adaptive,
    Coupled,
    Decoupled,
    Preconditioned,
    RMSProp,
    structured_adagrad,
    structured_adam,
    structured_rmsprop,
)
from jaxopt_svm.methods.structured.bcfw import BCFW
from jaxopt_svm.methods.structured.c_form import CForm, CFormBottou, SlideScale, SumScale
from jaxopt_svm.methods.structured.fasole import FASOLE
from jaxopt_svm.methods.structured.frank_wolfe import FrankWolfe
from jaxopt_svm.methods.structured.gap_sampling import GapProportional
from jaxopt_svm.methods.structured.sda import SDA, MaximalGain, SteepestAscent
from jaxopt_svm.methods.structured.sdm import SDM, MostViolating, Steepest
from jaxopt_svm.methods.structured.steps import Decreasing, LineSearch
from jaxopt_svm.methods.structured.structured_perceptron import (
    StructuredPerceptron,
    averaged_perceptron,
)
from jaxopt_svm.methods.structured.structured_sgd import StructuredSGD

__all__ = [
    "ALMNewton",
    "APCG",
    "ASDCA",
    "AccProxSDCA",
    "ActiveSet",
    "Alpha",
    "AnyAfter",
    "AnyBefore",
    "BCFW",
    "BoxSDCA",
    "BMRM",
    "ConvexTheta",
    "CoordinateDescent",
    "Damping",
    "Decomposition",
    "Decreasing",
    "DfSDCA",
    "DisDCA",
    "FASOLE",
    "Finito",
    "FrankWolfe",
    "GapProportional",
    "Geometric",
    "Huber",
    "HydraBeta",
    "InteriorPoint",
    "InteriorPointLowRank",
    "KernelPegasos",
    "LBFGS",
    "Last",
    "LineSearch",
    "MS2GD",
    "MaximalGain",
    "MostViolating",
    "Newton",
    "NonConvexTheta",
    "OnePass",
    "OCA",
    "Quartz",
    "S2CD",
    "SAG",
    "SAGA",
    "SDA",
    "SDCA",
    "SDM",
    "SDNA",
    "SGD",
    "SMO",
    "SPDC",
    "SVMPerf",
    "SVRG",
    "ShrinkingSMO",
    "Smoothness",
    "Steepest",
    "SteepestAscent",
    "StrongConvexity",
    "Subgradient",
    "Undamped",
    "huber_agd",
    "huber_gd",
    "hydra",
    "iprox_sdca",
    "miso",
    "miso1",
    "msdca",
    "pcdm",
    "pegasos",
    "rcdm",
    "s2gd",
    "shotgun",
    "AdaGrad",
    "Adam",
    "Adaptive",
    "CForm",
    "CFormBottou",
    "Coupled",
    "Decoupled",
    "Preconditioned",
    "RMSProp",
    "SlideScale",
    "StructuredPerceptron",
    "StructuredSGD",
    "SumScale",
    "averaged_perceptron",
    "structured_adagrad",
    "structured_adam",
    "structured_rmsprop",
]
