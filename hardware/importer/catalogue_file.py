"""A catalogue file from an imported entry: facts first, price and doubts last, in the file's order.

The text is read back before it is handed out, so what the importer writes is a valid entry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from hardware.catalogue import read
from hardware.importer.assemble import CatalogueEntry
from hardware.machine import MachineKind

_LISTS = ("numa_nodes", "gpus", "nics", "nvme")
_PRICE = """\
price: # to fill in: what an hour costs, the source and its date
  on_demand_per_hour: null
  reserved_per_hour: null
  amortised_per_hour: null
  currency: USD
  source: to fill in
  date: "{date}"
  verified: false
"""


@dataclass(frozen=True, kw_only=True)
class Heading:
    """The facts that no capture shows: catalogue name, vendor, kind, and date."""

    name: str
    vendor: str
    kind: MachineKind
    date: str


def catalogue_text(heading: Heading, entry: CatalogueEntry, commands: Sequence[str]) -> str:
    """The YAML of hardware/<name>.yaml; HardwareError where the captures contradict themselves."""
    name, date = heading.name, heading.date
    lines = [
        f"# {name}: imported on {date} from what the machine says about itself.",
        f"vendor: {_flow(heading.vendor)}",
        f"kind: {heading.kind}",
    ]
    for key, value in entry.fields.items():
        if key in _LISTS and value:
            lines.append(f"{key}:")
            lines += [f"  - {_flow(item)}" for item in value]
        else:
            lines.append(f"{key}: {_flow(value)}")
    lines += [
        _PRICE.format(date=date).rstrip(),
        "sources:",
        *(
            f"  - {_flow(f'measured on the machine on {date} by {command}')}"
            for command in commands
        ),
        *_unverified(entry.unverified),
    ]
    text = "\n".join(lines) + "\n"
    read(name, text, where=f"{name}.yaml")
    return text


def _unverified(doubts: Mapping[str, str]) -> list[str]:
    return [
        "unverified:",
        "  - price # to fill in",
        *(f"  - {fact} # {reason}" for fact, reason in doubts.items()),
    ]


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)
    return text.removesuffix("...\n").strip()
