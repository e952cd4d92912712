"""What methods say, before anything compiles, when a problem is not theirs."""

from jaxopt_svm.problems.erm import ERM

__all__ = ["needs_erm", "needs_l2", "refuse_free_intercept"]


def _name(method) -> str:
    return type(method).__name__


def needs_erm(method, problem) -> None:
    if not isinstance(problem, ERM):
        raise ValueError(
            f"{_name(method)} solves ERM problems (js.make_erm); got {type(problem).__name__}"
        )


def needs_l2(method, problem) -> None:
    if not problem.regularizer.linear:
        raise ValueError(
            f"{_name(method)} needs the l2 regulariser; for the elastic net use SDCA or FromOptax"
        )


def refuse_free_intercept(method, problem) -> None:
    if problem.regularizer.free:
        raise ValueError(
            f'{_name(method)} cannot fit intercept="free"; use Subgradient or FromOptax, '
            'or make the problem with intercept="penalised"'
        )
