"""The version of every chart, image and OS release that this program installs.

The key `gpu-fleet:versions` overrides Flatcar, Kubernetes and the driver for one environment.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A pinned Helm chart; `repository` is None where `name` is an OCI address."""

    name: str
    version: str
    repository: str | None = None


# renovate: datasource=github-tags depName=flatcar/scripts extractVersion=^stable-(?<version>.+)$
FLATCAR = "4593.2.5"
FLATCAR_CHANNEL = "stable"
# a search by name without an owner finds only the AMIs of the account itself
FLATCAR_AMI_OWNER = "075585003325"

# renovate: datasource=github-tags depName=kubernetes/kubernetes extractVersion=^v(?<version>.+)$
KUBERNETES = "1.36.3"

# the newest branch that the release above has as a system extension, whose exact version is in
# hardware/flatcar/releases.yaml; H200 needs the open modules
NVIDIA_DRIVER = "570-open"

# renovate: datasource=github-releases depName=NVIDIA/nvidia-container-toolkit
NVIDIA_RUNTIME = "v1.18.1"

# not 1.15, whose Go module does not build: the CRDs and programs of rehearsals come from it
# renovate: datasource=helm depName=volcano registryUrl=https://volcano-sh.github.io/helm-charts
VOLCANO = Chart(
    name="volcano", version="1.14.1", repository="https://volcano-sh.github.io/helm-charts"
)
# renovate: datasource=docker depName=docker.io/volcanosh/vc-scheduler
VOLCANO_IMAGE_TAG = "v1.14.1"

# renovate: datasource=docker depName=public.ecr.aws/karpenter/karpenter-crd
KARPENTER_CRD = Chart(name="oci://public.ecr.aws/karpenter/karpenter-crd", version="1.14.1")

# renovate: datasource=docker depName=public.ecr.aws/karpenter/karpenter
KARPENTER = Chart(name="oci://public.ecr.aws/karpenter/karpenter", version="1.14.1")

# renovate: datasource=helm depName=gpu-operator registryUrl=https://helm.ngc.nvidia.com/nvidia
GPU_OPERATOR = Chart(
    name="gpu-operator", version="v26.7.0", repository="https://helm.ngc.nvidia.com/nvidia"
)

# renovate: datasource=helm depName=cilium registryUrl=https://helm.cilium.io
CILIUM = Chart(name="cilium", version="1.20.2", repository="https://helm.cilium.io")

# renovate: datasource=helm depName=hcloud-cloud-controller-manager registryUrl=https://charts.hetzner.cloud
HCLOUD_CLOUD_CONTROLLER_MANAGER = Chart(
    name="hcloud-cloud-controller-manager",
    version="1.35.0",
    repository="https://charts.hetzner.cloud",
)
# renovate: datasource=helm depName=hcloud-csi registryUrl=https://charts.hetzner.cloud
HCLOUD_CSI = Chart(name="hcloud-csi", version="2.22.1", repository="https://charts.hetzner.cloud")

# renovate: datasource=helm depName=kube-prometheus-stack registryUrl=https://prometheus-community.github.io/helm-charts
KUBE_PROMETHEUS_STACK = Chart(
    name="kube-prometheus-stack",
    version="88.5.3",
    repository="https://prometheus-community.github.io/helm-charts",
)

# copies the CRDs of kube-prometheus-stack; the chart itself takes whatever is latest
# renovate: datasource=docker depName=docker.io/library/busybox
BUSYBOX_TAG = "1.37.0"

# renovate: datasource=helm depName=kured registryUrl=https://kubereboot.github.io/charts
KURED = Chart(name="kured", version="6.0.0", repository="https://kubereboot.github.io/charts")

# renovate: datasource=helm depName=lakefs registryUrl=https://charts.lakefs.io
LAKEFS = Chart(name="lakefs", version="1.12.16", repository="https://charts.lakefs.io")
# the open-source server; the chart's own appVersion is that of the Enterprise releases
# renovate: datasource=docker depName=docker.io/treeverse/lakefs
LAKEFS_IMAGE_TAG = "1.84.0"

# renovate: datasource=docker depName=docker.io/rancher/local-path-provisioner
LOCAL_PATH_IMAGE = "docker.io/rancher/local-path-provisioner:v0.0.37"

# the source that was read; a digest of it could not be, so the tag stands alone
# renovate: datasource=docker depName=ghcr.io/mellanox/k8s-rdma-shared-dev-plugin
RDMA_DEVICE_PLUGIN_IMAGE = "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3"

# renovate: datasource=helm depName=aws-efa-k8s-device-plugin registryUrl=https://aws.github.io/eks-charts
EFA_DEVICE_PLUGIN = Chart(
    name="aws-efa-k8s-device-plugin",
    version="v0.5.30",
    repository="https://aws.github.io/eks-charts",
)
# the chart's own registry wants AWS credentials; this is AWS's public one
# renovate: datasource=docker depName=public.ecr.aws/eks/aws-efa-k8s-device-plugin
EFA_DEVICE_PLUGIN_IMAGE = "public.ecr.aws/eks/aws-efa-k8s-device-plugin:v0.5.20"

# runs fleet-node-check, which needs Python 3.11 or newer; the digest is that of all platforms
# renovate: datasource=docker depName=docker.io/library/python
PYTHON_IMAGE = (
    "docker.io/library/python:3.13.9-slim-bookworm"
    "@sha256:b685a4fa58bb19d1814d78a1ec0f0208f351452724f78b20212c984d6e124a34"
)

# for the jobs in workloads/, whose YAML files repeat it; a test compares the two
# renovate: datasource=docker depName=nvcr.io/nvidia/pytorch
PYTORCH_IMAGE = (
    "nvcr.io/nvidia/pytorch:25.01-py3"
    "@sha256:96990c82825613c3bdeebb66675c7c91b0123f64a5895623316dc5b824e0d7a9"
)
# renovate: datasource=docker depName=docker.io/nvidia/cuda
CUDA_IMAGE = (
    "docker.io/nvidia/cuda:12.8.1-base-ubuntu24.04"
    "@sha256:133c78a0575303be34164d0b90137a042172bdf60696af01a3c424ab402d86e2"
)
# CUDA 12.8 is the release of the 570 driver
# renovate: datasource=docker depName=ghcr.io/coreweave/nccl-tests
NCCL_IMAGE = "ghcr.io/coreweave/nccl-tests:12.8.1-devel-ubuntu22.04-nccl2.27.6-1-7c12c62"
