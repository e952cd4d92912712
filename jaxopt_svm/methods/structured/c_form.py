r"""The C-form of the lecture on SGD for structures, and what its C and gamma are here.

    1/2 ||w||^2 + C sum_i max_y H_i(y; w)                 the objective on its slides
    w <- (1 - gamma_t) w - C gamma_t [psi(x_i, u) - psi(x_i, y_i)]      the step on its slides

This package has lam/2 ||w||^2 + mean and w <- (1 - eta lam) w - eta [...], so gamma_t = lam eta_t
always. What C is depends on which of the two is meant: the step is that of lam = 1/C
(``SlideScale``), the objective that of lam = 1/(C n) (``SumScale``), whose unbiased step has C n
for C. Checked in proofs_checks/c_form.py.
Lecture "Stochastic Gradient Descent for Structures" (Srikumar).
"""

from typing import Any

from jaxopt_svm.core.pytree import pytree

__all__ = ["CForm", "CFormBottou", "SlideScale", "SumScale"]


@pytree
class SlideScale:
    """C of the step as printed: lam = 1/C."""

    def C(self, problem):
        return 1.0 / problem.lam

    def lam(self, C, n: int):
        del n
        return 1.0 / C


@pytree
class SumScale:
    """C of the objective as printed: lam = 1/(C n)."""

    def C(self, problem):
        return 1.0 / (problem.lam * problem.n)

    def lam(self, C, n: int):
        return 1.0 / (C * n)


@pytree
class CForm:
    """A rule for gamma_t, such as ``Hyperbolic(gamma0)``, as one for eta_t = gamma_t/lam."""

    rule: Any

    def size(self, problem, t):
        return self.rule.size(problem, t) / problem.lam


@pytree
class CFormBottou:
    """gamma_t = gamma0/(1 + gamma0 t/C) as printed, with the C that ``c_scale`` says.

    The strong convexity of the C-form is 1, so gamma0/(1 + gamma0 t) is the schedule that matches
    it, ``CForm(Bottou(gamma0, 1.0))``; as printed, a small C leaves the start alive for ever.
    """

    gamma0: float = 0.5
    c_scale: Any = SlideScale()

    def size(self, problem, t):
        t, C = t.astype(problem.lam.dtype), self.c_scale.C(problem)
        return self.gamma0 / (1.0 + self.gamma0 * t / C) / problem.lam
