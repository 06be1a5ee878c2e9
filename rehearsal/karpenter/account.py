"""What EC2 can give in the region of a rehearsal: types, zones, prices, reservations.

Machines and prices are those of the hardware catalogue. The program makes neither subnets nor
capacity reservations: they are the account's, which the stack file says must have certain tags, so
that the twin's account has what the stack file asks for: a subnet in each zone, a security group
and, for each pool with reserved capacity, a reservation of that size.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from ipaddress import ip_network
from pathlib import Path

from hardware.catalogue import Hardware, load, names
from settings import AwsPoolSettings, AwsSite, Settings
from settings.names import POOL_LABEL

FILE = "aws-account.json"
ZONES = "abc"
DISCOVERY = "karpenter.sh/discovery"
CAPACITY_TYPES = ("on-demand", "spot")


@dataclass(frozen=True, kw_only=True)
class Zone:
    """An availability zone with the subnet that the fleet may use in it."""

    name: str
    id: str
    subnet: str
    cidr: str


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """A type that EC2 offers in every zone; prices in USD an hour, by capacity type."""

    name: str
    arch: str
    vcpus: int
    cores: int
    memory_mib: int
    gpus: int
    gpu_model: str
    gpu_memory_mib: int
    efa: int
    nvme_gb: int
    usd_per_hour: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Capacity that is paid for; `until` is the last day of a capacity block."""

    id: str
    type: str
    zone: str
    machines: int
    tags: dict[str, str]
    until: str | None


@dataclass(frozen=True, kw_only=True)
class Account:
    """One region of the account, for one cluster."""

    region: str
    cluster: str
    zones: tuple[Zone, ...]
    types: tuple[InstanceType, ...]
    reservations: tuple[Reservation, ...]

    def zone(self, subnet: str, name: str) -> Zone | None:
        """The zone of a subnet, or of that name; None where the account has neither."""
        known = (zone for zone in self.zones if zone.subnet == subnet or zone.name == name)
        return next(known, None)

    def type(self, name: str) -> InstanceType | None:
        """The type of that name; None where EC2 does not offer it."""
        return next((each for each in self.types if each.name == name), None)


def write(directory: Path, settings: Settings) -> bool:
    """Write what the account has for these settings; return whether they rent from AWS at all."""
    account = of(settings)
    if account is None:
        return False
    scratch = directory / f"{FILE}.new"
    scratch.write_text(json.dumps(asdict(account), indent=1))
    scratch.rename(directory / FILE)
    return True


def read(directory: Path) -> Account | None:
    """Return what `write` has written; None where the rehearsal rents nothing."""
    path = directory / FILE
    if not path.exists():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    return Account(
        region=found["region"],
        cluster=found["cluster"],
        zones=tuple(Zone(**zone) for zone in found["zones"]),
        types=tuple(InstanceType(**each) for each in found["types"]),
        reservations=tuple(Reservation(**each) for each in found["reservations"]),
    )


def of(settings: Settings) -> Account | None:
    """Return the account for these settings; None where no pool is on AWS."""
    pools = {
        pool.name: pool.declared
        for pool in settings.pools.values()
        if isinstance(pool.declared, AwsPoolSettings)
    }
    sites = {pool.site for pool in pools.values()}
    for name, site in settings.sites.items():
        if isinstance(site, AwsSite) and name in sites:
            zones = tuple(_zones(site, pools))
            return Account(
                region=site.region,
                cluster=settings.cluster.name,
                zones=zones,
                types=tuple(_type(load(name)) for name in names() if load(name).kind == "aws"),
                reservations=tuple(_reservations(pools, zones)),
            )
    return None


def _zones(site: AwsSite, pools: dict[str, AwsPoolSettings]) -> Iterator[Zone]:
    named = {pool.zone.removeprefix(site.region) for pool in pools.values() if pool.zone}
    letters = sorted({*ZONES, *named})
    parts = site.region.split("-")
    short = parts[0] + "".join(part[0] for part in parts[1:-1]) + parts[-1]
    ranges = ip_network(str(site.cidr)).subnets(prefixlen_diff=3)
    for number, (letter, cidr) in enumerate(zip(letters, ranges, strict=False), start=1):
        yield Zone(
            name=f"{site.region}{letter}",
            id=f"{short}-az{number}",
            subnet=f"subnet-{number:017x}",
            cidr=str(cidr),
        )


def _type(machine: Hardware) -> InstanceType:
    """The type as EC2 describes it.

    Where the catalogue has no price of a capacity type it is the nearest known one, as everywhere;
    `assumed_offers` says so.
    """
    prices = {each: machine.usd_per_hour_as(each) for each in CAPACITY_TYPES}
    return InstanceType(
        name=machine.name,
        arch={"amd64": "x86_64", "arm64": "arm64"}[machine.arch],
        vcpus=machine.cpu_count,
        cores=sum(len(node.cores()) for node in machine.numa_nodes),
        memory_mib=machine.memory_gib * 1024,
        gpus=machine.gpu_count,
        gpu_model=machine.gpus[0].model.removeprefix("NVIDIA ") if machine.gpus else "",
        gpu_memory_mib=machine.gpus[0].memory_gib * 1024 if machine.gpus else 0,
        efa=machine.efa_interfaces,
        nvme_gb=round(sum(drive.size_gib for drive in machine.nvme) * 1.073741824),
        usd_per_hour={each: price for each, price in prices.items() if price is not None},
    )


def assumed_offers(settings: Settings) -> Iterator[str]:
    """Yield a sentence for each pool that rents what nobody is known to sell."""
    for name, pool in settings.pools.items():
        if not isinstance(pool.declared, AwsPoolSettings):
            continue
        price = pool.hardware.price
        listed = {
            "reserved": price.reserved_per_hour,
            "on-demand": price.on_demand_per_hour,
            "spot": price.spot_per_hour,
        }
        for capacity, gpus in pool.declared.gpu_limits.items():
            if gpus and listed[capacity] is None:
                yield (
                    f"AWS sells {pool.hardware.name} as {capacity} capacity to the pool {name}; no "
                    "list price is known, and where AWS has none Karpenter rents none."
                )


def _reservations(
    pools: dict[str, AwsPoolSettings], zones: tuple[Zone, ...]
) -> Iterator[Reservation]:
    for number, (name, pool) in enumerate(sorted(pools.items()), start=1):
        gpus = pool.gpu_limits.get("reserved", 0)
        if gpus:
            yield Reservation(
                id=f"cr-{number:017x}",
                type=pool.hardware,
                zone=pool.zone or zones[0].name,
                machines=gpus // load(pool.hardware).gpu_count,
                tags={POOL_LABEL: name},
                until=pool.reserved_until,
            )
