"""What a new environment is made from: answers, checked against the catalogue."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from hardware.catalogue import Hardware, HardwareError, MachineKind, load, names
from settings.forms import Name
from settings.problems import sentences

CPU_SERVER = "ccx33"
"""What runs the cluster's own software, which no node with GPUs takes."""

PLACE = "REPLACE"
"""What people search for in the written files, to put their own values there."""


class AnswerError(ValueError):
    """An answer that cannot be used; the text is a sentence with what is allowed."""


@dataclass(frozen=True, kw_only=True)
class Owned:
    """Machines of one's own: of one kind, in one place, with their entries where they are known.

    An entry has the fields of `MachineSettings`; without entries two placeholders are written.
    """

    hardware: str
    site: str = "hall"
    machines: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, kw_only=True)
class Rented:
    """Machines that Karpenter rents in a region of AWS."""

    hardware: str
    region: str = "us-east-1"


@dataclass(frozen=True, kw_only=True)
class Answers:
    """A new environment."""

    name: str
    team: str = "research"
    owned: Owned | None = None
    rented: Rented | None = None
    location: str = "hel1"
    servers: int = 3


def check_name(what: str, name: str) -> None:
    """Refuse what cannot be the name of an environment, a site or a team; raises AnswerError."""
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError as error:
        raise AnswerError("\n".join(sentences(what, Name, error))) from None


def machine(name: str, kind: MachineKind) -> Hardware:
    """Return a machine of the catalogue that is of a kind; raises AnswerError for any other."""
    fitting = [each for each in names() if load(each).kind == kind]
    try:
        found = load(name)
    except HardwareError:
        found = None
    if found is None or found.kind != kind:
        near = difflib.get_close_matches(name, fitting, n=1)
        offer = f'did you mean "{near[0]}"? Allowed' if near else "allowed"
        raise AnswerError(
            f'"{name}" is no machine of kind {kind} in the catalogue; {offer}: '
            f"{', '.join(fitting)}. `fleet hardware import` adds one of yours."
        )
    return found
