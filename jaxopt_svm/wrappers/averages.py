r"""The lecture's subgradient methods: steps in a ball, and the mean of the iterates as the answer.

    subgradient_descent   all examples a step       L(mean) - L* <= B G/sqrt(T)
    projected_sgd         one example a step        the same in expectation
    minibatch_sgd         b examples a step         the same in expectation
    one_pass_sgd          a fresh example a step    the same for the risk L_D, no projection

With T known the step is B/(G sqrt(T)), without it B/(G sqrt(t)) and the bound 3 B G/sqrt(T) (see
methods/primal/step_rules.py; G = R on a ball). The answer is the mean, not the last iterate: for
that no constant would do (proofs_checks/ball_last_iterate.py). A step of b examples costs b rows;
the worst-case number of steps does not depend on b, so b = 1 is best in rows touched.

Lecture "Introduction to Machine Learning" (Srebro), subgradient descent, SGD, mini-batches, one
pass. Zinkevich, ICML 2003; Nemirovski, Juditsky, Lan & Shapiro, SIAM J. Optim. 19 (2009).
"""

from typing import Any

from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Uniform
from jaxopt_svm.core.visits import BLOCK
from jaxopt_svm.methods.primal.one_pass import OnePass
from jaxopt_svm.methods.primal.sgd import SGD
from jaxopt_svm.methods.primal.step_rules import AnyTime, Horizon
from jaxopt_svm.methods.primal.subgradient import Subgradient
from jaxopt_svm.wrappers.averaged import Averaged, UniformMean

__all__ = ["minibatch_sgd", "one_pass_sgd", "projected_sgd", "subgradient_descent"]


def _info(name: str, title: str, problems: str = "over a ball; ERM, any loss, l2") -> Info:
    return Info(
        name=name,
        family="primal",
        problems=problems,
        certificate="its own dual point on a ball, else from slopes",
        lecture=f"Introduction to Machine Learning: {title}",
        reference="Zinkevich 2003; Nemirovski et al. 2009",
    )


def _rule(T: float | None) -> Any:
    """The step for T steps in all, or for any number of them."""
    return AnyTime() if T is None else Horizon(float(T))


@register(_info("subgradient_descent", "projected subgradient descent"))
def subgradient_descent(T: float | None = None) -> Averaged:
    """Projected subgradient descent on all examples, uniform mean. T: number of steps."""
    return Averaged(Subgradient(_rule(T), project=True), UniformMean())


@register(_info("projected_sgd", "SGD with a norm constraint"))
def projected_sgd(T: float | None = None, block: int = BLOCK) -> Averaged:
    """Projected SGD on single independent draws, uniform mean. T: number of steps, n a pass."""
    return Averaged(SGD(_rule(T), Uniform(), project=True, block=block), UniformMean())


@register(_info("minibatch_sgd", "mini-batch SGD"))
def minibatch_sgd(b: int = 8, T: float | None = None) -> Averaged:
    """Projected SGD on b independent draws a step, uniform mean. T: steps, n/b a pass."""
    return Averaged(SGD(_rule(T), Uniform(), batch=b, project=True), UniformMean())


@register(_info("one_pass_sgd", "one pass over fresh examples", "populations (js.make_population)"))
def one_pass_sgd(T: float = 1000.0, examples: int = 1000) -> Averaged:
    """SGD on the risk itself: each example is drawn, used once and forgotten. Uniform mean.

    T: examples in all. examples: how many make a pass of the drivers.
    """
    return Averaged(OnePass(Horizon(float(T)), examples=examples), UniformMean())
