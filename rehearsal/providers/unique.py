"""What no two objects of a type may share, and where a cloud takes a second request for the first.

Each cloud has its table: `aws/unique_names.py`, `hcloud/resource_types.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rehearsal.providers.cloud import CloudObject
from rehearsal.providers.values import Properties, Value


@dataclass(frozen=True, kw_only=True)
class Unique:
    """An input whose value one object alone may have, among those with the same `within`."""

    property: str = "name"
    within: tuple[str, ...] = ()
    any_case: bool = False
    """Whether `Ops` and `ops` are the same."""
    answers_alike: tuple[str, ...] = ()
    """Inputs: a request with the same values for all of them gets the object that is there."""

    def is_taken(self, own: Properties, others: Iterable[CloudObject]) -> bool:
        """Whether one of the other objects of the type has the value.

        `own` are the inputs and all outputs that follow from them.
        """
        if own.get(self.property) is None:
            return False
        met = (other for other in others if self._meets(own, other))
        return any(not self.answers_alike or not self._is_alike(own, other) for other in met)

    def _meets(self, own: Properties, other: CloudObject) -> bool:
        same = self._folded(own[self.property]) == self._folded(other.inputs.get(self.property))
        return same and all(own.get(key) == _place(own, other, key) for key in self.within)

    def _folded(self, value: Value) -> Value:
        return value.casefold() if self.any_case and isinstance(value, str) else value

    def _is_alike(self, own: Properties, other: CloudObject) -> bool:
        return all(own.get(key) == other.outputs.get(key) for key in self.answers_alike)


def _place(own: Properties, other: CloudObject, key: str) -> Value:
    """Where the other is: what the cloud decided counts only where this one leaves it no choice."""
    return other.inputs.get(key) if own.get(key) is None else other.outputs.get(key)
