"""What methods say, before anything compiles, when a problem is not theirs."""

from jaxopt_svm.core.sampling import Nice, Shuffled, Uniform
from jaxopt_svm.problems.ball import Ball
from jaxopt_svm.problems.erm import ERM
from jaxopt_svm.problems.kernel import KernelSVM
from jaxopt_svm.problems.losses import Hinge
from jaxopt_svm.problems.split import are_dense
from jaxopt_svm.problems.structured.problem import Structured

__all__ = [
    "needs_erm",
    "needs_examples",
    "needs_free_intercept",
    "needs_gradients",
    "needs_hinge",
    "needs_hinge_and_factor",
    "needs_kernel",
    "needs_kernel_hinge",
    "needs_l2",
    "needs_scalar",
    "needs_smooth",
    "needs_structured",
    "needs_structures",
    "needs_uniform_sets",
    "needs_uniform_visits",
    "refuse_free_intercept",
    "refuse_free_kernel_intercept",
]


def _name(method) -> str:
    return type(method).__name__


def needs_erm(method, problem) -> None:
    if not isinstance(problem, ERM):
        raise ValueError(
            f"{_name(method)} solves ERM problems (js.make_erm); got {type(problem).__name__}"
        )


def needs_examples(method, problem) -> None:
    if not isinstance(problem, ERM | Ball):
        raise ValueError(
            f"{_name(method)} solves ERM problems (js.make_erm) and those over a ball "
            f"(js.make_ball); got {type(problem).__name__}"
        )


def needs_structured(method, problem) -> None:
    if not isinstance(problem, Structured):
        raise ValueError(
            f"{_name(method)} solves structured problems (js.make_chain, js.make_multiclass, ...); "
            f"got {type(problem).__name__}"
        )

    if not problem.hinge:
        raise ValueError(
            f"{_name(method)} needs a maximum over labels; on the log-loss of a "
            f"{type(problem).__name__} problem use StructuredSGD, FromOptax or structured_adam"
        )


def needs_structures(method, problem) -> None:
    """Structured outputs with any loss."""
    if not isinstance(problem, Structured):
        raise ValueError(
            f"{_name(method)} solves structured problems (js.make_chain, js.make_multiclass, ...); "
            f"got {type(problem).__name__}"
        )


def needs_gradients(method, problem) -> None:
    if not hasattr(problem, "sample_grad"):
        raise ValueError(
            f"{_name(method)} needs a problem with gradients (js.make_erm, js.make_chain, ...); "
            f"got {type(problem).__name__}"
        )


def needs_l2(method, problem) -> None:
    if not problem.regularizer.linear:
        raise ValueError(
            f"{_name(method)} needs the l2 regulariser; for the elastic net use SDCA or FromOptax"
        )


def needs_scalar(method, problem) -> None:
    if problem.loss.vector:
        raise ValueError(
            f"{_name(method)} is written for one output; for {type(problem.loss).__name__} use "
            "SDCA, Quartz or SPDC"
        )


def needs_smooth(method, problem) -> None:
    if not problem.loss.smooth:
        raise ValueError(
            f"{_name(method)} needs a smooth loss, and {type(problem.loss).__name__} is not; "
            "use SmoothHinge(mu) in its place, or SDCA, which takes any loss"
        )


def needs_uniform_visits(method, sampling) -> None:
    if not isinstance(sampling, Uniform | Shuffled):
        raise ValueError(
            f"{_name(method)} is analysed for uniform single examples; "
            f"use Uniform() or Shuffled(), not {type(sampling).__name__}"
        )


def needs_uniform_sets(method, sampling) -> None:
    if not isinstance(sampling, Uniform | Shuffled | Nice):
        raise ValueError(
            f"{_name(method)} is analysed for uniform examples and sets; use Uniform(), Shuffled() "
            f"or Nice(m), not {type(sampling).__name__}. Quartz takes any sampling"
        )


def refuse_free_intercept(method, problem) -> None:
    if problem.regularizer.free:
        raise ValueError(
            f'{_name(method)} cannot fit intercept="free"; use Subgradient or FromOptax, '
            'or make the problem with intercept="penalised"'
        )


def needs_hinge(method, problem) -> None:
    if not isinstance(problem.loss, Hinge):
        other = "BoxSDCA" if isinstance(problem, KernelSVM) else "SDCA"
        raise ValueError(
            f"{_name(method)} solves the quadratic program of the hinge; for "
            f"{type(problem.loss).__name__} use {other}"
        )


def needs_kernel(method, problem) -> None:
    if not isinstance(problem, KernelSVM):
        raise ValueError(
            f"{_name(method)} works on a Gram matrix (js.make_kernel_svm); "
            f"got {type(problem).__name__}"
        )


def needs_kernel_hinge(method, problem) -> None:
    needs_kernel(method, problem)
    needs_hinge(method, problem)


def needs_free_intercept(method, problem) -> None:
    if problem.intercept != "free":
        raise ValueError(
            f'{_name(method)} moves pairs along sum beta = 0, which is intercept="free"; for '
            f'"{problem.intercept}" use BoxSDCA, ActiveSet or InteriorPoint'
        )


def refuse_free_kernel_intercept(method, problem) -> None:
    if problem.intercept == "free":
        raise ValueError(
            f'{_name(method)} moves one coefficient at a time and cannot hold intercept="free"; '
            'use Decomposition, SMO, ActiveSet or InteriorPoint, or intercept="penalised"'
        )


def needs_hinge_and_factor(method, problem) -> None:
    """A problem whose K is V V': a kernel SVM, or a linear model with dense rows."""
    if isinstance(problem, ERM):
        needs_l2(method, problem)
        needs_hinge(method, problem)
        if not are_dense(problem.rows):
            raise ValueError(
                f"{_name(method)} forms X'DX and needs dense rows; pass X.toarray(), or use SDCA"
            )
    else:
        needs_kernel_hinge(method, problem)
