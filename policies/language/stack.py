"""Finds resources among many, without a look at each of them for each question."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar, cast

from policies.language.rule import Manifest

Found = TypeVar("Found")


class Stack(tuple[Manifest, ...]):
    """Resources that nobody changes any more, and what was found among them."""

    def of_kind(self, kind: str) -> Sequence[Manifest]:
        """Return the resources of a kind in their order."""
        return self.found(_by_kind).get(kind, ())

    def found(self, search: Callable[[Sequence[Manifest]], Found]) -> Found:
        """Return what a search finds, which is done once."""
        known: dict[object, object] = self.__dict__.setdefault("_found", {})
        if search not in known:
            known[search] = search(self)
        return cast("Found", known[search])


def once(
    search: Callable[[Sequence[Manifest]], Found],
) -> Callable[[Sequence[Manifest]], Found]:
    """Do a search once for a Stack, and each time for what somebody may change."""

    @wraps(search)
    def found(stack: Sequence[Manifest]) -> Found:
        return stack.found(search) if isinstance(stack, Stack) else search(stack)

    return found


def of_kinds(stack: Sequence[Manifest], *kinds: str) -> list[Manifest]:
    """Return the resources of some kinds, kind by kind."""
    if isinstance(stack, Stack):
        return [each for kind in kinds for each in stack.of_kind(kind)]
    return [each for kind in kinds for each in stack if each.get("kind") == kind]


def _by_kind(stack: Sequence[Manifest]) -> dict[str, list[Manifest]]:
    found: dict[str, list[Manifest]] = {}
    for each in stack:
        found.setdefault(str(each.get("kind")), []).append(each)
    return found
