"""Which Helm charts bring kinds to the twin, and which of them take theirs away again."""

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

AMONG_TEMPLATES = frozenset({"volcano", "karpenter-crd"})
"""Charts whose kinds are templates like any other: skipCrds does not keep them out, and they go
with the release, and with them every object of theirs. Those of a folder `crds` stay.
"""


def folder_of_kinds(release: Mapping[str, object]) -> str | None:
    """The folder of the kinds that a release brings by its inputs; None where it brings none."""
    if release.get("skipCrds") and not takes_kinds_along(release):
        return None
    return CRDS_OF_CHART.get(_chart(release))


def takes_kinds_along(release: Mapping[str, object]) -> bool:
    """Whether the kinds of a release are gone once it is."""
    return _chart(release) in AMONG_TEMPLATES


def _chart(release: Mapping[str, object]) -> str:
    return str(release["chart"]).rpartition("/")[2]
