"""Pods with GPUs should be in the namespace of a queue.

Elsewhere nothing bounds them: no queue, no quota, no team that pays, and a rented pool grows for
each of them. The namespaces in which the cluster and this program run pods are free, as are
those of the setting: such as one for a gang that needs its host's network, which the namespaces of
queues refuse. An object in a file without a namespace is judged by the API server.
"""

from policies.language import cel
from policies.language.cel_forms import GPU_PODS, Fault, of_pods
from policies.language.gpu_work import gpu_pods
from policies.language.manifest import at, items
from policies.language.pods import subject
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
    return [f"{subject(manifest, pod)} {said}" for pod in gpu_pods(manifest)]


_SPACE = "object.metadata.?namespace.orValue('')"
_FREE = f"({WITH_PODS} + {cel.setting(ID, 'namespaces')} + variables.queues.map(q, string(q.name)))"

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
    admission=of_pods(
        GPU_PODS,
        [
            Fault(
                broken=f"size(variables.queues) > 0 && {_SPACE} != '' && !({_SPACE} in {_FREE})",
                says=cel.text(
                    _MUST, queues="variables.queues.map(q, string(q.name)).join(', ')", space=_SPACE
                ),
            )
        ],
    ),
)
