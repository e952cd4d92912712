"""How far to go along a segment of dual points: Frank-Wolfe's two rules."""

from jaxopt_svm.core.pytree import pytree
from jaxopt_svm.oracles.line_search import segment

__all__ = ["Decreasing", "LineSearch"]


@pytree
class LineSearch:
    """t = argmax of D on the segment, in closed form; D never falls."""

    def length(self, g, q, k, blocks):
        """g, q: slope and curvature. k: steps so far. blocks: n for one example, 1 for all."""
        del k, blocks
        return segment(g, q)


@pytree
class Decreasing:
    """t = 2 blocks/(k + 2 blocks) at step k = 0, 1, ...: no line search, and D may fall."""

    def length(self, g, q, k, blocks):
        del q
        return 2 * blocks / (k.astype(g.dtype) + 2 * blocks)
