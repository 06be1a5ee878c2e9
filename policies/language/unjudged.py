"""What no rule can judge, or not wholly: of what asks for GPUs, and of what is too large.

- A kind that nobody has listed: whether it is meant to end, and so needs a deadline.
- Resources in a field that an operator or Helm reads, such as those of a Ray head group.
- What the runtime of a TrainJob says of its pods.
- What KubeRay makes beside the pods: the autoscaler's container in the head, and Services.
- Pods of a listed kind that stand elsewhere than at its listed places.
- Text that somebody fills in or renders later: a patch of Argo's with parameters, a manifest.
- Commands, variables and data that are too long for the API server to read at a bearable price.
"""

from collections.abc import Iterator
from typing import Any

from policies.language import argo
from policies.language.commands import LONGEST, MOST
from policies.language.facts import Facts, declared_kinds
from policies.language.gpu_work import gpu_pods, reads_commands
from policies.language.manifest import at, items, mapping
from policies.language.owners import is_service
from policies.language.pod_kinds import PodKind, kind_of, templates
from policies.language.pod_search import (
    GPU_RESOURCES,
    OF_THE_OPERATOR,
    has_containers,
    is_rendered,
    may_make_pods,
    shows_a_pod,
)
from policies.language.replicas import RAY
from policies.language.rule import Manifest
from policies.language.sizes import unread

_NO_END = "whether it is meant to end, and so idle/job-deadline, as its kind is not listed"
_FIELD = "the GPUs of {}, which its operator gives to pods of its own"
_IMAGE = "the image of container '{}', which its operator chooses"
_RUNTIME = "the labels, CPUs and memory of its pods, which its runtime may give"
_ELSEWHERE = "the pod at {}, where its kind has none that rules look into"
_RENDERED = "the GPUs of {}, which Helm renders"
_TEXT = "the text {}, which speaks of GPUs"
_PATCH = "the podSpecPatch of '{}', which Argo fills in"
_AUTOSCALER = "the container of {}, which KubeRay puts into the head"
_SERVICE = "the Service of {}, which KubeRay makes"
_RAY = {**RAY, "RayCronJob": ("spec", "jobTemplate", "rayClusterSpec")}
_OF_THE_AUTOSCALER = (
    *("image", "command", "args", "env", "envFrom", "volumeMounts", "securityContext"),
)
_COLLECTS = "the podSpecPatch of spec.artifactGC, of pods that Argo makes in the end"
_NO_PODS = ("metadata", "status")
_READ_BY_AN_OPERATOR = ("TrainJob", "RayCluster", "RayJob", "RayService")


_COMMANDS = (
    f"its commands, which have more than {LONGEST:,} characters or {MOST} lines: idle/launcher, "
    "idle/notebooks, idle/writable-layer"
)


def unjudged(manifest: Manifest, facts: Facts) -> list[str]:
    """Return what of an object no rule judges; empty where all is judged."""
    commands = [] if reads_commands(manifest) else [_COMMANDS]
    return [*_of_gpus(manifest, facts), *commands, *unread(manifest)]


def _of_gpus(manifest: Manifest, facts: Facts) -> list[str]:
    """Return what may ask for GPUs; of a cluster of Ray also what else KubeRay makes of it."""
    if argo.is_workflow(manifest):
        return list(_of_workflow(manifest))
    kind = kind_of(manifest)
    if kind is not None:
        parts = [_RUNTIME] if any(pod.partial for pod in gpu_pods(manifest)) else []
        searched = kind.kind in _READ_BY_AN_OPERATOR
        parts += [_ELSEWHERE.format(path) for path in _elsewhere(manifest, kind)]
        found = [*parts, *(_below(manifest, rendered=False) if searched else ())]
        return [*found, *_of_ray(manifest)] if kind.group == "ray.io" else found
    if not may_make_pods(manifest) and not is_rendered(manifest):
        return []
    group, _, _version = str(manifest.get("apiVersion")).rpartition("/")
    named = (group, manifest.get("kind"))
    declared = any((each.group, each.kind) == named for each in declared_kinds(facts))
    ends_somehow = declared or is_service(manifest)
    ends = [_NO_END] if gpu_pods(manifest) and not ends_somehow else []
    images = [
        _IMAGE.format(container.get("name"))
        for pod in gpu_pods(manifest)
        for container in pod.containers
        if container.get("image") == OF_THE_OPERATOR
    ]
    return [*ends, *images, *_below(manifest, rendered=is_rendered(manifest))]


def _of_ray(manifest: Manifest) -> Iterator[str]:
    path = _RAY[str(manifest.get("kind"))]
    scaler = mapping(at(manifest, *path, "autoscalerOptions"))
    if any(scaler.get(field) for field in _OF_THE_AUTOSCALER):
        yield _AUTOSCALER.format(".".join((*path, "autoscalerOptions")))
    for way in ((*path, "headGroupSpec", "headService"), ("spec", "serveService")):
        spec = at(manifest, *way, "spec")
        if at(spec, "externalIPs") or at(spec, "type") in ("LoadBalancer", "NodePort"):
            yield _SERVICE.format(".".join(way))


def _elsewhere(manifest: Manifest, kind: PodKind) -> Iterator[str]:
    """Yield the places of pods beside the templates of a kind, such as overrides of a release."""
    judged = {id(found) for _, found in templates(manifest, kind)}
    left: list[tuple[Any, str]] = [
        (manifest[key], key) for key in manifest if kind.templates and key not in _NO_PODS
    ]
    while left:
        value, path = left.pop()
        if id(value) in judged:
            continue
        if type(value) is list:
            left += [(item, f"{path}[{index}]") for index, item in enumerate(value)]
        elif type(value) is dict and has_containers(value):
            yield path
        elif type(value) is dict:
            left += [(value[key], f"{path}.{key}") for key in value]


def _of_workflow(manifest: Manifest) -> Iterator[str]:
    workflow = at(manifest, *argo.PLACES[str(manifest.get("kind"))])
    if gpu_pods(manifest) or _speaks_of_gpus(str(workflow)):
        yield from map(_PATCH.format, argo.unread_patches(manifest))
    if _speaks_of_gpus(str(at(workflow, "artifactGC", "podSpecPatch") or "")):
        yield _COLLECTS
    for template in items(at(workflow, "templates")):
        if _speaks_of_gpus(str(at(template, "resource", "manifest") or "")):
            yield _TEXT.format(f"of the resource in '{at(template, 'name')}'")


def _below(manifest: Manifest, *, rendered: bool) -> Iterator[str]:
    """Search without recursion: an object may be deeper than Python's stack."""
    left: list[tuple[Any, str]] = [(manifest[key], key) for key in manifest if key not in _NO_PODS]
    while left:
        value, path = left.pop()
        kind = type(value)
        if kind is str and ("\n" in value or "{" in value) and _speaks_of_gpus(value):
            yield _TEXT.format(path)
        elif kind is list:
            left += [(item, f"{path}[{index}]") for index, item in enumerate(value)]
        elif issubclass(kind, dict) and (rendered or not shows_a_pod(value)):
            named = [
                key
                for key in value
                if ("esources" in key and _names_gpus(value[key]))
                or (key == "gpus" and _are_devices(value[key]))
            ]
            for key in named:
                yield (_RENDERED if rendered else _FIELD).format(f"{path}.{key}")
            left += [(value[key], f"{path}.{key}") for key in value if key not in named]


def _names_gpus(resources: object) -> bool:
    if type(resources) is not dict:
        return False
    parts = (resources, mapping(resources.get("limits")), mapping(resources.get("requests")))
    return any(
        # Dynamo's operator takes `gpu` for what its settings say
        str(name).startswith(GPU_RESOURCES) or (name == "gpu" and str(part[name]) != "0")
        for part in parts
        for name in part
    )


def _are_devices(found: object) -> bool:
    """Return whether these are GPUs as a virtual machine of KubeVirt has them."""
    return type(found) is list and any(at(each, "deviceName") is not None for each in found)


def _speaks_of_gpus(text: str) -> bool:
    return any(name in text for name in GPU_RESOURCES)
