"""A pool's machines must have no swap: memory that is on a disk is on no NUMA node.

Swap comes by a unit, a file system, zram or a service that calls `swapon`, and the kubelet must
keep refusing to start where it finds some.
"""

import json
from collections.abc import Iterator

from ignition.boot.config import BootConfig
from policies.rules.manifest import at, items, mapping
from policies.rules.rule import Alert, Rule
from policies.rules.shipped import KUBELET_FLAGS, Shipped, judged, texts

_PATCHES = "/etc/kubernetes/patches/kubeletconfiguration"


def _judge(shipped: Shipped) -> list[str]:
    config = shipped.config
    return [*_kubelet(config), *(f"not have {what}, which is swap" for what in _swap(config))]


def _kubelet(config: BootConfig) -> Iterator[str]:
    for path, file in config.files.items():
        if path.startswith(_PATCHES):
            try:
                patch = mapping(json.loads(file.text or "{}"))
            except ValueError:
                patch = {}
            if patch.get("failSwapOn") is False:
                yield "not set the kubelet's failSwapOn to false"
    if "--fail-swap-on=false" in (config.text(KUBELET_FLAGS) or ""):
        yield "not give the kubelet the flag --fail-swap-on=false"


def _swap(config: BootConfig) -> Iterator[str]:
    for name, unit in config.units.items():
        starts = any("swapon" in text for text in texts(unit))
        if not unit.masked and (name.endswith(".swap") or starts):
            yield f"the unit {name}"
    for system in items(config.storage.get("filesystems")):
        if at(system, "format") == "swap":
            yield f"the file system {at(system, 'device')}"
    if "/etc/systemd/zram-generator.conf" in config.files:
        yield "the file /etc/systemd/zram-generator.conf"


RULE = Rule(
    id="numa/swap-off",
    sentence="A pool's machines must have no swap.",
    why=(
        "Memory on swap is on no NUMA node: what the kubelet has placed beside a GPU comes back "
        "from a disk, and a step of a training run waits for it."
    ),
    source="https://kubernetes.io/docs/concepts/architecture/nodes/#swap-memory",
    predicate=judged(_judge),
    alert=Alert(
        name="NodeHasSwap",
        expression="max by (kubernetes_node) (node_memory_SwapTotal_bytes) > 0",
        lasts_minutes=10,
        severity="warning",
        summary="Node {{ $labels.kubernetes_node }} has {{ $value | humanize1024 }}B of swap",
    ),
)
