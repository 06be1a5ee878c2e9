"""Judges the CPU lists that a script on the node writes for the interrupts of devices."""

import re
from collections.abc import Iterator, Mapping

from hardware.catalogue import Hardware
from ignition.boot import cpus
from ignition.boot.config import BootConfig
from ignition.boot.kernel import Kernel
from ignition.boot.unit_syntax import parse, values

_LIST = re.compile(r"\[(-?\d+)\]=[\"']?([0-9a-fA-F][0-9a-fA-F,:/-]*)")


def check(
    config: BootConfig, command_line: Kernel, hardware: Hardware, problems: list[str]
) -> Mapping[int, frozenset[int]]:
    """The CPUs by NUMA node of a device (-1: none); what is wrong is added to `problems`."""
    lists: dict[int, frozenset[int]] = {}
    scripts = {
        path: file.text
        for path, file in config.files.items()
        if file.text and "smp_affinity" in file.text and file.text.startswith("#!")
    }
    for path, text in scripts.items():
        masks = re.search(r"smp_affinity(?!_list)\b", text) is not None
        if masks and any("-" in given for _, given in _LIST.findall(text)):
            problems.append(
                f"{path} writes a list into smp_affinity, which takes a mask; write to "
                "smp_affinity_list"
            )
            continue
        for node, given in _LIST.findall(text):
            try:
                lists[int(node)] = cpus.read_mask(given) if masks else cpus.read(given)
            except cpus.ListError as error:
                problems.append(f"{path}: NUMA node {node}: {error}; correct it")
        if lists:
            problems += _lists(path, lists, command_line, hardware)
    for path in scripts:
        problems += _repeated(path, config)
    irqbalance = config.units.get("irqbalance.service")
    placed = scripts or command_line.irq_cpus is not None
    if placed and (irqbalance is None or not irqbalance.masked):
        problems.append(
            "irqbalance.service would move the interrupts that the configuration places; mask it"
        )
    return lists


def _repeated(path: str, config: BootConfig) -> Iterator[str]:
    """A timer must repeat the script: drivers make vectors when a device is first used."""
    runs = [unit for unit in config.units.values() if path in (unit.contents or "")]
    for unit in runs:
        if "kubelet.service" not in " ".join(values(parse(unit.contents or ""), "Before")).split():
            yield f"{unit.name} places interrupts under running pods; add Before=kubelet.service"
    names = {unit.name.removesuffix(".service") for unit in runs}
    timers = [unit for unit in config.units.values() if unit.name.endswith(".timer")]
    if runs and not any(
        timer.enabled
        and timer.name.removesuffix(".timer") in names
        and re.search(r"^(OnUnitActiveSec|OnCalendar)=\S", timer.contents or "", re.MULTILINE)
        for timer in timers
    ):
        yield f"{runs[0].name} runs but once; add a timer, since drivers make interrupts later, too"


def _lists(
    path: str, lists: Mapping[int, frozenset[int]], command_line: Kernel, hardware: Hardware
) -> Iterator[str]:
    for node in hardware.numa_nodes:
        served, own = lists.get(node.id), frozenset().union(*cpus.cores(node))
        if served is None:
            yield f"{path} has no CPUs for devices of NUMA node {node.id}; add them"
            continue
        if served - own:
            yield (
                f"{path} serves devices of NUMA node {node.id} on CPUs {cpus.write(served - own)} "
                "of another node; name CPUs of the same one"
            )
        if served & command_line.isolated_cpus:
            yield (
                f"{path} serves devices of NUMA node {node.id} on CPUs "
                f"{cpus.write(served & command_line.isolated_cpus)}, which isolcpus isolates; name "
                "housekeeping CPUs"
            )
        right = command_line.irq_cpus
        if right is not None and served != right & own:
            yield (
                f"{path} serves devices of NUMA node {node.id} on CPUs {cpus.write(served)}, but "
                f"irqaffinity names {cpus.write(right & own)}; give both the same list"
            )
    for number in lists.keys() - {node.id for node in hardware.numa_nodes} - {-1}:
        yield f"{path} names NUMA node {number}, which {hardware.name} lacks; remove it"
