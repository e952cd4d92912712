"""Structured outputs: models, the problem and its certificate, and how to make them."""

from jaxopt_svm.problems.structured.chain import Chain
from jaxopt_svm.problems.structured.decode import decode
from jaxopt_svm.problems.structured.hinge import chain_hinge, structured_hinge, tree_hinge
from jaxopt_svm.problems.structured.make import (
    make_chain,
    make_multiclass,
    make_structured,
    make_tree,
)
from jaxopt_svm.problems.structured.mixture import Mixture
from jaxopt_svm.problems.structured.model import Model
from jaxopt_svm.problems.structured.multiclass import Multiclass
from jaxopt_svm.problems.structured.nodes import Inputs, Statistics
from jaxopt_svm.problems.structured.problem import Example, Oracle, Structured
from jaxopt_svm.problems.structured.rescaled import (
    PosLearn,
    SlackRescaled,
    poslearn,
    slack_rescaling,
)
from jaxopt_svm.problems.structured.softened import Softened, crf, softmax_margin
from jaxopt_svm.problems.structured.tree import Tree

__all__ = [
    "Chain",
    "Example",
    "Inputs",
    "Mixture",
    "Model",
    "Multiclass",
    "Oracle",
    "Statistics",
    "Structured",
    "Tree",
    "chain_hinge",
    "decode",
    "make_chain",
    "make_multiclass",
    "make_structured",
    "make_tree",
    "structured_hinge",
    "tree_hinge",
    "PosLearn",
    "SlackRescaled",
    "Softened",
    "crf",
    "poslearn",
    "slack_rescaling",
    "softmax_margin",
]
