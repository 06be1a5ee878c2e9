"""How many mutants the boot check catches, by kind."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from random import Random

from ignition.boot.node import boot
from tests.sweeps.boot_mutants import (
    arguments,
    files,
    joining,
    kubelet,
    links,
    machine,
    plans,
    roles,
    texts,
    units,
)
from tests.sweeps.boot_mutants.bases import Base, Kind
from tests.sweeps.boot_mutants.harmless import reason

# machines that are no workers have no kubelet patch, labels, command line or plan to change
COMMON: Mapping[str, Kind] = {
    **files.KINDS,
    **links.KINDS,
    **units.KINDS,
    **texts.LINES,
    **joining.WHOLE,
    **roles.KINDS,
    **machine.KINDS,
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
        head = f"{'kind (made, caught, harmless)':<36} {'':>12}"
        yield f"{head} | {head}".rstrip()
        kinds = sorted(self.made, key=str.lower)
        half = -(-len(kinds) // 2)
        for left, right in zip_longest(kinds[:half], kinds[half:]):
            yield f"{self._row(left)} | {self._row(right) if right else ''}".rstrip()
        yield (
            f"{len(kinds)} kinds: {self.made.total()} mutants, {self.caught.total()} caught, "
            f"{self.harmless.total()} harmless, {len(self.survivors)} survived"
        )
        yield from (f"survived: {each}" for each in self.survivors)

    def _row(self, kind: str) -> str:
        harmless = self.harmless[kind] or ""
        return f"{kind:<36} {self.made[kind]:>4}{self.caught[kind]:>4}{harmless:>4}"


def drawn(kind: str, base: Base, most: int = 1) -> Iterator[tuple[str, str]]:
    """At most so many mutants of a kind, the same ones in every run."""
    random = Random(f"{SEED} {kind} {base.label}")  # noqa: S311  # a draw, no secret
    every = list(KINDS[kind](base, random))
    random.shuffle(every)
    texts = ((what, json.dumps(config)) for what, config in every)
    yield from islice(((what, text) for what, text in texts if text != base.text), most)


def score(bases: Iterable[Base], *, most: int = 1, every: int = 2) -> Score:
    """Boots mutants: at most so many of a kind of each `every`-th base, in turns."""
    found = Score()
    for turn, base in enumerate(bases):
        kinds = KINDS if base.role == "node" else COMMON
        for kind in (kind for place, kind in enumerate(kinds) if (turn + place) % every == 0):
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
