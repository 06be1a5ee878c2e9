"""Finds resources among many by their kind, without a look at each of them for each question."""

from collections.abc import Sequence

from policies.language.rule import Manifest


class Stack(tuple[Manifest, ...]):
    """Resources that nobody changes any more, and those of each kind."""

    def of_kind(self, kind: str) -> Sequence[Manifest]:
        """Return the resources of a kind in their order."""
        if not hasattr(self, "_by_kind"):
            self._by_kind: dict[str, list[Manifest]] = {}
            for each in self:
                self._by_kind.setdefault(str(each.get("kind")), []).append(each)
        return self._by_kind.get(kind, ())


def of_kinds(stack: Sequence[Manifest], *kinds: str) -> list[Manifest]:
    """Return the resources of some kinds, kind by kind."""
    if isinstance(stack, Stack):
        return [each for kind in kinds for each in stack.of_kind(kind)]
    return [each for kind in kinds for each in stack if each.get("kind") == kind]
