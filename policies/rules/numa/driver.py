"""A GPU pool's driver must fit its Flatcar and know its GPU.

Flatcar publishes some branches. Any other comes as an extension of one's own, built for the very
release (`versions.nvidia_driver_extension`).

| what | from | read at |
|---|---|---|
| Flatcar has NVIDIA drivers as extensions: 535, 550 and 570, open and closed, amd64 alone | 4344.0.0 | flatcar.org, sys-ext |
| Flatcar 4593.2.5 has 535.274.02, 550.163.01, 570.195.03 | | flatcar/scripts, tag stable-4593.2.5 |
| a B200, a RTX PRO 6000 Blackwell Max-Q | 570 | NVIDIA/open-gpu-kernel-modules, README of 570.195.03; those of 550 and 565 have neither |
| a H200 is cut by MIG | 550.90.07 | NVIDIA, MIG user guide 620 |
| a B200 is cut by MIG | 570.133.20 | the same |
| a RTX PRO 6000 Blackwell is cut by MIG | 575.51.03, of no extension | the same |
| Blackwell has open kernel modules alone | | NVIDIA, 17 July 2024 |

The versions of each release are in hardware/flatcar/releases.yaml, which
`python -m hardware.flatcar.read_tag RELEASE` writes. NVIDIA's note on the modules is
<https://developer.nvidia.com/blog/nvidia-transitions-fully-towards-open-source-gpu-kernel-modules/>,
its table of MIG
<https://docs.nvidia.com/datacenter/tesla/mig-user-guide/620/deployment-considerations.html>.
Which CUDA a driver runs is for numa/cuda-version.
"""  # noqa: E501  # a table of Markdown has its rows on one line each

import re
from collections.abc import Iterator

from hardware.flatcar.releases import releases
from policies.language.boot_data import Shipped, driver, drivers, judged, node_labels, own_driver
from policies.language.rule import Rule
from settings.names import SHARING_LABEL

_PUBLISHED = ("535", "550", "570")
_DRIVER = re.compile(r"([0-9]{3})(-open)?")
_FROM = {"NVIDIA B200": 570, "NVIDIA RTX PRO 6000 Blackwell": 570}
_MIG_FROM = {"NVIDIA H200": 550, "NVIDIA RTX PRO 6000 Blackwell": 575}
_OPEN_ALONE = ("NVIDIA B200", "NVIDIA RTX PRO 6000 Blackwell")


def _judge(shipped: Shipped) -> list[str]:
    if not shipped.hardware.gpus:
        return []
    if len(drivers(shipped.config)) > 1:
        return ["enable one NVIDIA driver alone"]
    own, release = own_driver(shipped.config), shipped.inputs.get("flatcar")
    if own is not None and release not in (None, own.flatcar):
        return [f"have a NVIDIA driver that is built for its Flatcar, {release}"]
    parts = _DRIVER.fullmatch(driver(shipped.config) or "")
    known = parts is not None and (own is not None or parts[1] in _PUBLISHED)
    if parts is None or not known or shipped.hardware.arch != "amd64":
        listed = ", ".join(_PUBLISHED)
        return [f"enable a NVIDIA driver that Flatcar publishes: {listed}, for amd64 alone"]
    return list(_faults(shipped, int(parts[1]), is_open=bool(parts[2])))


def _faults(shipped: Shipped, branch: int, *, is_open: bool) -> Iterator[str]:
    model = shipped.hardware.gpus[0].model
    release = shipped.inputs.get("flatcar")
    if release is not None and release not in releases():
        yield f"run a release of Flatcar whose drivers are known: {', '.join(releases())}"
    if model.startswith(_OPEN_ALONE) and not is_open:
        yield f"have a NVIDIA driver with open kernel modules (…-open) for {model}"
    for name, first in _FROM.items():
        if model.startswith(name) and branch < first:
            yield f"have a NVIDIA driver of branch {first} or newer for {model}"
    if node_labels(shipped.config).get(SHARING_LABEL) == "mig":
        for name, first in _MIG_FROM.items():
            if model.startswith(name) and branch < first:
                yield f"have a NVIDIA driver of branch {first} or newer for MIG on {name}"


RULE = Rule(
    id="numa/driver",
    sentence="A GPU pool's driver must fit its Flatcar and know its GPU.",
    why=(
        "A driver that does not know the GPU, or that Flatcar does not publish, leaves a node that "
        "joins the cluster and offers no GPU."
    ),
    source="https://www.flatcar.org/docs/latest/setup/customization/using-nvidia/",
    predicate=judged(_judge),
)
