"""The pods of a chart's workloads: how many there are, what one asks for, and its images."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from policies.language.manifest import at, items, mapping, quantity

_TEMPLATES = {
    ("apps/v1", "Deployment"): ("spec", "template"),
    ("apps/v1", "DaemonSet"): ("spec", "template"),
    ("apps/v1", "StatefulSet"): ("spec", "template"),
    ("apps/v1", "ReplicaSet"): ("spec", "template"),
    ("batch/v1", "Job"): ("spec", "template"),
    ("batch/v1", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
_ONE_EACH_TIME = ("Job", "CronJob", "Pod")
_A_REFERENCE = re.compile(r"[a-z0-9][\w.-]*([:/][\w.-]+)+(@sha256:[0-9a-f]{64})?")
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


@dataclass(frozen=True, kw_only=True)
class Amount:
    """CPUs and bytes of memory."""

    cpu: Decimal = Decimal(0)
    memory: Decimal = Decimal(0)

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(cpu=self.cpu + other.cpu, memory=self.memory + other.memory)

    def __mul__(self, times: int) -> "Amount":
        return Amount(cpu=self.cpu * times, memory=self.memory * times)

    def at_least(self, other: "Amount") -> "Amount":
        """The greater of each."""
        return Amount(cpu=max(self.cpu, other.cpu), memory=max(self.memory, other.memory))

    def exceeds(self, other: "Amount") -> bool:
        """Whether there is more of either."""
        return self.cpu > other.cpu or self.memory > other.memory


def pod_of(workload: Mapping[str, Any]) -> dict[str, Any] | None:
    """One pod as the controller of a workload would make it; None for what makes no pods."""
    path = _TEMPLATES.get((str(workload.get("apiVersion")), str(workload.get("kind"))))
    if path is None:
        return None
    template = mapping(at(workload, *path))
    own = mapping(at(workload, "metadata"))
    metadata = {
        **mapping(template.get("metadata")),
        "name": f"{str(own.get('name'))[:50]}-rehearsed",
        "namespace": own.get("namespace"),
    }
    spec = dict(mapping(template.get("spec")))
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def pod_spec(object_: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The spec of the pods of a workload, or of a Pod; None for anything else."""
    if object_.get("apiVersion") == "v1" and object_.get("kind") == "Pod":
        return mapping(object_.get("spec"))
    pod = pod_of(object_)
    return None if pod is None else mapping(pod["spec"])


def replicas(workload: Mapping[str, Any]) -> int | None:
    """How many pods a workload has for as long as it is there; None for one on each node."""
    if workload.get("kind") == "DaemonSet":
        return None
    if workload.get("kind") in _ONE_EACH_TIME:
        return 0
    wanted = at(workload, "spec", "replicas")
    if wanted is None:
        return 1
    return wanted if isinstance(wanted, int) else 0  # a text: the API server refuses it


def requests(spec: Mapping[str, Any]) -> Amount:
    """What one pod asks for, as the scheduler counts: init containers run one after another."""
    together, before, highest = Amount(), Amount(), Amount()
    for container in items(spec.get("initContainers")):
        if at(container, "restartPolicy") == "Always":
            before += _asked(container)
            highest = highest.at_least(before)
        else:
            highest = highest.at_least(before + _asked(container))
    for container in items(spec.get("containers")):
        together += _asked(container)
    overhead = mapping(spec.get("overhead"))
    return (together + before).at_least(highest) + _amount(overhead)


def _asked(container: object) -> Amount:
    limits = mapping(at(container, "resources", "limits"))
    return _amount({**limits, **mapping(at(container, "resources", "requests"))})


def _amount(of: Mapping[str, object]) -> Amount:
    return Amount(
        cpu=quantity(of.get("cpu")) or Decimal(0), memory=quantity(of.get("memory")) or Decimal(0)
    )


def images(object_: Mapping[str, Any]) -> Iterator[str]:
    """The images of a workload's containers, and those that a custom resource names."""
    spec = pod_spec(object_)
    if spec is None:
        if _is_custom(object_):
            yield from _named(object_.get("spec"))
        return
    for part in _CONTAINERS:
        for container in items(spec.get(part)):
            if image := at(container, "image"):
                yield str(image)


def _is_custom(object_: Mapping[str, Any]) -> bool:
    group = str(object_.get("apiVersion")).rpartition("/")[0]
    return "." in group and not group.endswith(".k8s.io")


def _named(value: object) -> Iterator[str]:
    """Images as custom resources name them: whole, or by repository, image and version.

    A version may be a digest (GPU Operator's `ClusterPolicy`). What says that it is not enabled
    runs nothing.
    """
    if isinstance(value, list):
        for each in value:
            yield from _named(each)
    if not isinstance(value, Mapping) or value.get("enabled") is False:
        return
    repository, image, version = (value.get(key) for key in ("repository", "image", "version"))
    if isinstance(image, str) and image:
        if repository and version:
            mark = "@" if str(version).startswith("sha256:") else ":"
            yield f"{repository}/{image}{mark}{version}"
        elif not repository and _A_REFERENCE.fullmatch(image):
            yield image
    for each in value.values():
        yield from _named(each)
