"""Estimators with scikit-learn's manners: fit, predict, and the certificate beside them.

    from jaxopt_svm.estimators import LinearSVM, LinearSVMCV, KernelSVM, StructuredSVM

They need scikit-learn, which ``pip install "jaxopt_svm[cli]"`` brings; nothing else of the package
imports this room. docs/from_scikit_learn.md has the map of parameters.
"""

from jaxopt_svm.data.extra import need

need("sklearn.base", "jaxopt_svm.estimators")

from jaxopt_svm.estimators.kernel import KernelSVM  # noqa: E402
from jaxopt_svm.estimators.linear import LinearSVM  # noqa: E402
from jaxopt_svm.estimators.linear_cv import LinearSVMCV  # noqa: E402
from jaxopt_svm.estimators.structured import StructuredSVM  # noqa: E402

__all__ = ["KernelSVM", "LinearSVM", "LinearSVMCV", "StructuredSVM"]
