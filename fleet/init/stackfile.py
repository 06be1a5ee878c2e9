"""The text of a new stack file, made from answers."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jinja2

from fleet.init.answers import CPU_SERVER, PLACE, Answers, Owned, machine
from hardware.catalogue import Hardware, load
from hardware.flatcar.releases import driver_version
from settings.forms import CapacityType
from settings.secrets import SECRETS
from settings.support import ends
from settings.versions import FLATCAR, KUBERNETES, NVIDIA_DRIVER

EXEMPT_DAYS = 90


def stack_text(answers: Answers, inventory: str | None, today: date | None = None) -> str:
    """Return the stack file; `inventory` is the file with its machines, beside it."""
    folder = jinja2.FileSystemLoader(Path(__file__).resolve().parent)
    environment = jinja2.Environment(  # noqa: S701  # YAML, not HTML
        loader=folder, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    values = _values(answers, today or datetime.now(tz=UTC).date())
    return environment.get_template("stack.yaml.j2").render(**values, inventory=inventory)


def owned_pool(owned: Owned) -> str:
    """Return the name of the pool: dgx for dgx-h200."""
    return owned.hardware.partition("-")[0].lower()


def _values(answers: Answers, today: date) -> dict[str, Any]:
    owned, rented = answers.owned, answers.rented
    own = machine(owned.hardware, "bare-metal") if owned else None
    burst = machine(rented.hardware, "aws") if rented else None
    machines = _machines(answers.name, owned) if owned else []
    switched = any(each and each.nvswitch for each in (own, burst))
    return {
        **vars(answers),
        "cpu_server": CPU_SERVER,
        "owned_pool": owned_pool(owned) if owned else "",
        "owned_gpus": len(machines) * own.gpu_count if own else 0,
        "machines": machines,
        "bmc_names": any(not _is_address(each["bmc_address"]) for each in machines),
        "burst_gpus": burst.gpu_count if burst else 0,
        "capacity": _capacity(burst) if burst else "",
        "flatcar": FLATCAR,
        "fabric_manager": driver_version(FLATCAR, NVIDIA_DRIVER) if switched else None,
        "secrets": _secrets(owned),
        **_costs([(own, len(machines)), (burst, 2), (load(CPU_SERVER), answers.servers)]),
        **_exemptions(answers, today),
    }


def _capacity(machine: Hardware) -> CapacityType:
    """Return how a machine can be rented: on demand, unless only capacity blocks have a price."""
    blocks = machine.price.on_demand_per_hour is None and machine.price.reserved_per_hour
    return "reserved" if blocks else "on-demand"


def _costs(machines: Sequence[tuple[Hardware | None, int]]) -> dict[str, Any]:
    """Return what a day of all machines costs, with a tenth to spare, and which have no price."""
    found = [(each, number) for each, number in machines if each]
    hourly = sum((each.usd_per_hour or 0) * number for each, number in found)
    return {
        "usd_per_day": max(100, ceil(hourly * 24 * 1.1 / 100) * 100),
        "unpriced": [each.name for each, _ in found if each.usd_per_hour is None],
    }


def _exemptions(answers: Answers, today: date) -> dict[str, Any]:
    """Return what has ended of the pinned versions, and the pools that run it."""
    resources = ["HetznerPool/cpu"]
    if answers.rented:
        resources.insert(0, "AwsGpuPool/burst")
    if answers.owned:
        resources.insert(0, f"BareMetalPool/{owned_pool(answers.owned)}")
    driver = NVIDIA_DRIVER if len(resources) > 1 else None
    return {
        "ended": [name for name, last in ends(KUBERNETES, driver).items() if last < today],
        "exempt": resources,
        "until": str(today + timedelta(days=EXEMPT_DAYS)),
    }


def _machines(name: str, owned: Owned) -> list[dict[str, str]]:
    """Return the machines that are known, else two placeholders."""
    if owned.machines:
        return [dict(each) for each in owned.machines]
    pool = owned_pool(owned)
    return [
        {
            "name": f"{name}-{pool}-{number:02}",
            "bmc_address": f"redfish-virtualmedia+https://10.10.250.1{number}/redfish/v1/Systems/1",
            "boot_mac_address": f"94:6d:ae:01:00:{number:02}",
            "system_drive_serial": f"{PLACE}-{name}-{pool}-{number:02}",
        }
        for number in (1, 2)
    ]


def _secrets(owned: Owned | None) -> list[str]:
    return [
        name
        for name in SECRETS
        if name in ("kubeconfig", "hcloud_token") or (owned and name.startswith("bmc_"))
    ]


def _is_address(bmc: str) -> bool:
    host = urlsplit(bmc).hostname or ""
    return bool(host) and host.replace(".", "").isdigit()
