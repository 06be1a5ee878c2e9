"""The last day of support of each pinned version, and where it is said.

Kubernetes, NVIDIA's driver and Python end on a published day, by minor release and by branch, and
NVIDIA's CUDA images with the driver that they came with. The other projects publish none: they mend
their newest release, so that Renovate's next bump is what ends support of the pin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, kw_only=True)
class Support:
    """`last_day` is None where no day is published."""

    last_day: date | None
    source: str


_KUBERNETES = "https://kubernetes.io/releases/"
_DRIVERS = "https://docs.nvidia.com/datacenter/tesla/drivers/supported-drivers-and-cuda-toolkit-versions.html"

KUBERNETES: Mapping[str, Support] = {
    minor: Support(last_day=last_day, source=_KUBERNETES)
    for minor, last_day in {
        "1.34": date(2026, 10, 27),
        "1.35": date(2027, 2, 28),
        "1.36": date(2027, 6, 28),
        "1.37": date(2027, 10, 28),
    }.items()
}
"""By minor release."""

DRIVERS: Mapping[str, Support] = {
    branch: Support(last_day=last_day, source=_DRIVERS)
    for branch, last_day in {
        "535": date(2026, 6, 30),
        "550": date(2025, 8, 4),  # the table of that day names it among those that have ended
        "570": date(2026, 2, 28),
        "580": date(2028, 6, 30),
        "595": date(2027, 3, 31),
        "610": date(2026, 8, 31),
    }.items()
}
"""By branch of NVIDIA's driver; the table names months."""

PYTHON: Mapping[str, Support] = {
    minor: Support(last_day=last_day, source="https://devguide.python.org/versions/")
    for minor, last_day in {"3.13": date(2029, 10, 31), "3.14": date(2030, 10, 31)}.items()
}
"""By minor release; the table names months."""

CHARTS: Mapping[str, Support] = {
    name: Support(last_day=None, source=source)
    for name, source in {
        "volcano": "https://github.com/volcano-sh/volcano/releases",
        "oci://public.ecr.aws/karpenter/karpenter-crd": "https://github.com/aws/karpenter-provider-aws/releases",
        "oci://public.ecr.aws/karpenter/karpenter": "https://github.com/aws/karpenter-provider-aws/releases",
        "gpu-operator": "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/life-cycle-policy.html",
        "cilium": "https://docs.cilium.io/en/stable/contributing/release/backports/",
        "hcloud-cloud-controller-manager": "https://github.com/hetznercloud/hcloud-cloud-controller-manager/releases",
        "hcloud-csi": "https://github.com/hetznercloud/csi-driver/releases",
        "kube-prometheus-stack": "https://github.com/prometheus-community/helm-charts/releases",
        "aws-efa-k8s-device-plugin": "https://github.com/aws/eks-charts/releases",
        "kured": "https://kured.dev/docs/installation/",
        "lakefs": "https://github.com/treeverse/lakeFS/releases",
    }.items()
}
"""By name of the chart."""

PROGRAMS: Mapping[str, Support] = {
    "NVIDIA_RUNTIME": Support(
        last_day=None, source="https://github.com/NVIDIA/nvidia-container-toolkit/releases"
    ),
    "VOLCANO_IMAGE_TAG": CHARTS["volcano"],
    "BUSYBOX_TAG": Support(last_day=None, source="https://www.busybox.net/"),
    "LAKEFS_IMAGE_TAG": CHARTS["lakefs"],
    "LOCAL_PATH_IMAGE": Support(
        last_day=None, source="https://github.com/rancher/local-path-provisioner/releases"
    ),
    "RDMA_DEVICE_PLUGIN_IMAGE": Support(
        last_day=None, source="https://github.com/Mellanox/k8s-rdma-shared-dev-plugin/releases"
    ),
    "EFA_DEVICE_PLUGIN_IMAGE": CHARTS["aws-efa-k8s-device-plugin"],
    "PYTHON_IMAGE": PYTHON["3.13"],
    "PYTORCH_IMAGE": Support(
        last_day=None,
        source="https://docs.nvidia.com/deeplearning/frameworks/support-matrix/index.html",
    ),
    # NVIDIA mends an image until the driver ends that its CUDA came with, and deletes it later
    "CUDA_IMAGE": Support(
        last_day=DRIVERS["570"].last_day,
        source="https://gitlab.com/nvidia/container-images/cuda/-/blob/master/doc/support-policy.md",
    ),
    "NCCL_IMAGE": Support(last_day=None, source="https://github.com/coreweave/nccl-tests"),
}
"""By the pin's name in settings/versions.py: what is neither a chart nor of an environment."""

FLATCAR = Support(last_day=None, source="https://www.flatcar.org/releases")
"""A stable release is mended until the next one."""


def minor(version: str) -> str:
    """Return the minor release of a version: 1.36 for 1.36.3."""
    return ".".join(version.split(".")[:2])


def ends(kubernetes: str, nvidia_driver: str | None) -> dict[str, date]:
    """Return the last days of what machines run, by the version's name; unknown ones are absent."""
    branch = (nvidia_driver or "").partition("-")[0]
    found = {
        f"Kubernetes {minor(kubernetes)}": KUBERNETES.get(minor(kubernetes)),
        f"NVIDIA's driver {branch}": DRIVERS.get(branch),
    }
    return {
        name: each.last_day
        for name, each in found.items()
        if each is not None and each.last_day is not None
    }
