"""Searches an object of a kind that nobody has listed for the pods that it makes.

A mapping with a list `containers` is the spec of a pod; where it stands as `spec`, what is around
it is a template with its metadata. Besides, operators take containers that are not in such a list:
KServe's model and HyperPod's worker by their `resources`. Of those only what asks for GPUs counts:
the rest of the pod is the operator's. Spark's driver and executor are pods wherever they stand.

Objects that speak of other objects are left out: CRDs, policies, metrics.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from policies.language.manifest import at, items, mapping
from policies.language.pod import Pod, of_template
from policies.language.pod_kinds import PodKind, called, inline, item_name
from policies.language.rule import Manifest
from settings.names import GPU

GPU_RESOURCES = (GPU, "nvidia.com/mig-")
"""What the names of GPUs begin with among the resources of a container."""
OF_THE_OPERATOR = f"operator@sha256:{'0' * 64}"
"""Stands for the image of a container that names none: its operator chooses one, or patches its
own container. Rules see a digest, and `policies.language.unjudged` says what nobody sees."""
_OF_OTHERS = frozenset(
    (
        *("", "apps", "batch", "policy", "autoscaling", "autoscaling.k8s.io", "events.k8s.io"),
        *("admissionregistration.k8s.io", "apiextensions.k8s.io", "metrics.k8s.io"),
        *("rbac.authorization.k8s.io", "networking.k8s.io", "storage.k8s.io"),
        *("constraints.gatekeeper.sh", "mutations.gatekeeper.sh", "templates.gatekeeper.sh"),
        *("config.gatekeeper.sh", "kyverno.io", "policies.kyverno.io", "kwok.x-k8s.io"),
    )
)
"""Groups whose kinds make no pods, or are listed where they do."""
_RENDERED = ("helm.toolkit.fluxcd.io", "helm.cattle.io", "kustomize.toolkit.fluxcd.io")
"""Groups whose kinds hold the values of charts, from which pods are rendered elsewhere."""
_OF_A_CONTAINER = frozenset(
    (
        *("args", "command", "env", "envFrom", "image", "ports", "resources", "securityContext"),
        *("volumeMounts", "imagePullPolicy"),
    )
)
_OF_A_POD = (
    *("activeDeadlineSeconds", "affinity", "hostIPC", "hostNetwork", "hostPID", "hostUsers"),
    *("nodeName", "nodeSelector", "priorityClassName", "resourceClaims", "runtimeClassName"),
    *("schedulerName", "securityContext", "tolerations", "volumes"),
)
"""Fields of a pod that stand beside a container which is in no list, such as KServe's model."""
_SPARK = "sparkoperator.k8s.io"
_OF_SPARK = ("driver", "executor")
_BESIDE = ("initContainers", "sidecars")
_READ = ("containers", "ephemeralContainers", "template", *_BESIDE)
"""Where the containers of a pod are, which are read with it."""
_MEMORY = re.compile(r"([0-9]+)\s*([kmgt])?b?", re.IGNORECASE)  # as the JVM has it
_SCALARS = frozenset((str, int, float, bool, type(None)))
_Way = tuple[Any, str] | None  # the way to what holds a value, and the value's name there


def may_make_pods(manifest: Manifest) -> bool:
    """Return whether an object of a kind that is not listed is searched."""
    group = _group(manifest)
    return group is not None and group not in _OF_OTHERS and group not in _RENDERED


def is_rendered(manifest: Manifest) -> bool:
    """Return whether an object holds what pods are rendered from elsewhere."""
    return _group(manifest) in _RENDERED


def _group(manifest: Manifest) -> str | None:
    version = manifest.get("apiVersion")
    return version.rpartition("/")[0] if isinstance(version, str) else None


def pods(manifest: Manifest) -> list[Pod]:
    """The pods that an object makes, as far as it shows them."""
    return list(_found(manifest)) if may_make_pods(manifest) else []


def _found(manifest: Manifest) -> Iterator[Pod]:
    """Search without recursion: an object may be deeper than Python's stack."""
    left: list[tuple[Any, str, Any, Any]] = [
        (manifest[key], key, manifest, (None, key))
        for key in reversed(list(manifest))
        if key not in ("metadata", "status", "apiVersion", "kind")
    ]
    while left:
        value, key, holder, way = left.pop()
        kind = type(value)
        if kind in _SCALARS:
            continue
        if kind is list:
            left += _of_items(value, key, holder, way)
        elif kind is dict or _leads_to_pods(key, value):
            pod = _shown(value, key, holder, way, manifest)
            if pod is not None:
                yield pod
            # KServe's predictor has a model and workers beside its containers
            inside = [inner for inner in value if pod is None or inner not in _READ]
            left += [(value[inner], inner, value, (way, inner)) for inner in inside[::-1]]


def _of_items(value: list[Any], key: str, holder: Any, way: Any) -> list[tuple[Any, str, Any, Any]]:
    return [
        (item, key, holder, (way[0], item_name(item, f"{key}[{index}]")))
        for index, item in reversed(list(enumerate(value)))
        if type(item) is dict or type(item) is list
    ]


def _leads_to_pods(key: str, value: object) -> bool:
    """Return whether a value is some other mapping; one that matters and is not known raises."""
    if issubclass(type(value), dict):
        return True
    matters = key in ("spec", "template", "containers") or key.endswith(("Template", "Spec"))
    return matters and isinstance(value, Mapping)


def _shown(
    value: Mapping[str, Any], key: str, holder: Mapping[str, object], way: _Way, manifest: Manifest
) -> Pod | None:
    """The pod of which a mapping is the spec, or the container; None where it is neither."""
    if has_containers(value):
        return _pod(value, key, holder, way, manifest)
    if key in _OF_SPARK and _group(manifest) == _SPARK:
        beside = [each for field in _BESIDE for each in items(value.get(field))]
        beside += items(at(value, "template", "spec", "containers"))
        containers = (_of_spark(value, holder), *beside)
        return _inline(called(_parts(way)), value, containers, manifest)
    if _asks_for_gpus(value):
        around = {field: holder[field] for field in _OF_A_POD if field in holder}
        pod = _alone(called(_parts(way)), key, value, manifest)
        return replace(pod, spec={**around, **pod.spec})
    return None


def of_parts(manifest: Manifest, kind: PodKind, patches: Sequence[Pod]) -> Iterator[Pod]:
    """The pods of a kind with containers outside of any pod: one for each, and its patches.

    The patches are those of all its pods.
    """
    for pod in patches:
        yield replace(pod, containers=tuple(map(_with_image, pod.containers)), partial=True)
    for name, value in inline(manifest, kind):
        pod = _alone(name, name, value, {})
        yield _patched(replace(pod, partial=True), patches)


def _patched(pod: Pod, patches: Sequence[Pod]) -> Pod:
    for patch in patches:
        spec = {key: each for key, each in patch.spec.items() if not key.endswith("ontainers")}
        pod = replace(
            pod,
            labels={**pod.labels, **patch.labels},
            annotations={**pod.annotations, **patch.annotations},
            spec={**pod.spec, **spec},
        )
    return pod


def _alone(name: str, key: str, value: Mapping[str, Any], manifest: Manifest) -> Pod:
    """The pod of a container; the resources of the container are not those of its pod."""
    spec = {field: value[field] for field in value if field not in _OF_A_CONTAINER}
    container = {"name": key, **value, "resources": _resources(value) or {}}
    return _inline(name, spec, [container], manifest)


def shows_a_pod(value: Mapping[str, Any]) -> bool:
    """Return whether a mapping is a pod's spec, or a container that asks for GPUs."""
    return has_containers(value) or _asks_for_gpus(value)


def has_containers(value: Mapping[str, Any]) -> bool:
    """Return whether a mapping is a pod's spec."""
    containers = value.get("containers")
    return type(containers) is list and any(map(_is_container, containers))


def _is_container(item: object) -> bool:
    return type(item) is dict and not _OF_A_CONTAINER.isdisjoint(item)


def _resources(value: Mapping[str, Any]) -> object:
    return value.get("resources", value.get("resourcesPerNode"))  # the latter is a TrainJob's


def _asks_for_gpus(value: Mapping[str, Any]) -> bool:
    resources = _resources(value)
    return type(resources) is dict and any(
        str(name).startswith(GPU_RESOURCES)
        for part in ("limits", "requests")
        for name in mapping(resources.get(part))
    )


def _parts(way: _Way) -> list[str]:
    parts: list[str] = []
    while way is not None:
        way, part = way
        parts.append(part)
    return parts[::-1]


def _pod(
    spec: Mapping[str, Any], key: str, holder: Mapping[str, object], way: _Way, manifest: Manifest
) -> Pod:
    name = called(_parts(way))
    if key == "spec":
        pod = of_template(name, holder)
        return replace(pod, containers=tuple(map(_with_image, pod.containers)))
    containers = (*items(spec.get("initContainers")), *items(spec.get("containers")))
    return _inline(name, spec, containers, manifest)


def _inline(name: str, spec: Mapping[str, Any], containers: Any, manifest: Manifest) -> Pod:
    """A pod without a template: what its object and it itself say in labels is on it."""
    labels, annotations = (
        {**mapping(at(manifest, "metadata", field)), **mapping(spec.get(field))}
        for field in ("labels", "annotations")
    )
    return Pod(
        name=name,
        labels=labels,
        annotations=annotations,
        spec=spec,
        containers=tuple(_with_image(mapping(each)) for each in containers),
    )


def _with_image(container: Mapping[str, object]) -> Mapping[str, object]:
    if container.get("image") is not None:
        return container
    return {**container, "image": OF_THE_OPERATOR}


def _of_spark(part: Mapping[str, Any], application: object) -> Mapping[str, object]:
    """The container of Spark's driver or executor; Spark sets its memory as request and limit."""
    memory = _MEMORY.fullmatch(str(part.get("memory", "1g")))
    gpu = mapping(part.get("gpu"))
    limits = {str(gpu["name"]): gpu.get("quantity")} if "name" in gpu else {}
    if memory:
        limits["memory"] = f"{memory[1]}{(memory[2] or 'm').upper().replace('K', 'k')}i"
    if part.get("coreLimit") is not None:
        limits["cpu"] = part["coreLimit"]
    cores = part.get("coreRequest", part.get("cores", 1))
    image = part.get("image", at(application, "image"))
    variables = ({"name": key, "value": each} for key, each in mapping(part.get("envVars")).items())
    env = [*items(part.get("env")), *variables]
    own = {"name": "spark", **part, "image": image, "env": env}
    return {**own, "resources": {"limits": limits, "requests": {"cpu": cores}}}
