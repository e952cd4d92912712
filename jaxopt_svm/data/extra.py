"""Packages of the extra ``cli``, imported only where they are used."""

import importlib
from types import ModuleType

__all__ = ["need"]

SOLD_AS = {"sklearn": "scikit-learn"}


def need(module: str, purpose: str) -> ModuleType:
    """Import ``module``, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.split(".")[0]
        if error.name is None or error.name.split(".")[0] != package:
            raise  # the package is here and something it needs is not: another story
        name = SOLD_AS.get(package, package)
        raise ImportError(f'{purpose} needs {name}: pip install "jaxopt_svm[cli]"') from None
