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

    The class itself is part of the auxiliary data. With ``register_dataclass`` jaxlib 0.10.2 calls
    the structures of two classes with the same fields equal (their hashes differ), and once in
    a while hands out the compiled program of the other class (tests/test_pytree.py).
    """
    cls = dataclasses.dataclass(frozen=True, eq=False)(cls)
    fields = dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
    leaves = [f.name for f in fields if not f.metadata.get("static")]
    choices = [f.name for f in fields if f.metadata.get("static")]
    keys = [jax.tree_util.GetAttrKey(name) for name in leaves]

    def aux(x) -> tuple:
        return (cls, *(getattr(x, name) for name in choices))

    def flatten(x):
        return [getattr(x, name) for name in leaves], aux(x)

    def flatten_with_keys(x):
        return [(key, getattr(x, key.name)) for key in keys], aux(x)

    def unflatten(aux, children):
        x = object.__new__(cls)
        for name, value in zip((*leaves, *choices), (*children, *aux[1:]), strict=True):
            object.__setattr__(x, name, value)
        return x

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls
