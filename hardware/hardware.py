"""What the catalogue says about a machine: how it is wired and what an hour of it costs.

`load("dgx-h200")` reads hardware/dgx-h200.yaml, checked against hardware/schema.json. Nothing here
is measured on the machine itself: facts that nobody has verified stand in `Hardware.unverified`.
"""

import difflib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jsonschema
import yaml

from hardware.cpuset import CpusetError, format_list, parse_list

CATALOGUE = Path(__file__).resolve().parent

USD_PER_EUR = 1.16
"""Shows EUR prices in USD: assumed on 2026-10-28, not verified, never good for invoices."""

Kind = Literal["bare-metal", "aws", "hetzner"]
Arch = Literal["amd64", "arm64"]


class HardwareError(ValueError):
    """An unknown machine or a wrong catalogue file; one sentence that says what is allowed."""


@dataclass(frozen=True, kw_only=True)
class NumaNode:
    """A NUMA node. `threads` is one CPU list per SMT thread: the n-th CPUs share the n-th core."""

    id: int
    threads: tuple[str, ...]
    memory_gib: int

    @property
    def cpus(self) -> str:
        """Every CPU of the node as a kernel CPU list, SMT threads included."""
        return format_list(cpu for core in self.cores() for cpu in core)

    def cores(self) -> tuple[frozenset[int], ...]:
        """The physical cores in ascending order, each as the set of its CPUs."""
        lists = [sorted(parse_list(thread)) for thread in self.threads]
        return tuple(
            frozenset(cpus[position] for cpus in lists if position < len(cpus))
            for position in range(len(lists[0]))
        )


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU and the NUMA node that it hangs on."""

    index: int
    model: str
    memory_gib: int
    numa_node: int


@dataclass(frozen=True, kw_only=True)
class Nic:
    """A network card, by its Linux device name."""

    name: str
    model: str
    numa_node: int
    rdma: bool


@dataclass(frozen=True, kw_only=True)
class Price:
    """Prices per hour of the machine, without VAT; `source` says what an amortised one assumes."""

    on_demand_per_hour: float | None
    reserved_per_hour: float | None
    amortised_per_hour: float | None
    currency: Literal["USD", "EUR"]
    source: str
    date: str
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """A machine of the catalogue. `unverified` names the facts that nobody has confirmed."""

    # what it is
    name: str
    vendor: str
    kind: Kind
    arch: Arch
    cpu_vendor: Literal["intel", "amd", "ampere"]
    cpu_model: str
    virtual: bool
    # how it is wired
    sockets: int
    numa_nodes: tuple[NumaNode, ...]
    gpus: tuple[Gpu, ...]
    nics: tuple[Nic, ...]
    nvme_gib: int
    system_disk_gib: int
    nvswitch: bool
    efa_interfaces: int
    # what it costs, and how sure we are
    price: Price
    sources: tuple[str, ...]
    unverified: tuple[str, ...]

    @property
    def verified(self) -> bool:
        """Whether every fact of the entry has a source that was read."""
        return not self.unverified

    @property
    def cpu_count(self) -> int:
        """Logical CPUs, SMT threads included."""
        return sum(len(core) for core in self.cores())

    @property
    def memory_gib(self) -> int:
        """Memory of all NUMA nodes in GiB."""
        return sum(node.memory_gib for node in self.numa_nodes)

    @property
    def gpu_count(self) -> int:
        """Number of GPUs."""
        return len(self.gpus)

    @property
    def threads_per_core(self) -> int:
        """SMT threads of the widest core."""
        return max(len(core) for core in self.cores())

    def cores(self) -> tuple[frozenset[int], ...]:
        """Every physical core as the set of its CPUs, node by node."""
        return tuple(core for node in self.numa_nodes for core in node.cores())

    def siblings(self, cpu: int) -> frozenset[int]:
        """The CPUs of the core of `cpu`, itself included; HardwareError where it does not exist."""
        for core in self.cores():
            if cpu in core:
                return core
        raise HardwareError(f"{self.name} has no CPU {cpu}; its CPUs are {self.cpus}")

    @property
    def cpus(self) -> str:
        """Every CPU of the machine as a kernel CPU list."""
        return format_list(cpu for core in self.cores() for cpu in core)

    @property
    def usd_per_hour(self) -> float | None:
        """What an hour costs in USD, as the budget counts it; None where no price is known.

        Rented machines: the on-demand price, else the reserved one (some types are sold as capacity
        blocks alone). Owned machines: the amortised price. EUR is converted by USD_PER_EUR.
        """
        price = self.price
        amount = price.amortised_per_hour
        if self.kind != "bare-metal":
            amount = price.on_demand_per_hour
            amount = price.reserved_per_hour if amount is None else amount
        if amount is None:
            return None
        return round(amount * (USD_PER_EUR if price.currency == "EUR" else 1), 4)


def names() -> tuple[str, ...]:
    """Every machine of the catalogue, in alphabetical order."""
    return tuple(sorted(path.stem for path in CATALOGUE.glob("*.yaml")))


@cache
def load(name: str) -> Hardware:
    """The machine called `name`; HardwareError with the nearest names where there is none."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"nearest: {', '.join(near)}" if near else f"known: {', '.join(known)}"
        raise HardwareError(f'hardware "{name}" is not in the catalogue ({hint})')
    path = CATALOGUE / f"{name}.yaml"
    return parse(name, yaml.safe_load(path.read_text()), where=path.name)


def parse(name: str, entry: object, *, where: str) -> Hardware:
    """A catalogue entry as Hardware; HardwareError names the file and the wrong property."""
    schema = json.loads((CATALOGUE / "schema.json").read_text())
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(entry)
    )
    if error is not None:
        raise HardwareError(f"{where}: {error.json_path}: {error.message}")
    assert isinstance(entry, dict)  # noqa: S101  # the schema says so
    hardware = _build(name, entry)
    problem = _contradiction(hardware)
    if problem is not None:
        raise HardwareError(f"{where}: {problem}")
    return hardware


def _build(name: str, entry: dict[str, Any]) -> Hardware:
    fields: dict[str, Any] = {
        **entry,
        "numa_nodes": tuple(
            NumaNode(id=node["id"], threads=tuple(node["threads"]), memory_gib=node["memory_gib"])
            for node in entry["numa_nodes"]
        ),
        "gpus": tuple(Gpu(**gpu) for gpu in entry["gpus"]),
        "nics": tuple(Nic(**nic) for nic in entry["nics"]),
        "price": Price(**entry["price"]),
        "sources": tuple(entry["sources"]),
        "unverified": tuple(entry["unverified"]),
    }
    return Hardware(name=name, **fields)


def _contradiction(hardware: Hardware) -> str | None:
    """What a schema cannot see: CPUs used twice, uneven lists, devices on missing NUMA nodes."""
    seen: set[int] = set()
    for position, node in enumerate(hardware.numa_nodes):
        path = f"$.numa_nodes[{position}]"
        if node.id != position:
            return f"{path}.id: {node.id}, but NUMA nodes are numbered from 0 in order"
        try:
            sizes = [len(parse_list(thread)) for thread in node.threads]
            cpus = [cpu for thread in node.threads for cpu in parse_list(thread)]
        except CpusetError as error:
            return f"{path}.threads: {error}"
        if sizes != sorted(sizes, reverse=True):
            return f"{path}.threads: the lists have {sizes} CPUs; the first must be the longest"
        if len(set(cpus)) != len(cpus) or seen & set(cpus):
            return f"{path}.threads: a CPU stands in two lists; every CPU is one thread of one core"
        seen |= set(cpus)
    devices = {
        **{f"$.gpus[{n}]": gpu.numa_node for n, gpu in enumerate(hardware.gpus)},
        **{f"$.nics[{n}]": nic.numa_node for n, nic in enumerate(hardware.nics)},
    }
    for path, numa_node in devices.items():
        if numa_node >= len(hardware.numa_nodes):
            return (
                f"{path}.numa_node: {numa_node}, but the machine has NUMA nodes 0 to "
                f"{len(hardware.numa_nodes) - 1}"
            )
    return None
