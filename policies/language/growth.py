"""What an object becomes when it grows as far as it may: by an autoscaler, or by itself.

- A HorizontalPodAutoscaler or KEDA's ScaledObject sets the replicas of its target.
- Ray's own autoscaler adds workers up to the `maxReplicas` of their groups.
- An elastic PyTorchJob has up to `elasticPolicy.maxReplicas` workers.

A field that is left out bounds nothing that could be counted.
"""

from collections.abc import Mapping, Sequence

from policies.language.manifest import at, is_true, items, mapping
from policies.language.replicas import RAY, number
from policies.language.rule import Manifest
from policies.language.stack import of_kinds

_SCALERS = {"HorizontalPodAutoscaler": "maxReplicas", "ScaledObject": "maxReplicaCount"}


def target_of(manifest: Manifest, stack: Sequence[Manifest]) -> Manifest | None:
    """Return what an autoscaler scales or, of anything else, the object itself."""
    if manifest.get("kind") not in _SCALERS:
        return manifest
    said = at(manifest, "spec", "scaleTargetRef")
    kind, name = str(at(said, "kind") or "Deployment"), at(said, "name")
    space = at(manifest, "metadata", "namespace")
    return next(
        (
            each
            for each in of_kinds(stack, kind)
            if at(each, "metadata", "name") == name and at(each, "metadata", "namespace") == space
        ),
        None,
    )


def grown(target: Manifest, by: Manifest) -> tuple[Manifest, str] | None:
    """Return the target as large as it may become, and the field that says so; None if none does.

    `by` is its autoscaler, or the target itself.
    """
    kind, spec = str(by.get("kind")), mapping(target.get("spec"))
    if kind in _SCALERS:
        most = at(by, "spec", _SCALERS[kind])
        larger = {**target, "spec": {**spec, "replicas": most}}
        return None if most is None else (larger, f"spec.{_SCALERS[kind]}")
    if kind in RAY:
        return _of_ray(target, RAY[kind])
    most = at(spec, "elasticPolicy", "maxReplicas")
    if kind != "PyTorchJob" or most is None:
        return None
    roles = mapping(spec.get("pytorchReplicaSpecs"))
    workers = {**mapping(roles.get("Worker")), "replicas": most}
    larger = {**target, "spec": {**spec, "pytorchReplicaSpecs": {**roles, "Worker": workers}}}
    return larger, "spec.elasticPolicy.maxReplicas"


def _of_ray(target: Manifest, way: Sequence[str]) -> tuple[Manifest, str] | None:
    cluster = mapping(at(target, *way))
    if not is_true(cluster.get("enableInTreeAutoscaling")):
        return None
    groups = [_whole(mapping(group)) for group in items(cluster.get("workerGroupSpecs"))]
    larger: Mapping[str, object] = {**cluster, "workerGroupSpecs": groups}
    if len(way) > 1:
        larger = {**mapping(target.get("spec")), way[-1]: larger}
    return {**target, "spec": larger}, f"{'.'.join(way)}.workerGroupSpecs[].maxReplicas"


def _whole(group: Mapping[str, object]) -> Mapping[str, object]:
    now = max(number(group.get(name), 0) for name in ("replicas", "minReplicas"))
    return {**group, "replicas": max(now, number(group.get("maxReplicas"), now))}
