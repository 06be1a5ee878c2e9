"""A pool whose GPUs are behind NVSwitch must start Fabric Manager, in the driver's version.

Flatcar ships none, so it comes as a system extension. Without it, or with one of another version,
CUDA starts on no GPU of the machine (error 802).
"""

import re

from ignition.boot.config import BootConfig
from ignition.write.extensions import fabric_manager_problem
from policies.language.boot_data import Shipped, driver, judged, own_driver, texts
from policies.language.rule import Manifest, Rule, Settings

_LINK = "/etc/extensions/nvidia-fabricmanager.raw"
_UNIT = "nvidia-fabricmanager.service"
_STARTS = re.compile(rf"^(?:Upholds|Wants|Requires)=.*\b{re.escape(_UNIT)}\b", re.MULTILINE)


def _judge(shipped: Shipped) -> list[str]:
    config = shipped.config
    if not shipped.hardware.nvswitch:
        return []
    image = config.files.get(config.links.get(_LINK, ""))
    if image is None:
        return ["have the system extension nvidia-fabricmanager for its GPUs behind NVSwitch"]
    release = shipped.inputs.get("flatcar")
    problem = fabric_manager_problem(
        image.source,
        nvswitch=True,
        driver=driver(config) or "",
        flatcar=str(release) if release else None,
        own=own_driver(config),
    )
    if problem:
        return ["have Fabric Manager in the version of its NVIDIA driver"]
    return [] if _starts(config) else [f"start {_UNIT}, which comes with its system extension"]


def _starts(config: BootConfig) -> bool:
    masked = _UNIT in config.units and config.units[_UNIT].masked
    starts = any(_STARTS.search(text) for unit in config.units.values() for text in texts(unit))
    return starts and not masked


def _keys(_manifest: Manifest, _settings: Settings) -> list[str]:
    return ["versions.fabric_manager", "versions.nvidia_driver"]


RULE = Rule(
    id="numa/fabric-manager",
    sentence="A pool behind NVSwitch must start Fabric Manager in the version of its driver.",
    why=(
        "Without Fabric Manager of exactly the driver's version CUDA fails to start on every GPU "
        "behind NVSwitch, with error 802, on a node that looks ready."
    ),
    source="https://github.com/NVIDIA/gpu-driver-container/pull/908",
    predicate=judged(_judge),
    keys=_keys,
)
