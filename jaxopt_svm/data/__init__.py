"""Data sets by name or from a file; nothing is downloaded."""

from jaxopt_svm.data.dataset import Dataset
from jaxopt_svm.data.load import load
from jaxopt_svm.data.named import SETS
from jaxopt_svm.data.structured import STRUCTURED, load_structured

__all__ = ["SETS", "STRUCTURED", "Dataset", "load", "load_structured"]
