"""MPS must be on whole GPUs alone: neither on MIG instances nor together with time-slicing.

The device plugin knows one way of sharing on a node, and MPS for `nvidia.com/gpu` alone. The rule
reads the labels with which a pool's nodes register (`fleet.gpu/sharing` against the configuration
that `nvidia.com/device-plugin.config` names) and the configurations of the device plugin, in the
values of the GPU Operator's chart or in a ConfigMap.
"""

from collections.abc import Iterator, Mapping

import yaml

from policies.language.boot_data import Shipped, is_pool, judged, node_labels
from policies.language.manifest import at, describe, items, mapping
from policies.language.rule import Manifest, Rule, Settings
from settings.names import RELEASE, SHARING_LABEL

_INSTANCES = "have MPS on whole GPUs, not on MIG instances"
_BOTH = "have either MPS or time-slicing"
_READABLE = "have device plugin configurations of YAML"
_CONFIG = "nvidia.com/device-plugin.config"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what a pool or a chart has of MPS that the device plugin cannot do."""
    if is_pool(manifest):
        return _of_a_pool(manifest, settings)
    if manifest.get("kind") == "ConfigMap":
        found = mapping(manifest.get("data")).items()
        return _of_all(describe(manifest), {key: it for key, it in found if _is_meant(it)})
    if manifest.get("kind") != RELEASE:
        return []
    data = mapping(at(manifest, "spec", "values", "devicePlugin", "config", "data"))
    return _of_all(f"Release '{at(manifest, 'metadata', 'name')}'", data)


def _of_all(subject: str, data: Mapping[str, object]) -> list[str]:
    return [
        f"{subject} must {fault}, in its device plugin configuration '{config}'."
        for config, text in data.items()
        for fault in _of_a_configuration(str(text))
    ]


def _is_meant(text: object) -> bool:
    """Return whether a text of a ConfigMap is a configuration of the device plugin."""
    if "sharing" not in str(text) or "mps" not in str(text):
        return False
    try:
        return isinstance(at(yaml.safe_load(str(text)), "sharing", "mps"), Mapping)
    except yaml.YAMLError:
        return False


def _judge(shipped: Shipped) -> list[str]:
    labels = node_labels(shipped.config)
    mode, config = labels.get(SHARING_LABEL), labels.get(_CONFIG, "")
    ways = {str(mode), "time-slicing" if config.startswith("time-slicing") else config[:3]}
    if "mps" not in ways:
        return []
    if "mig" in ways or "nvidia.com/mig.config" in labels:
        return [_INSTANCES]
    return [_BOTH] if "time-slicing" in ways else []


_of_a_pool = judged(_judge)


def _of_a_configuration(text: str) -> Iterator[str]:
    try:
        sharing = at(yaml.safe_load(text), "sharing")
    except yaml.YAMLError:
        yield _READABLE
        return
    mps = at(sharing, "mps")
    if mps and at(sharing, "timeSlicing"):
        yield _BOTH
    named = [str(at(resource, "name")) for resource in items(at(mps, "resources"))]
    if any(name.startswith("nvidia.com/mig-") for name in named):
        yield _INSTANCES


RULE = Rule(
    id="numa/mps",
    sentence="MPS must be on whole GPUs, neither on MIG instances nor with time-slicing.",
    why=(
        "The device plugin refuses to start with both, or with MPS on MIG instances, and the node "
        "then offers no GPU at all."
    ),
    source="https://github.com/NVIDIA/k8s-device-plugin#with-cuda-mps",
    predicate=violations,
)
