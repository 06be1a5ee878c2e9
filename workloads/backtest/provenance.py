"""The provenance of a result: in the metadata of every commit, and read back by a replay."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

# The field of the metadata: what its value looks like, in words and as a pattern.
_FORMS = {
    "experiment": ("1 to 63 letters, digits, '.', '_' and '-'", r"[A-Za-z0-9][\w.-]{0,62}"),
    "team": ("1 to 63 letters, digits, '.', '_' and '-'", r"[A-Za-z0-9][\w.-]{0,62}"),
    "cost-centre": ("1 to 63 letters, digits, '.', '_' and '-'", r"[A-Za-z0-9][\w.-]{0,62}"),
    "code-revision": ("a whole Git commit id of 40 or 64 digits", "[0-9a-f]{40}([0-9a-f]{24})?"),
    "image-digest": ("sha256: and 64 digits", "sha256:[0-9a-f]{64}"),
    "seed": ("a whole number", "-?[0-9]+"),
}


class ProvenanceError(ValueError):
    """Fields of a wrong form, one sentence each."""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Everything that is needed to repeat a run, beside the commit of its input data.

    `experiment`, `team` and `cost_centre` are the values of the labels `fleet.gpu/*` of its pods.
    """

    experiment: str
    team: str
    cost_centre: str
    code_revision: str
    image_digest: str
    seed: int

    def __post_init__(self) -> None:
        wrong = [
            f"The {key} of a backtest is {value!r}; it must be {_FORMS[key][0]}."
            for key, value in self.metadata().items()
            if not re.fullmatch(_FORMS[key][1], value, re.ASCII)
        ]
        if wrong:
            raise ProvenanceError("\n".join(wrong))

    def metadata(self) -> dict[str, str]:
        """Returns the fields as lakeFS keeps them: all are text."""
        return {_key(field.name): str(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def of(cls, metadata: Mapping[str, str]) -> "Provenance":
        """Reads the provenance from the metadata of a commit."""
        absent = [key for key in _FORMS if key not in metadata]
        if absent:
            raise ProvenanceError(
                f"The commit does not say its {', '.join(absent)}: it was not made by a backtest."
            )
        if not re.fullmatch("-?[0-9]+", metadata["seed"]):
            raise ProvenanceError(f"The seed of the commit is {metadata['seed']!r}, not a number.")
        return cls(
            experiment=metadata["experiment"],
            team=metadata["team"],
            cost_centre=metadata["cost-centre"],
            code_revision=metadata["code-revision"],
            image_digest=metadata["image-digest"],
            seed=int(metadata["seed"]),
        )


def _key(name: str) -> str:
    return name.replace("_", "-")


REQUIRED = tuple(_FORMS)
"""The fields of the metadata that a check before the merge can ask for."""
