r"""Claim. Rows can join and leave a Cholesky factor of fixed capacity in O(k^2): after any sequence
L L' is the matrix of the members, and empty slots stay zero.

Lecture "Optimization Methods for SVMs" (Scheinberg), G_s updated by adding and removing a row.
Golub & Van Loan, Matrix Computations, 6.5.

Check. Grow to six of eight slots, remove the first, a middle and the last; solves agree with the
dense ones. False variant: the trailing block is moved up without the rotation.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxopt_svm.oracles import cholesky
from proofs_checks.claims import Claim, Result, equal, smallest

CAPACITY, SIZE = 8, 6


def corner(A):
    return jnp.zeros((CAPACITY, CAPACITY)).at[: len(A), : len(A)].set(A)


def grown(A):
    L = jnp.zeros((CAPACITY, CAPACITY))
    for k in range(len(A)):
        column = jnp.zeros(CAPACITY).at[:k].set(A[:k, k])
        l = cholesky.half_solve(L, k, column)
        L = cholesky.append(L, k, l, A[k, k] - l @ l)
    return L


def check() -> Result:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(SIZE, SIZE))
    A = A @ A.T + 0.1 * np.eye(SIZE)
    L, b = grown(A), jnp.zeros(CAPACITY).at[: SIZE - 1].set(rng.normal(size=SIZE - 1))
    true, false = [jnp.min(equal(L @ L.T, corner(A)))], []
    delete = jax.jit(cholesky.delete)
    for r in (0, SIZE // 2, SIZE - 1):
        rest = np.delete(np.delete(A, r, 0), r, 1)
        M = delete(L, SIZE, r)
        x = cholesky.solve(M, SIZE - 1, b)
        dense = np.linalg.solve(rest, np.asarray(b)[: SIZE - 1])
        true += [jnp.min(equal(M @ M.T, corner(rest))), jnp.min(equal(x[: SIZE - 1], dense))]
        moved = np.delete(np.delete(np.asarray(L[:SIZE, :SIZE]), r, 0), r, 1)
        if r < SIZE - 1:
            false.append(float(jnp.min(equal(moved @ moved.T, rest))))
    return Result(smallest(*true), max(false))


claim = Claim(
    name="cholesky_updates",
    text="a factor with rows added and removed is the factor of the members",
    lecture="Optimization Methods for SVMs: active set method, linear algebra",
    check=check,
)
