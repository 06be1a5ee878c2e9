"""Mutants of the kubelet configuration."""

import copy
import re
from collections.abc import Iterator
from random import Random
from typing import Any

from hardware.cpuset import format_list, parse_list
from tests.sweeps.boot_mutants.bases import PATCH, Base, Json, Kind, misspelt, recased

Mutants = Iterator[tuple[str, Json]]
_OPTIONS = ("cpuManagerPolicyOptions", "topologyManagerPolicyOptions")
_POLICIES = ("cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy")


def _with(base: Base, **fields: Any) -> Json:
    return base.with_document(PATCH, base.document(PATCH) | fields)


def dropped(base: Base, _random: Random) -> Mutants:
    for name in base.document(PATCH):
        patch = base.document(PATCH)
        del patch[name]
        yield name, base.with_document(PATCH, patch)


def _renamed(base: Base, old: str, new: str) -> Json:
    patch = {new if name == old else name: value for name, value in base.document(PATCH).items()}
    return base.with_document(PATCH, patch)


def misspelled(base: Base, random: Random) -> Mutants:
    for name in base.document(PATCH):
        new = misspelt(name, random)
        yield new, _renamed(base, name, new)


def wrong_case(base: Base, _random: Random) -> Mutants:
    for name in base.document(PATCH):
        yield recased(name), _renamed(base, name, recased(name))


def policy_in_the_wrong_case(base: Base, _random: Random) -> Mutants:
    patch = base.document(PATCH)
    for name in _POLICIES:
        if name in patch:
            yield f"{name}: {recased(patch[name])}", _with(base, **{name: recased(patch[name])})


def another_policy(base: Base, _random: Random) -> Mutants:
    patch = base.document(PATCH)
    for name, value in {
        "cpuManagerPolicy": "none",
        "memoryManagerPolicy": "None",
        "topologyManagerPolicy": "none",
        "topologyManagerScope": "container",
    }.items():
        if name in patch and patch[name] != value:
            yield f"{name}: {value}", _with(base, **{name: value})


def wrong_type(base: Base, _random: Random) -> Mutants:
    for name, value in base.document(PATCH).items():
        wrong: Any = str(value).lower() if not isinstance(value, str) else [value]
        yield f"{name}: {str(wrong)[:30]}", _with(base, **{name: wrong})


def _options(base: Base) -> Iterator[tuple[str, str, str]]:
    for field in _OPTIONS:
        for option, value in base.document(PATCH).get(field, {}).items():
            yield field, option, value


def option_misspelt(base: Base, random: Random) -> Mutants:
    for field, option, value in _options(base):
        patch = base.document(PATCH)
        del patch[field][option]
        new = random.choice((misspelt(option, random), option.replace("-", "_"), recased(option)))
        patch[field][new] = value
        yield new, base.with_document(PATCH, patch)


def option_of_a_wrong_type(base: Base, random: Random) -> Mutants:
    for field, option, _ in _options(base):
        patch = base.document(PATCH)
        patch[field][option] = random.choice((True, 1, "True", "yes", "1"))
        yield f"{option}: {patch[field][option]!r}", base.with_document(PATCH, patch)


def option_dropped(base: Base, _random: Random) -> Mutants:
    for field, option, _ in _options(base):
        patch = base.document(PATCH)
        del patch[field][option]
        yield option, base.with_document(PATCH, patch)


def hidden_option(base: Base, _random: Random) -> Mutants:
    patch = base.document(PATCH)
    if "cpuManagerPolicyOptions" in patch:
        patch["cpuManagerPolicyOptions"]["align-by-socket"] = "true"
        yield "align-by-socket", base.with_document(PATCH, patch)


def _mib(quantity: str, more: int) -> str:
    return re.sub(r"\d+", lambda match: str(int(match[0]) + more), quantity, count=1)


def reserved_memory_off_by_one(base: Base, random: Random) -> Mutants:
    patch = base.document(PATCH)
    if patch.get("reservedMemory"):
        limits = random.choice(patch["reservedMemory"])["limits"]
        limits["memory"] = _mib(limits["memory"], random.choice((-1, 1)))
        yield f"reservedMemory {limits}", base.with_document(PATCH, patch)


def reserved_memory_of_wrong_nodes(base: Base, random: Random) -> Mutants:
    entries = base.document(PATCH).get("reservedMemory")
    if not entries:
        return
    place = random.randrange(len(entries))
    for change in ("twice", "beyond", "dropped", "kind"):
        changed = copy.deepcopy(entries)
        if change == "twice":
            changed.append(changed[place])
        elif change == "beyond":
            changed[place]["numaNode"] = len(base.hardware.numa_nodes)
        elif change == "dropped":
            del changed[place]
        else:
            changed[place]["limits"] = {"ram": changed[place]["limits"]["memory"]}
        yield f"reservedMemory of node {place}: {change}", _with(base, reservedMemory=changed)


def reservation_off_by_one(base: Base, random: Random) -> Mutants:
    patch = base.document(PATCH)
    name = random.choice(("kubeReserved", "systemReserved"))
    patch[name]["memory"] = _mib(patch[name]["memory"], 1)
    if "reservedMemory" in patch:
        yield f"{name} {patch[name]}", base.with_document(PATCH, patch)
    patch[name] = {"memory": "8 GB"}
    yield f"{name} {patch[name]}", base.with_document(PATCH, patch)


def eviction(base: Base, random: Random) -> Mutants:
    signals = base.document(PATCH)["evictionHard"]
    gone = random.choice(sorted(signals))
    less = {name: value for name, value in signals.items() if name != gone}
    yield f"without {gone}", _with(base, evictionHard=less)
    yield "misspelt", _with(base, evictionHard={**less, misspelt(gone, random): signals[gone]})
    if "reservedMemory" in base.document(PATCH):
        yield "percentage", _with(base, evictionHard={**signals, "memory.available": "1%"})


def reserved_cpus(base: Base, random: Random) -> Mutants:
    text = base.document(PATCH)["reservedSystemCPUs"]
    cpus = parse_list(text)
    count = base.hardware.cpu_count
    first = min(set(range(count)) - cpus)
    for new in (
        format_list(cpus | {first}),
        format_list(cpus - {random.choice(sorted(cpus))}),
        format_list(cpus | {count}),
        text.replace(",", ";") if "," in text else f"{text};",
        "",
    ):
        yield f'reservedSystemCPUs "{new}"', _with(base, reservedSystemCPUs=new)


def taint_dropped(base: Base, _random: Random) -> Mutants:
    taints = base.document(PATCH).get("registerWithTaints", [])
    for place, taint in enumerate(taints):
        yield taint["key"], _with(base, registerWithTaints=taints[:place] + taints[place + 1 :])


def taint_wrong(base: Base, random: Random) -> Mutants:
    taints = base.document(PATCH).get("registerWithTaints", [])
    for place, taint in enumerate(taints):
        wrong = random.choice(
            (
                {"effect": "noschedule"},
                {"effect": "NoScheduling"},
                {"effect": "PreferNoSchedule"},
                {"key": recased(taint["key"])},
                {"key": misspelt(taint["key"], random)},
                {"Effect": "NoSchedule"},
                {"value": "a b"},
            )
        )
        changed = [*taints[:place], {**taint, **wrong}, *taints[place + 1 :]]
        yield f"{taint['key']} {wrong}", _with(base, registerWithTaints=changed)
        yield f"{taint['key']} twice", _with(base, registerWithTaints=[*taints, taint])


def swap_tolerated(base: Base, _random: Random) -> Mutants:
    yield "failSwapOn", _with(base, failSwapOn=False)


KINDS: dict[str, Kind] = {
    "kubelet field dropped": dropped,
    "kubelet field misspelt": misspelled,
    "kubelet field in the wrong case": wrong_case,
    "kubelet policy in the wrong case": policy_in_the_wrong_case,
    "kubelet policy switched off": another_policy,
    "kubelet field of a wrong type": wrong_type,
    "kubelet option misspelt": option_misspelt,
    "kubelet option of a wrong type": option_of_a_wrong_type,
    "kubelet option dropped": option_dropped,
    "kubelet option behind a gate": hidden_option,
    "reservedMemory off by one": reserved_memory_off_by_one,
    "reservedMemory of wrong nodes": reserved_memory_of_wrong_nodes,
    "reservation off by one": reservation_off_by_one,
    "eviction threshold": eviction,
    "reserved CPUs": reserved_cpus,
    "taint missing": taint_dropped,
    "taint wrong": taint_wrong,
    "swap tolerated": swap_tolerated,
}
