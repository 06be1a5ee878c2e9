"""A pod on a GPU node must have a memory limit in every container.

Such a pod asks for a resource of NVIDIA's, or chooses nodes with GPUs: by `fleet.gpu/pool` or
another label that only they have, as node selector or required affinity, by a toleration of their
taint, or by the name of a node. What a pod takes without a limit comes from the memory beside the
GPUs, and the kernel may end the process of another pod for it. A limit of the pod as a whole
(`spec.resources`) counts. A TrainJob is left to its pods, as its runtime may set the limit, and its
patches cannot. The rule does not apply to the fleet's own daemons, which select no pool.
"""

from collections.abc import Mapping

from policies.language import cel
from policies.language.cel_forms import Fault, of_containers
from policies.language.gpu_nodes import ON_GPU_NODES, on_gpu_nodes
from policies.language.manifest import at, is_some, mapping, quantity
from policies.language.pods import Pod, subject
from policies.language.pool_table import cel_asks_for
from policies.language.quantities import READABLE_PODS, readable_pods
from policies.language.rule import Manifest, Rule, Settings

_VENDOR = "nvidia.com/"
_SET = "must set limits.memory to more than 0."
_LIMIT = "c.?resources.?limits[?'memory']"
_OF_POD = "p.spec.?resources.?limits[?'memory']"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the containers without a memory limit in pods that run on GPU nodes."""
    found = []
    for pod in readable_pods(manifest):
        if pod.partial or _is_limited(pod.spec) or not _is_on_gpu_node(manifest, pod, settings):
            continue
        for container in pod.containers:
            if not _is_limited(container):
                name = container.get("name") or ""
                found.append(f"{subject(manifest, pod)}: container '{name}' {_SET}")
    return found


def _is_limited(holder: Mapping[str, object]) -> bool:
    limit = quantity(at(holder, "resources", "limits", "memory"))
    return limit is not None and limit > 0


def _is_on_gpu_node(manifest: Manifest, pod: Pod, settings: Settings) -> bool:
    return any(map(_asks_for_gpus, pod.containers)) or on_gpu_nodes(manifest, pod, settings)


def _asks_for_gpus(container: Mapping[str, object]) -> bool:
    parts = [mapping(at(container, "resources", part)) for part in ("limits", "requests")]
    asked = (found for each in parts for found in each.items())
    return any(name.startswith(_VENDOR) and is_some(amount) for name, amount in asked)


_ASKS = cel_asks_for(f"k.startsWith('{_VENDOR}')")

RULE = Rule(
    id="numa/memory-limit",
    sentence="A pod on a GPU node must have a memory limit in every container.",
    why=(
        "Memory without a limit is taken from beside the GPUs, and when it runs out the kernel "
        "ends processes of whichever pod it finds, a training run of days among them."
    ),
    source="https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    predicate=violations,
    admission=of_containers(
        f"object.kind == 'TrainJob' ? [] : {READABLE_PODS}"
        f".filter(p, !{cel.more_than_none(_OF_POD)} && ({_ASKS} || {ON_GPU_NODES}))",
        [Fault(broken=f"!{cel.more_than_none(_LIMIT)}", says=cel.literal(_SET))],
    ),
)
