"""A pod on NUMA pools must get devices from a device plugin, not by a resource claim.

The kubelet's Topology Manager asks the device manager, the CPU manager and the memory manager where
a pod fits. Devices of a claim (DRA) come from a driver that it does not ask: the pod gets GPUs of
one NUMA node and CPUs of the other. docs/decisions/0024 says when this changes.

- A pod with `resourceClaims` is refused unless it selects a pool without GPUs. Where no pools are
  known, that holds for pods that ask for GPUs or choose their nodes. A resource that is named after
  a device class, `deviceclass.resource.kubernetes.io/<class>`, is such a claim: since 1.36 the
  scheduler makes it for the pod (`DRAExtendedResource`).
- A ResourceClaim or ResourceClaimTemplate of one of NVIDIA's GPU classes, or with a selector that
  names their driver, is refused; `allocationMode: All` would take every GPU of a node at once.
- A DeviceClass whose `extendedResourceName` is a resource of the device plugin is refused: pods
  that ask for nvidia.com/gpu would get claims instead.
"""

import re
from collections.abc import Iterator, Mapping

from policies.language import cel
from policies.language.cel_forms import (
    ASKS_FOR_GPUS,
    IS_GPU,
    Fault,
    of_pods,
    pods_or_object,
)
from policies.language.gpu_nodes import ON_GPU_NODES, on_gpu_nodes
from policies.language.gpu_work import asks_for_gpus
from policies.language.manifest import at, describe, items, mapping
from policies.language.node_choice import CHOOSES_POOL, pools_of
from policies.language.pod_search import GPU_RESOURCES
from policies.language.pods import KINDS, Pod, pods, subject
from policies.language.pool_table import facts
from policies.language.rule import Kind, Manifest, Rule, Settings

_GROUP = "resource.k8s.io"
_CLAIMS: tuple[Kind, ...] = (
    (_GROUP, "resourceclaims"),
    (_GROUP, "resourceclaimtemplates"),
    (_GROUP, "deviceclasses"),
)
_NAMED_AFTER_CLASS = "deviceclass.resource.kubernetes.io/"
_CLASS = r"(^|\.)(gpu|mig)\.nvidia\.com$"
_DRIVER = r"\bgpu\.nvidia\.com\b"
_POD = (
    "must ask for devices by a resource such as nvidia.com/gpu, not by resourceClaims or a "
    "device class, which the kubelet does not align with CPUs; or select a pool without GPUs."
)
_ALL = (
    "must not claim all GPUs of a node by the device class '{name}'; pods ask for nvidia.com/gpu."
)
_INSTEAD = "must not give out {name} by claims, which the device plugin gives out."
_SOME = "must not claim GPUs by the device class '{name}'; pods ask for nvidia.com/gpu."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the claims for GPUs, and the pods with claims that the kubelet would have to align."""
    if str(manifest.get("apiVersion")).startswith(f"{_GROUP}/"):
        return [f"{describe(manifest)} {fault}" for fault in _of_claim(manifest)]
    return [
        f"{subject(manifest, pod)} {_POD}"
        for pod in pods(manifest)
        if (items(pod.spec.get("resourceClaims")) or any(_classes(pod)))
        and _is_on_numa_pool(manifest, pod, settings)
    ]


def _is_on_numa_pool(manifest: Manifest, pod: Pod, settings: Settings) -> bool:
    anywhere = not pools_of(pod) and any(pool["gpus"] for pool in facts(settings)["pools"])
    of_gpus = any(re.search(_CLASS, name) for name in _classes(pod))
    return anywhere or of_gpus or asks_for_gpus(pod) or on_gpu_nodes(manifest, pod, settings)


def _classes(pod: Pod) -> Iterator[str]:
    """Yield the device classes of which a pod asks for devices by a resource."""
    for container in pod.containers:
        for part in ("limits", "requests"):
            for name in mapping(at(container, "resources", part)):
                if name.startswith(_NAMED_AFTER_CLASS):
                    yield name.removeprefix(_NAMED_AFTER_CLASS)


def _of_claim(manifest: Manifest) -> list[str]:
    if manifest.get("kind") == "DeviceClass":
        given = str(at(manifest, "spec", "extendedResourceName") or "")
        return [_INSTEAD.format(name=given)] if given.startswith(GPU_RESOURCES) else []
    path = ("spec", "spec") if manifest.get("kind") == "ResourceClaimTemplate" else ("spec",)
    requests = items(at(manifest, *path, "devices", "requests"))
    faults = [_fault(each) for request in requests for each in _alternatives(request)]
    return list(dict.fromkeys(filter(None, faults)))


def _alternatives(request: object) -> Iterator[Mapping[str, object]]:
    """Yield what a request asks for; since v1beta2 that stands in `exactly`."""
    yield mapping(request)
    yield mapping(at(request, "exactly"))
    yield from map(mapping, items(at(request, "firstAvailable")))


def _fault(request: Mapping[str, object]) -> str | None:
    name = str(request.get("deviceClassName") or "")
    selectors = (str(at(each, "cel", "expression")) for each in items(request.get("selectors")))
    if not re.search(_CLASS, name) and not any(re.search(_DRIVER, each) for each in selectors):
        return None
    return (_ALL if request.get("allocationMode") == "All" else _SOME).format(name=name)


_SPEC = (
    "(object.kind == 'ResourceClaimTemplate' ? dyn(object).?spec.?spec : dyn(object).?spec)"
    ".?devices.?requests.orValue([])"
)
_GPU = (
    f"(q.?deviceClassName.orValue('').matches({cel.literal(_CLASS)}) || "
    "q.?selectors.orValue([]).exists(s, s.?cel.?expression.orValue('').matches("
    f"{cel.literal(_DRIVER)})))"
)
_EACH = "([q, q.?exactly.orValue({})] + q.?firstAvailable.orValue([]))"
_NAME = "q.?deviceClassName.orValue('')"
_SAYS = (
    f"(q.?allocationMode.orValue('') == 'All' ? {cel.text(_ALL, name=_NAME)} : "
    f"{cel.text(_SOME, name=_NAME)})"
)
_ASKING = f"({_SPEC}.filter(q, {_EACH}.exists(q, {_GPU})))"
_HELD = "variables.pools.exists(e, e.gpus > 0)"
_IS_CLASS = f"k.startsWith({cel.literal(_NAMED_AFTER_CLASS)})"
_IS_GPU_CLASS = (
    f"{_IS_CLASS} && k.substring({len(_NAMED_AFTER_CLASS)}).matches({cel.literal(_CLASS)})"
)
_EXTENDED = (
    "(object.kind == 'DeviceClass' ? dyn(object).?spec.?extendedResourceName.orValue('') : '')"
)


def _asks(resource: str) -> str:
    """CEL: whether a container of a pod `p` asks for a resource `k` of which this holds."""
    return f"p.containers.exists(c, {cel.RESOURCES}.exists(r, r.exists(k, {resource})))"


RULE = Rule(
    id="numa/resource-claims",
    sentence="A pod on NUMA pools must get devices from a device plugin, not by a claim.",
    why=(
        "The kubelet's Topology Manager asks no DRA driver where its devices are, so that a pod "
        "gets GPUs of one NUMA node and CPUs and memory of the other."
    ),
    source=(
        "https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/"
        "container_manager_linux.go"
    ),
    predicate=violations,
    admission=pods_or_object(
        (*KINDS, *_CLAIMS),
        [
            Fault(
                broken=f"object.apiVersion.startsWith('{_GROUP}/') && size({_ASKING}) > 0",
                says=f"{_ASKING}.map(q, {_EACH}.filter(q, {_GPU}).map(q, {_SAYS})[0])[0]",
            ),
            Fault(
                broken=f"[{_EXTENDED}].exists(k, {IS_GPU})",
                says=cel.text(_INSTEAD, name=_EXTENDED),
            ),
        ],
        of_pods(
            f"object.apiVersion.startsWith('{_GROUP}/') ? [] : variables.pods.filter(p, "
            f"(size(p.spec.?resourceClaims.orValue([])) > 0 || {_asks(_IS_CLASS)}) && "
            f"(!({CHOOSES_POOL}) && {_HELD} || {_asks(_IS_GPU_CLASS)} || {ASKS_FOR_GPUS} || "
            f"{ON_GPU_NODES}))",
            [Fault(broken="true", says=cel.literal(_POD))],
        ),
    ),
)
