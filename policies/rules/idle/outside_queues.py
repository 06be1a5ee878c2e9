"""Pods with GPUs should be in the namespace of a queue.

Elsewhere nothing bounds them: no queue, no quota, no team that pays, and a rented pool grows for
each of them. The namespaces in which the cluster and this program run pods are free, as are
those of the setting: such as one for a gang that needs its host's network, which the namespaces of
queues refuse. A TrainJob has GPUs by its `resourcesPerNode`, too, which its pods get elsewhere. An
object in a file without a namespace is judged by the API server.
"""

from policies.language import cel
from policies.language.cel_forms import (
    CONTAINER_ASKS_FOR_GPUS,
    GPU_PODS,
    Fault,
    of_pods,
    pods_or_object,
)
from policies.language.gpu_work import asked_gpus, gpu_pods
from policies.language.manifest import at, describe, items
from policies.language.pods import KINDS, subject
from policies.language.pool_table import facts
from policies.language.rule import Manifest, Rule, Settings
from policies.language.system_namespaces import WITH_PODS

ID = "idle/outside-queues"
_MUST = (
    "must be in the namespace of a queue ({queues}), as it asks for GPUs; '{space}' belongs to "
    "none."
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the pods whose GPUs no queue counts."""
    space = at(manifest, "metadata", "namespace")
    queues = [each["name"] for each in facts(settings)["queues"]]
    free = (*WITH_PODS, *items(settings["namespaces"]), *queues)
    if not queues or space is None or space in free:
        return []
    said = _MUST.format(queues=", ".join(queues), space=space)
    if _trains_with_gpus(manifest):
        return [f"{describe(manifest)} {said}"]
    return [f"{subject(manifest, pod)} {said}" for pod in gpu_pods(manifest)]


def _trains_with_gpus(manifest: Manifest) -> bool:
    """Return whether a TrainJob asks for GPUs for each of its nodes."""
    each = {"resources": at(manifest, "spec", "trainer", "resourcesPerNode")}
    return manifest.get("kind") == "TrainJob" and any(True for _ in asked_gpus(each))


_SPACE = "object.metadata.?namespace.orValue('')"
_FREE = f"({WITH_PODS} + {cel.setting(ID, 'namespaces')} + variables.queues.map(q, string(q.name)))"
_OUTSIDE = f"size(variables.queues) > 0 && {_SPACE} != '' && !({_SPACE} in {_FREE})"
_SAYS = cel.text(_MUST, queues="variables.queues.map(q, string(q.name)).join(', ')", space=_SPACE)
_EACH = "{'resources': dyn(dyn(object).?spec.?trainer.?resourcesPerNode.orValue({}))}"
_TRAINS = f"(object.kind == 'TrainJob' && [{_EACH}].exists(c, {CONTAINER_ASKS_FOR_GPUS}))"

RULE = Rule(
    id=ID,
    sentence="Pods with GPUs must be in the namespace of a queue.",
    why=(
        "Outside the queues nobody's budget and no bound holds them; on a rented pool each pod "
        "that waits is a machine more."
    ),
    source="https://volcano.sh/en/docs/queue/",
    level="advisory",
    schema={
        "namespaces": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z0-9-]+$"},
            "default": [],
            "description": "Namespaces that may have such pods, beside those of the cluster and of "
            "this program.",
        }
    },
    predicate=violations,
    admission=pods_or_object(
        KINDS,
        [Fault(broken=f"{_TRAINS} && {_OUTSIDE}", says=_SAYS)],
        of_pods(GPU_PODS, [Fault(broken=_OUTSIDE, says=_SAYS)]),
    ),
)
