"""Which Helm charts bring kinds to the twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

CRDS_OF_CHART = {
    "volcano": "volcano",
    "karpenter-crd": "karpenter",
    "karpenter": "karpenter",
    "kube-prometheus-stack": "prometheus-operator",
}
"""Charts that bring kinds with them, and the folder that has those kinds."""


def folder_of_kinds(release: Mapping[str, object]) -> str | None:
    """The folder of the kinds that a release brings by its inputs; None where it brings none."""
    if release.get("skipCrds"):
        return None
    return CRDS_OF_CHART.get(str(release["chart"]).rpartition("/")[2])
