"""What a guard rail of the fleet is: one sentence, its reason, one predicate on a manifest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["mandatory", "advisory", "disabled"]
Manifest = Mapping[str, object]
"""A Kubernetes manifest in normal form: plain dicts, lists and scalars, whole numbers as `int`."""
Settings = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A guard rail, written once for every gate that holds someone to it.

    `id` is `<pack>/<name>`. `sentence` says "must". `source` is the address that backs `why`.
    `schema` holds the JSON Schema of each setting by name, with its `default` and `description`.
    `predicate` returns one full sentence for each violation, empty when the manifest is fine or is
    not of the kind that the rule speaks of.
    """

    id: str
    sentence: str
    why: str
    source: str
    predicate: Callable[[Manifest, Settings], list[str]]
    level: Level = "mandatory"
    schema: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def defaults(self) -> dict[str, object]:
        """Returns the settings of a rule that nobody configured."""
        return {name: setting["default"] for name, setting in self.schema.items()}
