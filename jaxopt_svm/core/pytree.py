"""One decorator for every value that carries data through jit and vmap."""

import dataclasses
from typing import Any, TypeVar, dataclass_transform

import jax

__all__ = ["pytree", "static"]

T = TypeVar("T")


def static(**options) -> Any:
    """A field that is part of the type (a count, a choice, a function), not of the data."""
    return dataclasses.field(metadata={"static": True}, **options)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, static))
def pytree(cls: type[T]) -> type[T]:
    """Frozen dataclass whose non-static fields are pytree leaves.

    There is no ``__post_init__`` anywhere: JAX rebuilds instances with tracers and
    sentinels inside, so validation lives in the ``make_*`` functions and in ``check``.
    """
    cls = dataclasses.dataclass(frozen=True, eq=False)(cls)
    return jax.tree_util.register_dataclass(cls)
