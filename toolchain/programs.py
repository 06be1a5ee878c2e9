"""The programs of the toolchain."""

from toolchain.program import (
    STRIPPED,
    Binary,
    Copy,
    GeneratedCrds,
    OnPath,
    Program,
    pinned,
)

_PULUMI_VERSION = "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version"
_KUBERNETES = "k8s.io/component-base/version"
# Clients parse the server's version, so they cannot use a binary without one.
_KUBERNETES_LDFLAGS = (
    f"{STRIPPED} -X {_KUBERNETES}.gitVersion=v{{version}}"
    f" -X {_KUBERNETES}.gitMajor=1 -X {_KUBERNETES}.gitMinor={{minor}}"
    f" -X {_KUBERNETES}.gitTreeState=clean"
)

PULUMI = Program(
    name="pulumi",
    folder="pulumi",
    module="github.com/pulumi/pulumi/pkg/v3",
    disk_gb=3,
    binaries=(
        Binary(
            name="pulumi",
            folder="pulumi",
            package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
            ldflags=f"{STRIPPED} -X {_PULUMI_VERSION}=v{{version}}",
        ),
        Binary(
            name="pulumi-language-python",
            folder="pulumi/python-host",
            package="github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python",
        ),
    ),
    copies=(
        Copy(
            module="github.com/pulumi/pulumi/sdk/v3",
            files=("python/cmd/pulumi-language-python-exec", "python/dist/pulumi-*-python"),
        ),
    ),
    on_path=OnPath(
        arguments=("version",),
        pattern=r"v?(\d+\.\d+\.\d+)",
        same=1,
        beside=("pulumi-language-python",),
        system="pulumi",
        inside=("pulumi-language-python",),
    ),
)

CONTROL_PLANE = Program(
    name="control-plane",
    folder="control-plane",
    module="k8s.io/kubernetes",
    disk_gb=4,
    binaries=(
        Binary(
            name="control-plane",
            folder="control-plane",
            package=".",
            ldflags=_KUBERNETES_LDFLAGS,
        ),
    ),
    on_path=OnPath(
        arguments=("kube-apiserver", "--version"),
        pattern=r"Kubernetes v(\d+\.\d+\.\d+)",
        same=2,
        system="kubernetes",
        inside=("etcd",),
    ),
)

# The next Kubernetes, for the matrix of gangs alone; main.go is that of the other.
CONTROL_PLANE_NEXT = Program(
    name="control-plane-next",
    folder="control-plane-next",
    module="k8s.io/kubernetes",
    disk_gb=4,
    binaries=(
        Binary(
            name="control-plane-next",
            folder="control-plane-next",
            package=".",
            ldflags=_KUBERNETES_LDFLAGS,
        ),
    ),
    on_demand=True,
)

KUBECTL = Program(
    name="kubectl",
    folder="kubectl",
    module="k8s.io/kubernetes",
    disk_gb=1,
    binaries=(
        Binary(
            name="kubectl",
            folder="kubectl",
            package="k8s.io/kubernetes/cmd/kubectl",
            ldflags=_KUBERNETES_LDFLAGS,
        ),
    ),
    on_path=OnPath(
        arguments=("version", "--client"),
        pattern=r"Client Version: v(\d+\.\d+\.\d+)",
        same=2,
    ),
)

KWOK = Program(
    name="kwok",
    folder="kwok",
    module="sigs.k8s.io/kwok",
    disk_gb=1,
    binaries=(
        Binary(
            name="kwok",
            folder="kwok",
            package="sigs.k8s.io/kwok/cmd/kwok",
            ldflags=f"{STRIPPED} -X sigs.k8s.io/kwok/pkg/consts.Version=v{{version}}",
        ),
    ),
    on_path=OnPath(
        arguments=("--version",),
        pattern=r"v(\d+\.\d+\.\d+)",
        same=2,
        system="kwok",
    ),
)

CRDS = Program(
    name="crds",
    folder="crds",
    module="github.com/aws/karpenter-provider-aws",
    disk_gb=1,
    copies=(
        Copy(
            module="github.com/aws/karpenter-provider-aws",
            files=("pkg/apis/crds/*.yaml",),
            to="karpenter",
        ),
        Copy(
            module="volcano.sh/volcano",
            files=("config/crd/volcano/bases/*.yaml", "config/crd/jobflow/bases/*.yaml"),
            to="volcano",
        ),
        Copy(
            module="github.com/cilium/cilium",
            files=("pkg/k8s/apis/cilium.io/client/crds/v2/cilium*networkpolicies.yaml",),
            to="cilium",
            pinned_in="cilium",
        ),
    ),
    crds=(
        GeneratedCrds(
            package="github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1",
            to="metal3",
        ),
        GeneratedCrds(
            package="github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1",
            to="prometheus-operator",
        ),
    ),
)

HELM = Program(
    name="helm",
    folder="helm",
    module="helm.sh/helm/v4",
    disk_gb=1,
    binaries=(Binary(name="helm", folder="helm", package="."),),
)

CHARTS = Program(
    name="charts",
    folder="charts",
    module="volcano.sh/volcano",
    disk_gb=1,
    copies=(
        Copy(module="volcano.sh/volcano", files=("installer/helm/chart/volcano",)),
        Copy(
            module="github.com/aws/karpenter-provider-aws",
            files=("charts/karpenter", "charts/karpenter-crd"),
        ),
        Copy(module="github.com/cilium/cilium", files=("install/kubernetes/cilium",)),
        Copy(module="sigs.k8s.io/kueue", files=("charts/kueue",)),
    ),
)

BUTANE_CHECK = Program(
    name="butane-check",
    folder="butane-check",
    module="github.com/coreos/butane",
    disk_gb=1,
    binaries=(Binary(name="butane-check", folder="butane-check", package="."),),
)

KUBELET_SHAPES = Program(
    name="kubelet-shapes",
    folder="kubelet",
    module="k8s.io/kubernetes",
    disk_gb=1,
    binaries=(Binary(name="kubelet-shapes", folder="kubelet", package="./shapes"),),
)

ADMITTER = Program(
    name="admitter",
    folder="kubelet",
    module="k8s.io/kubernetes",
    disk_gb=1,
    binaries=(Binary(name="admitter", folder="kubelet", package="./admitter"),),
)

KARPENTER_CAPACITY = Program(
    name="karpenter-capacity",
    folder="karpenter-capacity",
    module="github.com/aws/karpenter-provider-aws",
    disk_gb=3,
    binaries=(Binary(name="karpenter-capacity", folder="karpenter-capacity", package="."),),
    on_demand=True,
)

KARPENTER = Program(
    name="karpenter",
    folder="karpenter",
    module="github.com/aws/karpenter-provider-aws",
    disk_gb=3,
    binaries=(
        Binary(
            name="karpenter",
            folder="karpenter",
            package="github.com/aws/karpenter-provider-aws/cmd/controller",
            ldflags=f"{STRIPPED} -X sigs.k8s.io/karpenter/pkg/operator.Version={{version}}",
        ),
    ),
)

BLOCKIO_CLASSES = Program(
    name="blockio-classes",
    folder="blockio-classes",
    module="github.com/intel/goresctrl",
    disk_gb=1,
    binaries=(Binary(name="blockio-classes", folder="blockio-classes", package="."),),
    on_demand=True,
)

PROMETHEUS = Program(
    name="prometheus",
    folder="prometheus",
    module="github.com/prometheus/prometheus",
    disk_gb=4,
    binaries=tuple(
        Binary(
            name=name,
            folder="prometheus",
            package=f"github.com/prometheus/prometheus/cmd/{name}",
            ldflags=f"{STRIPPED} -X github.com/prometheus/common/version.Version={{version}}",
            tags="remove_all_sd",  # discovery of clouds, which no configuration here has
        )
        for name in ("prometheus", "promtool")
    ),
)

VOLCANO = Program(
    name="volcano",
    folder="volcano",
    module="volcano.sh/volcano",
    disk_gb=2,
    binaries=(
        Binary(
            name="volcano",
            folder="volcano",
            package=".",
        ),
    ),
)

KUEUE = Program(
    name="kueue",
    folder="kueue",
    module="sigs.k8s.io/kueue",
    disk_gb=3,
    binaries=(
        Binary(
            name="kueue",
            folder="kueue",
            package="sigs.k8s.io/kueue/cmd/kueue",
            ldflags=f"{STRIPPED} -X sigs.k8s.io/kueue/pkg/version.GitVersion=v{{version}}",
        ),
    ),
    on_demand=True,
)

ACTIONLINT = Program(
    name="actionlint",
    folder="actionlint",
    module="github.com/rhysd/actionlint",
    disk_gb=1,
    binaries=(
        Binary(
            name="actionlint",
            folder="actionlint",
            package="github.com/rhysd/actionlint/cmd/actionlint",
        ),
    ),
)

PROGRAMS = {
    program.name: program
    for program in (
        PULUMI,
        CONTROL_PLANE,
        CONTROL_PLANE_NEXT,
        KUBECTL,
        KWOK,
        CRDS,
        HELM,
        CHARTS,
        BUTANE_CHECK,
        KUBELET_SHAPES,
        ADMITTER,
        KARPENTER_CAPACITY,
        KARPENTER,
        BLOCKIO_CLASSES,
        PROMETHEUS,
        VOLCANO,
        KUEUE,
        ACTIONLINT,
    )
}

VERSIONS = {
    "pulumi": PULUMI.version(),
    "pulumi-language-python": pinned("pulumi/python-host", "github.com/pulumi/pulumi/sdk/v3"),
    "kubernetes": CONTROL_PLANE.version(),
    "etcd": pinned("control-plane", "go.etcd.io/etcd/server/v3"),
    "kwok": KWOK.version(),
    "karpenter": CRDS.version(),
    "volcano": pinned("crds", "volcano.sh/volcano"),
    "cilium": pinned("crds/cilium", "github.com/cilium/cilium"),
    "metal3": pinned("crds", "github.com/metal3-io/baremetal-operator/apis"),
    "prometheus-operator": pinned(
        "crds", "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring"
    ),
    "helm": HELM.version(),
    "kueue": pinned("charts", "sigs.k8s.io/kueue"),
    "butane": BUTANE_CHECK.version(),
    "ignition": pinned("butane-check", "github.com/coreos/ignition/v2"),
    "prometheus": PROMETHEUS.version(),
    "actionlint": ACTIONLINT.version(),
}
