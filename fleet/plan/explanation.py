"""Why a line is in the plans of the catalogue, with its source."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from fleet.plan.description import PlanLine, lines
from fleet.plan.subject import SubjectError
from hardware.catalogue import load, names
from ignition.plan.numa_plan import PlanError, plan
from ignition.plan.refused_arguments import why_not
from ignition.plan.tuning import PURPOSES, Tuning

# choices that bring further lines into a plan
CHOICES = (
    Tuning(),
    Tuning(isolation="exclusive"),
    Tuning(hugepages_1gi_per_numa_node=2),
    Tuning(hugepages_2mi_per_numa_node=512, hugetlb_shm_group=1000),
    Tuning(isolation="exclusive", realtime=True),
    Tuning(power="performance", iommu="off"),
    Tuning(irq="numa-local", transparent_hugepages="never", background_io_mib_per_s=200),
    Tuning(largest_pod_gpus=1),
)


class UnknownLineError(SubjectError):
    """No plan has such a line."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A line with an example value, and the machines and purposes whose plans have it."""

    line: PlanLine
    hardware: tuple[str, ...]
    purposes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A setting that no plan contains, and why the program refuses it."""

    line: str
    reason: str


def explain(word: str) -> tuple[Explanation, ...] | Refusal:
    """Every line whose name is `word`, or else contains it; or why no plan has such a line.

    Raises SubjectError for an unknown name, with the nearest names.
    """
    if not word.strip():
        raise SubjectError(
            "LINE is empty; allowed: the name of a line of a plan, such as isolcpus."
        )
    found: dict[tuple[str, str, str], list[tuple[PlanLine, str, str]]] = {}
    for hardware, purpose, line in _all():
        found.setdefault((line.group, line.key, line.reason), []).append((line, hardware, purpose))
    keys = sorted({key for _group, key, _reason in found})
    wanted = _matching(word.lower(), keys)
    if not wanted:
        refused = why_not(word)
        if refused is not None:
            return Refusal(line=word, reason=refused)
        near = difflib.get_close_matches(word, keys, n=3, cutoff=0.4)
        raise UnknownLineError(
            f'No plan of the catalogue has a line called "{word}"; '
            f"{'nearest' if near else 'they have'}: {', '.join(near or keys)}."
        )
    return tuple(
        Explanation(
            line=uses[0][0],
            hardware=tuple(dict.fromkeys(use[1] for use in uses)),
            purposes=tuple(dict.fromkeys(use[2] for use in uses)),
        )
        for (_group, key, _reason), uses in found.items()
        if key in wanted
    )


def line_names() -> tuple[str, ...]:
    """Return the names of all lines of the catalogue's plans."""
    return tuple(sorted({line.key for _hardware, _purpose, line in _all()}))


def _matching(word: str, keys: list[str]) -> set[str]:
    exact = {key for key in keys if key.lower() == word}
    return exact or {key for key in keys if _has_word(key, word)}


def _has_word(key: str, word: str) -> bool:
    """Return whether a word of the key begins with `word`: `policy`, but not the efa of default."""
    places = (found.start() for found in re.finditer(re.escape(word), key.lower()))
    return any(
        at == 0 or not key[at - 1].isalnum() or (key[at].isupper() and not key[at - 1].isupper())
        for at in places
    )


@cache
def _all() -> tuple[tuple[str, str, PlanLine], ...]:
    return tuple(_lines())


def _lines() -> Iterator[tuple[str, str, PlanLine]]:
    for name, purpose, tuning in product(names(), PURPOSES, CHOICES):
        try:
            made = plan(load(name), tuning, purpose)
        except PlanError:  # a machine that cannot carry the choice
            continue
        yield from ((name, purpose, line) for line in lines(made))
