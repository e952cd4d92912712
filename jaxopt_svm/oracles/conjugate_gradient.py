r"""Preconditioned conjugate gradients: A x = b with A > 0 known by its products only.

    x <- x + a p,   r <- r - a A p,   p <- M r + (r'Mr / old r'Mr) p,      a = r'Mr / p'Ap

Stops at ||r|| <= tol ||b||. After k products the error in the norm of A is at most
2 ((sqrt(kappa) - 1)/(sqrt(kappa) + 1))^k times the first one, kappa the condition number of M A.
jax.scipy has the same iteration; this one also says how many products it took.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

__all__ = ["conjugate_gradient"]


def conjugate_gradient(
    times: Callable, b: Array, precondition: Callable, tol, most: int
) -> tuple[Array, Array]:
    """(x, products taken)."""
    r = b
    z = precondition(r)
    enough = tol**2 * (b @ b)

    def going(carry):
        _, r, _, rz, k = carry
        return (k < most) & (r @ r > enough) & (rz > 0)

    def body(carry):
        x, r, p, rz, k = carry
        q = times(p)
        a = rz / (p @ q)
        x, r = x + a * p, r - a * q
        z = precondition(r)
        new = r @ z
        return x, r, z + (new / rz) * p, new, k + 1

    start = (jnp.zeros_like(b), r, z, r @ z, jnp.zeros((), jnp.int32))
    x, *_, k = lax.while_loop(going, body, start)
    return x, k
