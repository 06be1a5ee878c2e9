"""What a person knows of pending creates: `--id NAME=ID` and `--gone NAME`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fleet.resume.pending import CREATING, Answer, Pending

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+=,-]*")
"""What clouds give out: numbers, names, ARNs, addresses, and these joined."""
AT_HETZNER = "hcloud:"
HETZNER_ID = re.compile(r"\d+(-[0-9a-f.:]+/\d+)?")
"""A number, and of a subnet or route its range besides."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """The ids of what is there, and what is not there, by name or URN."""

    ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    gone: Sequence[str] = ()

    def of(self, begun: Pending) -> Answer | None:
        """Return what they know of a pending create; None where that is nothing."""
        if begun.name in self.gone or begun.urn in self.gone:
            return Answer()
        ids = self.ids.get(begun.urn, self.ids.get(begun.name))
        return Answer(ids=tuple(ids)) if ids else None

    def wrong(self, begun: Sequence[Pending]) -> str | None:
        """Return a sentence with what cannot be meant, given what is pending."""
        for option, given in (("--id", self.ids), ("--gone", self.gone)):
            for name in given:
                if why := _wrong_name(option, name, begun):
                    return why
        for each in begun:
            said = [name for name in (*self.ids, *self.gone) if name in (each.name, each.urn)]
            if len(said) > 1:
                return f"{each.name} is given as {_words(self, said)}; one of them is allowed."
            ids = [id_ for name in said for id_ in self.ids.get(name, ())]
            if why := _wrong_ids(each, ids):
                return why
        return None


def _wrong_name(option: str, name: str, begun: Sequence[Pending]) -> str | None:
    creates = [each for each in begun if each.operation == CREATING]
    urns = {each.urn: each.name for each in creates}
    meant = [urn for urn, title in urns.items() if name in (urn, title)]
    if not meant:
        told = ", ".join(dict.fromkeys(urns.values()))
        if not told:
            return f"Nothing is being made, so {option} {name} is about nothing: leave it out."
        return f'{option} is "{name}"; allowed is what is being made: {told}.'
    if len(meant) > 1:
        return f'{option} is "{name}", which several have; give one of: {", ".join(meant)}.'
    return None


def _wrong_ids(begun: Pending, ids: Sequence[str]) -> str | None:
    for each in ids:
        if not ID.fullmatch(each):
            return f'--id {begun.name} is "{each}"; no cloud gives out such an id.'
        if begun.type.startswith(AT_HETZNER) and not HETZNER_ID.fullmatch(each):
            return f'--id {begun.name} is "{each}"; Hetzner\'s ids are numbers.'
        if ids.count(each) > 1:
            return f'--id {begun.name} is "{each}" twice; give each thing once.'
    return None


def _words(known: Known, names: Sequence[str]) -> str:
    told = [f"--id {name}={id_}" for name in names for id_ in known.ids.get(name, ())]
    told += [f"--gone {name}" for name in names if name in known.gone]
    return " and ".join(dict.fromkeys(told))
