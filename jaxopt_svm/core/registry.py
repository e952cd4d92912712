"""Names of methods, what they need and what they promise; the table behind the command line."""

import difflib
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = [
    "Entry",
    "Info",
    "choose",
    "joined",
    "list_methods",
    "name_of",
    "named",
    "plan",
    "register",
]


class Info(NamedTuple):
    """Facts about a method that a person chooses by.

    family: the room under methods/, named after what a method needs from its problem.
    problems: kinds of problem it solves. certificate: where its dual point comes from.
    """

    name: str
    family: str
    problems: str
    certificate: str
    lecture: str
    reference: str


class Entry(NamedTuple):
    info: Info
    make: Callable[..., Any]
    suits: Callable[[Any], bool] | None


_ENTRIES: dict[str, Entry] = {}


def register(info: Info, suits: Callable[[Any], bool] | None = None):
    """Decorator for a method class, or for a function that makes a preset of one.

    suits: says for which problems this is the method chosen when the user names none; the
    first registered method that suits is taken.
    """

    def enter(make):
        if info.name in _ENTRIES:
            raise ValueError(f"two methods are registered as {info.name!r}")
        _ENTRIES[info.name] = Entry(info, make, suits)
        return make

    return enter


def list_methods() -> dict[str, Entry]:
    """Every registered name, in the order of registration."""
    return dict(_ENTRIES)


def named(name: str) -> Any:
    """A method by its registered name, with the defaults that suit any problem."""
    if name not in _ENTRIES:
        close = difflib.get_close_matches(name, _ENTRIES, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(_ENTRIES)}"
        raise ValueError(f"method: unknown name {name!r}; {hint}")
    return _ENTRIES[name].make()


def name_of(method: Any) -> str:
    """What a method calls itself, or the name its class is registered under."""
    own = getattr(method, "name", None)
    if own is not None:
        return own
    names = [entry.info.name for entry in _ENTRIES.values() if entry.make is type(method)]
    return names[0] if names else type(method).__name__.lower()


def joined(methods: Any) -> str:
    """The name of several methods run one after the other; one that goes on is named once."""
    return " > ".join(dict.fromkeys(map(name_of, methods)))


_PLANS: list[Callable[[Any], tuple[Any, Any] | None]] = []


def plan(function):
    """Decorator for a function that chooses (problem as it will be solved, method), or None."""
    _PLANS.append(function)
    return function


def choose(problem: Any) -> tuple[Any, Any]:
    """What to solve and with which method, for users who name none."""
    for function in _PLANS:
        chosen = function(problem)
        if chosen is not None:
            return chosen
    for entry in _ENTRIES.values():
        if entry.suits is not None and entry.suits(problem):
            return problem, entry.make()
    raise ValueError(f"no method is registered for a problem of type {type(problem).__name__}")
