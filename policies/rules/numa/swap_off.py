"""A pool's machines must have no swap: memory that is on a disk is on no NUMA node.

Units, `/etc/fstab`, file systems, zram and services whose command or script calls `swapon` can add
swap. The kubelet must keep `failSwapOn`, so that it refuses to start where there is some.
"""

import json
import re
from collections.abc import Iterator

from ignition.boot.config import BootConfig
from policies.language.boot_data import KUBELET_FLAGS, Shipped, judged, texts, texts_of
from policies.language.manifest import at, items, mapping
from policies.language.rule import Alert, Rule

_PATCHES = "/etc/kubernetes/patches/kubeletconfiguration"
_SWAPON = re.compile(r"\bswapon\b(?!\s+(?:-s|--summary|--show|--noheadings))")
_FSTAB = re.compile(r"^\s*[^#\s]\S*\s+\S+\s+swap\b", re.MULTILINE)
_ZRAM = "/etc/systemd/zram-generator.conf"


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
    started = [config.text(KUBELET_FLAGS) or "", *texts_of(config, "kubelet.service")]
    if any("--fail-swap-on=false" in text for text in started):
        yield "not give the kubelet the flag --fail-swap-on=false"


def _swap(config: BootConfig) -> Iterator[str]:
    for name, unit in config.units.items():
        starts = any(map(_SWAPON.search, [*texts(unit), config.commands[name]]))
        if not unit.masked and (name.endswith(".swap") or starts):
            yield f"the unit {name}"
    for system in items(config.storage.get("filesystems")):
        if at(system, "format") == "swap":
            yield f"the file system {at(system, 'device')}"
    for path in config.files:
        if path == _ZRAM or path.startswith(f"{_ZRAM}.d/"):
            yield f"the file {path}"
    if _FSTAB.search(config.text("/etc/fstab") or ""):
        yield "the line of /etc/fstab"


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
