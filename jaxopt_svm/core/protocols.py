"""The nouns, as the types every room agrees on.

    Problem -> Method.init -> State --step*--> State -> point -> Point
            -> problem.certificate -> Certificate

A Problem and a Method are frozen pytrees: real numbers are leaves, shapes and choices are
types. A step is deterministic, all randomness of a pass comes out of ``draw``; an expectation
over the samples of a theorem is then a plain mean over enumerated samples.
"""

from typing import Any, NamedTuple, Protocol, TypeVar

from jax import Array

__all__ = [
    "Certificate",
    "Loss",
    "Method",
    "Point",
    "Problem",
    "Regularizer",
    "Rows",
    "Sample",
    "Sampling",
    "Spent",
]

State = TypeVar("State")


class Point(NamedTuple):
    """What a method claims. The meaning of ``dual`` belongs to the problem.

    w: primal iterate, or None where the problem should make the most of alpha (ERM).
    dual: a dual-feasible object (alpha for ERM), or None when the method has none.
    """

    w: Any
    dual: Any = None


class Certificate(NamedTuple):
    """P(w) >= P* >= D(dual), so ``gap`` bounds the distance to the optimum from above.

    floor: rounding bound of the computed P - D; a gap below it says no more than "zero".
    With a leading axis the fields are one certificate per lane.
    """

    primal: Any
    dual: Any
    gap: Any
    floor: Any


class Sample(NamedTuple):
    """What one step is given: example indices, and which of them count.

    index: (size,) integers; an index >= n is padding.
    mask: (size,) booleans, or None when every index counts.
    """

    index: Array
    mask: Array | None = None


class Spent(NamedTuple):
    """What a pass of a method costs, in the units experiments compare.

    work: row touches divided by n. oracle_calls: calls of the decoding oracle.
    updates: steps in the sense of the method's theorem (the t of ``bound``).
    """

    work: Any
    oracle_calls: Any
    updates: Any


class Problem(Protocol):
    """Data, loss and lam. The certificate belongs to the problem, never to a method.

    A batch of problems is one problem whose lam has a leading axis. ``lanes``, a static tuple of
    names that starts as ("lam",), says which other fields have that axis too; the rest is shared.

    A problem may define
      carried(point) -> point           one found at another lam, as a start for this one
      between(point, point) -> point    the best on the way from one to the other
      terms(point, certificate)         what they consist of, whatever lam is (problems/lines.py)
      assessed(point)                   (the point made whole, its certificate) for less than both
    """

    lam: Any

    @property
    def n(self) -> int: ...
    def with_lam(self, lam) -> "Problem": ...
    def origin(self) -> Point: ...
    def primal(self, w) -> Array: ...

    def complete(self, point: Point) -> Point:
        """The same w with a dual-feasible object beside it, whatever the method had."""
        ...

    def certificate(self, point: Point) -> Certificate:
        """Recomputed from the point alone: nothing is taken on trust."""
        ...


class Method(Protocol[State]):
    """A frozen pytree of hyper-parameters with pure functions.

    What a method may define beyond the protocol, each where it needs it:
      prepare(problem) -> problem       made on the host before anything compiles
      aim(problem, state, samples)      the samples of a pass, by what the state knows (once a pass)
      walk_pass(problem, state, drawn)  the steps of a pass, where a batch has better than vmap
      kernels = "small" or "plain"      how its passes are compiled (core/programs.py)
      counted(state) -> Spent           totals so far, where the cost of a pass is not constant
      certified_every                   most passes between two certificates; an iteration is dear
      keeps = True                      its first point is the start as it was given
      settles = True                    a stretch of passes without an update ends the lane
      capacity, grown() -> method       a static size; when the field ``full`` of a state is set
                                        (of an inner state too) the host doubles it and pads the
                                        state with zeros; None ends the lane
      retire(state, gone) -> state      where lanes run one after the other: slots that are ``gone``
                                        (a mask) cost nothing from now on
      chosen(problem, state, r)         after pass r, on the host: numbers of rows, or None,
      arranged(problem, rows)           the problem arranged by them, in the same shapes, and
      next_choice(r)                    the first pass after r that it wants to choose after
      holding(start) -> method          the same with the capacity that a start asks for
    """

    def check(self, problem: Any) -> None:
        """Refuse, in words, what the method cannot do, before anything compiles."""
        ...

    def init(self, problem: Any, start: Point | None = None) -> State: ...

    def draw(self, problem: Any, key: Array) -> Any:
        """All randomness of one pass; the leading axis counts its steps."""
        ...

    def step(self, problem: Any, state: State, sample: Any) -> State: ...

    def point(self, problem: Any, state: State) -> Point:
        """Cheap: no pass over the data."""
        ...

    def spent(self, problem: Any) -> Spent:
        """The cost of one pass."""
        ...

    def bound(self, problem: Any, t) -> Array | None:
        """The lecture's bound after t updates, or None where there is none."""
        ...


class Sampling(Protocol):
    """Random sets of examples. Choices only; what depends on the data is computed per lane.

    serial: one example after the other (a step may hold a block of them), or all at once.
    unique: a step never holds the same example twice.
    """

    serial: bool
    unique: bool

    def check(self, problem: Any) -> None: ...
    def constants(self, problem: Any) -> tuple[Array, Array]:
        """(p, v): p_i = Prob(i in S) and E||sum_{i in S} h_i x_i||^2 <= sum p_i v_i h_i^2."""
        ...

    def draw(self, problem: Any, key: Array, size: int) -> Sample: ...


class Rows(Protocol):
    """A data matrix X (n, d) by rows. Vectors may have trailing axes: w is (d, ...)."""

    spans: bool  # a block's Gram matrix is worth forming
    sqnorms: Any  # (n,) ||x_i||^2

    @property
    def shape(self) -> tuple[int, int]: ...
    def matvec(self, w) -> Array: ...
    def rmatvec(self, a) -> Array: ...
    def dot(self, index, w) -> Array: ...
    def add(self, w, index, coefficients) -> Array: ...
    def row(self, i) -> Any:
        """One row, which answers ``dot(w, through)``, ``add(w, c)`` and ``sqnorm``."""
        ...

    def column_counts(self) -> Array: ...


class Loss(Protocol):
    """phi(z, y), convex in z, and what dual methods need in closed form.

    smooth: static; gamma: phi is (1/gamma)-smooth (0 when it is not smooth).
    lipschitz: |phi'| <= 1 everywhere. regression: y is a real target rather than a sign.
    vector: z, y and a have a last axis of m outputs; value and neg_conj answer without it.
    """

    smooth: bool
    lipschitz: bool
    regression: bool
    vector: bool

    @property
    def gamma(self) -> Any: ...
    def value(self, z, y) -> Array: ...
    def slope(self, z, y) -> Array: ...
    def neg_conj(self, a, y) -> Array: ...
    def clip(self, a, y) -> Array: ...
    def dual_step(self, z, a, y, q) -> Array: ...
    def prox(self, z, y, t) -> Array: ...


class Regularizer(Protocol):
    """g, 1-strongly convex, with its conjugate; linear: grad g* is the identity.

    free: the last coordinate of w is an intercept that g does not touch.
    """

    linear: bool
    free: bool

    def value(self, w) -> Array: ...
    def conj(self, u) -> Array: ...
    def link(self, u) -> Array: ...
    def grad(self, w) -> Array: ...
    def prox(self, x, t) -> Array: ...
