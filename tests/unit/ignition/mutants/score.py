"""How many mutants the boot check catches, by kind."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from ignition.boot import boot
from tests.unit.ignition.mutants import (
    arguments,
    files,
    joining,
    kubelet,
    plans,
    roles,
    texts,
    units,
)
from tests.unit.ignition.mutants.bases import Base, Kind
from tests.unit.ignition.mutants.harmless import reason

# machines that are no workers have no kubelet patch, labels, command line or plan to change
COMMON: Mapping[str, Kind] = {
    **files.KINDS,
    **units.KINDS,
    **texts.LINES,
    **joining.WHOLE,
    **roles.KINDS,
}
KINDS: Mapping[str, Kind] = {
    **arguments.KINDS,
    **kubelet.KINDS,
    **texts.KINDS,
    **joining.KINDS,
    **plans.KINDS,
    **COMMON,
}
SEED = "of every machine"


@dataclass(frozen=True)
class Score:
    """The mutants of each kind, and those that came through."""

    made: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    harmless: Counter[str] = field(default_factory=Counter)
    excused: set[tuple[str, str]] = field(default_factory=set)
    survivors: list[str] = field(default_factory=list)
    messages: set[str] = field(default_factory=set)

    def table(self) -> Iterator[str]:
        """The score in lines for a terminal."""
        yield f"{'kind':<42}{'mutants':>8}{'caught':>8}{'harmless':>10}"
        for kind in sorted(self.made):
            figures = (self.made[kind], self.caught[kind], self.harmless[kind] or "")
            yield "{:<42}{:>8}{:>8}{:>10}".format(kind, *figures)
        yield (
            f"{f'{len(self.made)} kinds':<42}{self.made.total():>8}{self.caught.total():>8}"
            f"{self.harmless.total():>10}"
        )
        yield from (f"survived: {each}" for each in self.survivors)


def drawn(kind: str, base: Base, most: int) -> Iterator[tuple[str, str]]:
    """At most so many mutants of a kind, the same ones in every run."""
    random = Random(f"{SEED} {kind} {base.label}")  # noqa: S311  # a draw, no secret
    every = [(what, json.dumps(config)) for what, config in KINDS[kind](base, random)]
    every = [(what, text) for what, text in every if text != base.text]
    random.shuffle(every)
    yield from islice(every, most)


def score(bases: Iterable[Base], most: int) -> Score:
    """Boots the mutants of each base: at most so many of each kind."""
    found = Score()
    for base in bases:
        for kind in KINDS if base.role == "node" else COMMON:
            for what, text in drawn(kind, base, most):
                found.made[kind] += 1
                problems = boot(text, base.hardware).problems
                found.messages.update(problems)
                excuse = reason(kind, what)
                if problems:
                    found.caught[kind] += 1
                elif excuse:
                    found.harmless[kind] += 1
                    found.excused.add(excuse)
                else:
                    found.survivors.append(f"{kind}: {what} ({base.label})")
    return found
