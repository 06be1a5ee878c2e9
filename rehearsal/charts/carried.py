"""The charts that Go modules carry, which the toolchain has copied: the sources of their releases.

A release script stamps a chart before it is published, and so are these here. Sources, each at the
pinned tag: Karpenter's hack/release/common.sh (`build`, `publishHelmChart`) writes the version of
both charts, and the tag and the digest of the controller's image; Volcano's chart is published from
another repository with the version alone; those of Cilium and Kueue are stamped in the tag itself.

A digest that only the release knows is left out, and never that of an older image kept: the values
of Karpenter's tag have the digest of 1.13.0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rehearsal.charts.wanted import Found, Wanted
from toolchain.program import pinned


def _nothing(_version: str) -> Mapping[str, object]:
    return {}


def _karpenter(version: str) -> Mapping[str, object]:
    return {"controller": {"image": {"tag": version, "digest": ""}}}


@dataclass(frozen=True, kw_only=True)
class Carried:
    """A chart in a Go module, and where its releases are published."""

    module: str
    repository: str
    stamped: Callable[[str], Mapping[str, object]] = _nothing


_ECR = "oci://public.ecr.aws/karpenter"
_KARPENTER = "github.com/aws/karpenter-provider-aws"
CARRIED = {
    "volcano": Carried(
        module="volcano.sh/volcano", repository="https://volcano-sh.github.io/helm-charts"
    ),
    "karpenter": Carried(module=_KARPENTER, repository=f"{_ECR}/karpenter", stamped=_karpenter),
    # its CRDs are symbolic links in the sources, and files in a module
    "karpenter-crd": Carried(module=_KARPENTER, repository=f"{_ECR}/karpenter-crd"),
    "cilium": Carried(module="github.com/cilium/cilium", repository="https://helm.cilium.io"),
    "kueue": Carried(
        module="sigs.k8s.io/kueue", repository="oci://registry.k8s.io/kueue/charts/kueue"
    ),
}


def carried(wanted: Wanted, folder: Path) -> Found | None:
    """The chart in the toolchain's folder of charts; None where that has not this very version."""
    known = CARRIED.get(wanted.name)
    if known is None or wanted.repository not in (None, known.repository):
        return None
    version = pinned("charts", known.module)
    if wanted.plain_version != version:
        return None
    return Found(
        path=folder / wanted.name,
        source=f"Go module {known.module} v{version}",
        version=version,
        defaults=known.stamped(version),
    )
