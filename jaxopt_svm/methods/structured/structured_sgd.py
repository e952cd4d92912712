r"""Stochastic subgradient descent for structured outputs, projected or not, in mini-batches or not.

    u_i = argmax_y H_i(y; w)  for i in A_t                          k decodings, all at the same w
    w <- (1 - eta_t lam) w - (eta_t/k) sum_{i in A_t} n c_i [psi(x_i, u_i) - psi(x_i, y_i)]
    w <- w min(1, B/||w||)                                          if projected

Three regimes: eta = 1/(lam t) (``InverseLam``), c/sqrt(t) on a ball (``InverseSqrt``, project), and
a constant step with averaging (``Constant``, js.Averaged). In the C-form gamma_t = lam eta_t, see
``CForm``; a shrink 1 - gamma_t <= 0 is refused. On a log-loss the slope is E[psi] - psi(x_i, y_i).

w_t = s_t v_t is kept as a number times a vector, so a step costs its decodings and the stored
features. So does the uniform mean of all iterates (``average``): with v_t = v_{t-1} + delta_t,
    sum_{i <= t} s_i v_i = S_t v_t - q_t,   S_t = S_{t-1} + s_t,   q_t = q_{t-1} + S_{t-1} delta_t

The dual point it carries. With eta_t = 1/(lam (t + t0)), without projection, the steps telescope:
w_{T+1} = w(alpha) with mass n N_i(y)/(T + t0) on label y of example i, N_i(y) how often it was
decoded. The labels are kept (``capacity`` an example, grown by the drivers), the truth takes what
is missing to one, so the problem can check it; after whole shuffled passes nothing is missing.

Lectures "Online solvers for convex risk minimization" (Franc), projected SGD, and "Stochastic
Gradient Descent for Structures" (Srikumar). Ratliff, Bagnell & Zinkevich, AISTATS 2007;
Shalev-Shwartz, Singer & Srebro, ICML 2007; Shamir & Zhang, ICML 2013, arXiv:1212.1824

Bounds on E[P] - P*, G = 2 Dm max_i n c_i (proofs_checks/structured_sgd_bounds.py):
    1/(lam t), last iterate        17 G^2 (1 + ln t)/(lam t)
    1/(lam t), uniform average     G^2 (1 + ln T)/(2 lam T)
The dual point: proofs_checks/structured_sgd_certificate.py
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxopt_svm.core.protocols import Point, Sample, Spent
from jaxopt_svm.core.pytree import pytree, static
from jaxopt_svm.core.registry import Info, register
from jaxopt_svm.core.sampling import Shuffled
from jaxopt_svm.methods.primal.step_rules import InverseLam
from jaxopt_svm.methods.refusals import needs_structures
from jaxopt_svm.methods.structured.label_cache import CAPACITY, as_mixture, find_slot
from jaxopt_svm.problems.structured.mixture import Mixture
from jaxopt_svm.problems.structured.problem import Structured

__all__ = ["StructuredSGD", "StructuredSGDState", "Turn"]

MOST = 256  # labels an example; beyond that new ones count as the truth, and D is a bound still
FOLD = 8  # steps between two times that the scale is multiplied into the vector
RARELY = 64  # the same with step 1/(lam t), whose shrinks multiply to no less than 1/t
TINY = 1e-30


class StructuredSGDState(NamedTuple):
    """w = scale v. q, total: q_t and S_t of the mean, () without it.
    labels (n, S, ...), counts (n, S): visits that decoded each, slot 0 the truth;
    () where the steps do not telescope. t: the step to come. full: a label found no slot."""

    v: Array
    scale: Array
    q: Any
    total: Any
    labels: Any
    counts: Any
    t: Array
    full: Array


class Turn(NamedTuple):
    """A sample, and whether to multiply the scale into the vector first."""

    sample: Sample
    fold: Array


@register(
    Info(
        name="structured_sgd",
        family="structured",
        problems="structured hinge and log-loss",
        certificate="its own dual point with step 1/(lam t), else from decoded labels",
        lecture="Online solvers: projected SGD; Stochastic Gradient Descent for Structures",
        reference="Ratliff et al. 2007; Shamir & Zhang 2013, arXiv:1212.1824",
    ),
    suits=lambda problem: isinstance(problem, Structured),
)
@pytree
class StructuredSGD:
    """Good rough answers in few passes, O(d) memory but for the labels of its certificate.

    rule: a step rule for eta_t. batch: examples a step. project: keep ||w|| <= radius,
    sqrt(l_max/lam) unless given (it contains the optimum). capacity: labels an example that the
    certificate remembers, 0 for none. average: return the uniform mean of the iterates; js.Averaged
    has other means, at O(d) a step.
    Examples over the devices of a mesh: a batch is brought together and its decodings are shared
    out; the labels kept for the certificate are on all devices (capacity=0: none).
    """

    rule: Any = InverseLam()
    sampling: Any = Shuffled()
    radius: Any = None
    batch: int = static(default=1)
    project: bool = static(default=False)
    capacity: int = static(default=CAPACITY)
    average: bool = static(default=False)

    bound_on = "primal"

    def certified(self, problem) -> bool:
        """Whether the steps telescope into a dual point (static)."""
        steps = isinstance(self.rule, InverseLam) and not self.project
        return steps and problem.hinge and self.capacity > 0

    def check(self, problem) -> None:
        needs_structures(self, problem)
        self.sampling.check(problem)
        if not self.sampling.serial:
            raise ValueError("StructuredSGD: for sets of examples use batch=k, a serial sampling")
        if not 1 <= self.batch <= problem.n:
            raise ValueError(
                f"StructuredSGD: batch must lie between 1 and n = {problem.n}; got {self.batch}"
            )
        if self.capacity == 1 or self.capacity < 0:
            raise ValueError(f"capacity: expected 0, or at least 2 labels; got {self.capacity}")
        if not isinstance(self.rule, InverseLam):
            gamma = float(self.rule.size(problem, jnp.ones((), jnp.int32)) * problem.lam)
            if not 0 < gamma < 1:
                raise ValueError(
                    f"rule: the first step has gamma = lam eta = {gamma:g}, and the shrink "
                    "1 - gamma must lie between 0 and 1; take a smaller step"
                )
        if self.project and self.radius is None and problem.limits() is None:
            raise ValueError("radius: the model has no limits to take it from; give one")

    def grown(self):
        """Doubled, up to ``MOST``; there, ``step`` stops asking."""
        return dataclasses.replace(self, capacity=min(2 * self.capacity, MOST))

    def holding(self, start: Point):
        slots = 1 + start.dual.masses.shape[-1] if isinstance(start.dual, Mixture) else 1
        return dataclasses.replace(self, capacity=max(self.capacity, slots) if self.capacity else 0)

    def init(self, problem: Structured, start: Point | None = None) -> StructuredSGDState:
        first = problem.origin() if start is None else start
        w, labels, counts = jnp.asarray(first.w), (), ()
        if isinstance(self.rule, InverseLam):
            # with t0 = 0 the first step would erase w: starting at 0 keeps every shrink positive
            w = jnp.where(self.rule.t0 > 0, w, 0)
        if self.certified(problem):
            dual = as_mixture(problem, start)
            more = self.capacity - 1 - dual.masses.shape[1]
            if more < 0:
                raise ValueError("start: has more labels an example than capacity; raise it")
            wide = lambda a: jnp.pad(a, [(0, 0), (0, more)] + [(0, 0)] * (a.ndim - 2))
            labels = jnp.concatenate([problem.y[:, None], dual.labels], axis=1)
            labels = wide(labels.astype(problem.y.dtype))
            masses = jnp.concatenate([jnp.zeros_like(problem.c)[:, None], dual.masses], axis=1)
            counts = wide(jnp.where(self.rule.t0 > 0, self.rule.t0 * masses / problem.n, 0))
            if start is not None:
                w = jnp.where(self.rule.t0 > 0, problem.rebuild(dual) / problem.lam, w)
        q, total = (jnp.zeros_like(w), jnp.zeros_like(problem.lam)) if self.average else ((), ())
        one, full = jnp.ones((), jnp.int32), jnp.zeros((), bool)
        return StructuredSGDState(
            w, jnp.ones_like(problem.lam), q, total, labels, counts, one, full
        )

    def draw(self, problem, key: Array) -> Turn:
        sample = self.sampling.draw(problem, key, self.batch)
        at = jnp.arange(sample.index.shape[0])
        often = RARELY if isinstance(self.rule, InverseLam) else FOLD
        return Turn(sample, at % often == 0)

    def step(self, problem: Structured, state: StructuredSGDState, turn: Turn):
        (index, mask), (v, scale, q, total, labels, counts, t, full) = turn.sample, state
        model, lam = problem.model, problem.lam
        # the sample, and so the branch, is the same for all lanes
        fold = lambda: (scale * v, jnp.ones_like(scale), jax.tree.map(lambda S: S / scale, total))
        v, scale, total = lax.cond(turn.fold, fold, lambda: (v, scale, total))
        # 1. k decodings; potentials are linear in w
        block = problem.batch(index)

        def slope(problem, example, v, scale):
            theta = jax.tree.map(lambda a: scale * a, problem.model.potentials(v, example.x))
            return problem.slope(theta, example)

        slopes, found = problem.shared_out(slope, block, v, scale)
        k = jnp.asarray(index.shape[0], lam.dtype)
        if mask is not None:
            block = block._replace(c=jnp.where(mask, block.c, 0))
            k = jnp.sum(mask).astype(lam.dtype)
        # 2. shrink and move
        eta = self.rule.size(problem, t)
        shrink = 1 - eta * lam
        if isinstance(self.rule, InverseLam):
            shrink = jnp.where(shrink > 0, shrink, 1)
        scale = shrink * scale
        amount = -eta / k * problem.n * block.c / scale
        v = self._add(model, v, block.x, slopes, amount)
        if self.average:
            q = self._add(model, q, block.x, slopes, total * amount)
        # 3. the ball
        if self.project:
            norm = jnp.maximum(jnp.abs(scale) * jnp.linalg.norm(v), TINY)
            scale = scale * jnp.minimum(1, self._radius(problem) / norm)
        if self.average:
            total = total + scale
        if self.certified(problem):
            labels, counts, missed = self._remember(state, index, mask, found, 1 / k)
            full = full | (missed if self.capacity < MOST else False)
        return StructuredSGDState(v, scale, q, total, labels, counts, t + 1, full)

    def _add(self, model, v, x, slopes, amount):
        """v + sum_i amount_i psi(x_i, slopes_i), one example after the other: each in place."""

        def one(v, at):
            x, slope, a = at
            return model.add(v, x, jax.tree.map(lambda m: a * m, slope)), None

        return lax.scan(one, v, (x, slopes, amount))[0]

    def _remember(self, state: StructuredSGDState, index, mask, found, share):
        """One visit more for each label found; without a slot it counts as the truth."""
        counted = jnp.ones(index.shape[0], bool) if mask is None else mask

        def one(tables, at):
            (labels, counts), (i, label, here) = tables, at
            taken = jnp.arange(self.capacity) == 0  # the truth's own slot
            slot, room = find_slot(labels[i], counts[i], taken, label)
            slot = jnp.where(room, slot, 0)
            kept = jnp.where(room & here, label, labels[i, slot])
            counts = counts.at[i, slot].add(jnp.where(here, share, 0))
            return (labels.at[i, slot].set(kept), counts), here & ~room

        index = jnp.minimum(index, state.counts.shape[0] - 1)
        tables, missed = lax.scan(one, (state.labels, state.counts), (index, found, counted))
        return *tables, jnp.any(missed)

    def _radius(self, problem: Structured):
        if self.radius is not None:
            return self.radius
        limits = problem.limits()
        assert limits is not None, "refused by check"
        return jnp.sqrt(limits.loss / problem.lam)

    def point(self, problem: Structured, state: StructuredSGDState) -> Point:
        w = state.scale * state.v
        if self.average:
            steps = (state.t - 1).astype(w.dtype)
            mean = (state.total * state.v - state.q) / jnp.maximum(steps, 1)
            w = jnp.where(steps > 0, mean, w)
        if not self.certified(problem):
            return Point(w)
        steps = (state.t - 1).astype(w.dtype) + self.rule.t0
        masses = problem.n * state.counts / jnp.maximum(steps, TINY)
        # what an example lacks is on the truth, which has no features and no loss
        rest = jnp.maximum(1 - jnp.sum(masses, axis=1), 0)
        return Point(w, Mixture(state.labels, masses.at[:, 0].add(rest)))

    def spent(self, problem) -> Spent:
        n = float(problem.n)
        return Spent(work=1.0, oracle_calls=n, updates=float(np.ceil(n / self.batch)))

    def gradient_bound(self, problem: Structured):
        """G with ||g_t|| <= G: ||w_t|| <= Dm max n c_i/lam by induction, with step 1/(lam t)."""
        limits = problem.limits()
        if limits is None:
            return None
        return 2 * limits.feature * jnp.max(problem.n * problem.c)

    def _theorem(self, problem: Structured, t, name: str):
        """The bound of the rule 1/(lam t) called ``name``; with t0 > 0 there is no promise."""
        G = self.gradient_bound(problem)
        if not isinstance(self.rule, InverseLam) or G is None:
            return None
        t = jnp.maximum(jnp.asarray(t, problem.lam.dtype), 1)
        return jnp.where(self.rule.t0 > 0, jnp.inf, getattr(self.rule, name)(problem, G, t))

    def bound(self, problem: Structured, t):
        """17 G^2 (1 + ln t)/(lam t) on E[P(w_t)] - P*, step 1/(lam t); of the mean if averaged."""
        return self._theorem(problem, t, "mean_bound" if self.average else "last_bound")

    def mean_bound(self, problem: Structured, t):
        """The same for the uniform mean of the iterates after 1..t steps."""
        return self._theorem(problem, t, "mean_bound")
