"""Mutants of the kernel command line."""

import re
from collections.abc import Iterator
from random import Random

from hardware.cpuset import format_list
from tests.sweeps.boot_mutants.bases import Base, Json, Kind, misspelt, recased

Mutants = Iterator[tuple[str, Json]]
_LISTS = ("irqaffinity", "isolcpus")
_INVENTED = (
    "pcie_acs_override=downstream,multifunction",
    "pcie_acs=off",
    "pci=noaer",
    "rcu_nocb_poll",
    "nvidia.NVreg_EnablePCIeGen4=1",
    "nvidia.NVreg_EnablePCIeGen3=1",
    "nvidia.NVreg_PersistenceMode=1",
    "nvidia.NVreg_TCEBypassMode=1",
    "nvidia.NVreg_EnableStreamMemOP=1",
)
_WRONG_VALUES = {
    "transparent_hugepage": "yes",
    "numa_balancing": "off",
    "iommu": "passthrough",
    "intel_iommu": "enabled",
    "pcie_aspm": "disable",
    "intel_idle.max_cstate": "C1",
    "processor.max_cstate": "none",
}


def _named(base: Base, name: str) -> str | None:
    return next((each for each in base.arguments if each.startswith(f"{name}=")), None)


def dropped(base: Base, _random: Random) -> Mutants:
    for each in base.arguments:
        yield each, base.with_arguments([other for other in base.arguments if other != each])


def misspelled(base: Base, random: Random) -> Mutants:
    for each in base.arguments:
        name, sign, value = each.partition("=")
        new = f"{misspelt(name, random)}{sign}{value}"
        yield new, base.with_argument(each, new)


def wrong_case(base: Base, _random: Random) -> Mutants:
    for each in base.arguments:
        yield recased(each), base.with_argument(each, recased(each))


def listed_twice(base: Base, _random: Random) -> Mutants:
    for each in base.arguments:
        yield each, base.with_arguments([*base.arguments, each])


def wrong_value(base: Base, _random: Random) -> Mutants:
    for name, value in _WRONG_VALUES.items():
        old = _named(base, name)
        if old:
            yield f"{name}={value}", base.with_argument(old, f"{name}={value}")


def off_by_one(base: Base, random: Random) -> Mutants:
    for name in _LISTS:
        old = _named(base, name)
        if old is None:
            continue
        numbers = list(re.finditer(r"\d+", old))
        at = random.choice(numbers)
        new = f"{old[: at.start()]}{int(at[0]) + random.choice((-1, 1))}{old[at.end() :]}"
        if "--" not in new and "=-" not in new and ",-" not in new:
            yield new, base.with_argument(old, new)


def sibling_left_out(base: Base, random: Random) -> Mutants:
    for name in _LISTS:
        old, cpus = _named(base, name), base.cpus(name)
        wide = sorted(cpus & base.wide)
        if old and wide:
            gone = random.choice(wide)
            prefix = re.match(r"[a-z_=,]+", old)
            assert prefix is not None
            new = prefix[0] + format_list(cpus - {gone})
            yield f"{name} without {gone}", base.with_argument(old, new)


def beyond_the_machine(base: Base, _random: Random) -> Mutants:
    for name in _LISTS:
        old = _named(base, name)
        if old:
            new = f"{old},{base.hardware.cpu_count}"
            yield new, base.with_argument(old, new)


def swapped(base: Base, _random: Random) -> Mutants:
    irq, isolated = (_named(base, name) for name in _LISTS)
    if irq and isolated:
        kept, taken = (format_list(base.cpus(name)) for name in _LISTS)
        new = {irq: irq.replace(kept, taken), isolated: isolated.replace(taken, kept)}
        config = base.with_arguments([new.get(each, each) for each in base.arguments])
        yield "irqaffinity and isolcpus", config


def isolated_in_both_ways(base: Base, _random: Random) -> Mutants:
    old = _named(base, "isolcpus")
    if old:
        new = f"isolcpus=domain,{format_list(base.cpus('isolcpus'))}"
        if new != old:
            yield new, base.with_arguments([*base.arguments, new])


def wrong_flag(base: Base, random: Random) -> Mutants:
    old = _named(base, "isolcpus")
    if old:
        cpus = format_list(base.cpus("isolcpus"))
        flags = ("managed-irq", "nohz", "managed_irqs", "Domain", "nohz,managed_irq")
        new = f"isolcpus={random.choice(flags)},{cpus}"
        yield new, base.with_argument(old, new)
        yield "flag behind the list", base.with_argument(old, f"isolcpus={cpus},managed_irq")


def placebo(base: Base, random: Random) -> Mutants:
    cpus = format_list(base.cpus("isolcpus")) or "1"
    for each in (f"nohz_full={cpus}", f"rcu_nocbs={cpus}", random.choice(_INVENTED)):
        yield each, base.with_arguments([*base.arguments, each])


def foreign_iommu(base: Base, _random: Random) -> Mutants:
    wrong = "amd_iommu=force_enable" if base.hardware.cpu_vendor == "intel" else "intel_iommu=on"
    yield wrong, base.with_arguments([*base.arguments, wrong])


def too_many_hugepages(base: Base, random: Random) -> Mutants:
    last = base.hardware.numa_nodes[-1]
    pages = last.memory_gib + random.randint(0, 4)
    new = f"hugepagesz=1G hugepages={last.id}:{pages}"
    kept = [each for each in base.arguments if not each.startswith("hugepagesz=1G")]
    yield new, base.with_arguments([*kept, new])


def apart_from_their_size(base: Base, _random: Random) -> Mutants:
    for each in base.arguments:
        if each.startswith("hugepagesz="):
            split = [
                part
                for other in base.arguments
                for part in (other.split() if other == each else [other])
            ]
            yield each, base.with_arguments(split)
    if not any("hugepages" in each for each in base.arguments):
        yield "hugepages=8", base.with_arguments([*base.arguments, "hugepages=8"])


def wrong_node_format(base: Base, random: Random) -> Mutants:
    nodes = len(base.hardware.numa_nodes)
    form = random.choice((f"{nodes}:1", "0=1", "node0:1", "0:1;1:1", "0:-1", "0:one", ":1"))
    kept = [each for each in base.arguments if not each.startswith("hugepagesz=2M")]
    new = f"hugepagesz=2M hugepages={form}"
    yield new, base.with_arguments([*kept, new])


def wrong_page_size(base: Base, random: Random) -> Mutants:
    new = f"hugepagesz={random.choice(('1Gi', '4M', '2048', '1GB', 'huge'))} hugepages=4"
    kept = [each for each in base.arguments if not each.startswith("hugepagesz=")]
    yield new, base.with_arguments([*kept, new])


def wrong_number_of_hugepages(base: Base, random: Random) -> Mutants:
    for each in base.arguments:
        if each.startswith("hugepagesz="):
            head, _, count = each.rpartition("=")
            numbers = count.split(",")
            place = random.randrange(len(numbers))
            node, sign, pages = numbers[place].rpartition(":")
            numbers[place] = f"{node}{sign}{int(pages) + 1}"
            new = f"{head}={','.join(numbers)}"
            yield new, base.with_argument(each, new)


KINDS: dict[str, Kind] = {
    "kernel argument dropped": dropped,
    "kernel argument misspelt": misspelled,
    "kernel argument in the wrong case": wrong_case,
    "kernel argument twice": listed_twice,
    "kernel argument of a wrong value": wrong_value,
    "CPU list off by one": off_by_one,
    "SMT sibling left out": sibling_left_out,
    "CPU beyond the machine": beyond_the_machine,
    "CPU lists swapped": swapped,
    "isolcpus of both kinds": isolated_in_both_ways,
    "isolcpus flag wrong": wrong_flag,
    "placebo argument": placebo,
    "IOMMU of another vendor": foreign_iommu,
    "hugepages beyond memory": too_many_hugepages,
    "hugepages apart from their size": apart_from_their_size,
    "hugepages of a wrong node format": wrong_node_format,
    "hugepages of a wrong size": wrong_page_size,
    "hugepages miscounted": wrong_number_of_hugepages,
}
