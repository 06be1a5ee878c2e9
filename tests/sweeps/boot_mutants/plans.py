"""Mutants of the expectations that lie on a node, and of the script that places interrupts."""

import re
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.support.ignition.faults import entries, find
from tests.sweeps.boot_mutants.bases import Base, Json, Kind, misspelt
from tests.sweeps.boot_mutants.joining import at, places

Mutants = Iterator[tuple[str, Json]]
_PLAN = "/etc/fleet/plan.json"
_IRQ = "/opt/bin/fleet-irq"


def _other(value: Any, random: Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + random.choice((-1, 1))
    if isinstance(value, str):
        number = re.search(r"\d+", value)
        if number:
            return value[: number.start()] + str(int(number[0]) + 1) + value[number.end() :]
        return misspelt(value, random)
    return "x"


def changed(base: Base, random: Random) -> Mutants:
    for path in random.sample(list(places(base.document(_PLAN))), 12):
        plan = base.document(_PLAN)
        value = at(plan, path)
        at(plan, path[:-1])[path[-1]] = _other(value, random)
        yield f"{'.'.join(map(str, path))}", base.with_document(_PLAN, plan)


def dropped(base: Base, random: Random) -> Mutants:
    for path in random.sample(list(places(base.document(_PLAN))), 12):
        plan = base.document(_PLAN)
        del at(plan, path[:-1])[path[-1]]
        yield f"{'.'.join(map(str, path))}", base.with_document(_PLAN, plan)


def list_item_dropped(base: Base, random: Random) -> Mutants:
    for name in ("numa_nodes", "gpus", "irqs"):
        plan = base.document(_PLAN)
        if plan[name]:
            place = random.randrange(len(plan[name]))
            del plan[name][place]
            yield f"{name}[{place}]", base.with_document(_PLAN, plan)


def missing(base: Base, _random: Random) -> Mutants:
    config = base.config()
    entries(config, "files").remove(find(config, "files", _PLAN))
    yield _PLAN, config


def interrupts_astray(base: Base, random: Random) -> Mutants:
    text = base.texts.get(_IRQ)
    if text is None:
        return
    lists = re.findall(r"\[(\d+)\]=(\S+)", text)
    node, cpus = random.choice(lists)
    numbers = list(re.finditer(r"\d+", cpus))
    at_ = random.choice(numbers)
    off = f"{cpus[: at_.start()]}{int(at_[0]) + 1}{cpus[at_.end() :]}"
    yield (
        f"[{node}]={off}",
        base.with_text(_IRQ, text.replace(f"[{node}]={cpus}", f"[{node}]={off}")),
    )
    mask = f"{sum(1 << cpu for cpu in range(4)):08x}"
    yield f"[{node}]={mask}", base.with_text(_IRQ, text.replace(f"={cpus}", f"={mask}"))
    wrong = text.replace("smp_affinity_list", "smp_affinity")
    yield "list where a mask belongs", base.with_text(_IRQ, wrong)
    if len(lists) > 1:
        (one, first), (other, second) = random.sample(lists, 2)
        swapped = text.replace(f"[{one}]={first}", f"[{one}]={second}", 1)
        swapped = swapped.replace(f"[{other}]={second}", f"[{other}]={first}", 1)
        yield f"nodes {one} and {other} exchanged", base.with_text(_IRQ, swapped)
        gone = text.replace(f"[{one}]={first}", "")
        yield f"node {one} left out", base.with_text(_IRQ, gone)


KINDS: dict[str, Kind] = {
    "expectation changed": changed,
    "expectation dropped": dropped,
    "expectation of a device dropped": list_item_dropped,
    "expectations missing": missing,
    "interrupts on wrong CPUs": interrupts_astray,
}
