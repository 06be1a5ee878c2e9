"""A pod on a GPU node must have a memory limit in every container.

Such a pod asks for a resource of NVIDIA's, or selects a pool with GPUs by `fleet.gpu/pool`. What a
pod takes without a limit comes from the memory beside the GPUs, and the kernel may end the process
of another pod for it. The rule does not apply to the fleet's own daemons, which select no pool.
"""

from collections.abc import Mapping

from policies.language import cel
from policies.language.cel_forms import Fault, of_containers
from policies.language.manifest import at, mapping, quantity
from policies.language.pods import Pod, pods, subject
from policies.language.pool_table import SELECTED, cel_asks_for, open_to, selected
from policies.language.rule import Manifest, Rule, Settings

_VENDOR = "nvidia.com/"
_SET = "must set limits.memory to more than 0."
_LIMIT = "c.?resources.?limits[?'memory']"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the containers without a memory limit in pods that run on GPU nodes."""
    found = []
    for pod in pods(manifest):
        if _is_on_gpu_node(pod, settings):
            for container in pod.containers:
                limit = quantity(at(container, "resources", "limits", "memory"))
                if limit is None or limit <= 0:
                    name = container.get("name") or ""
                    found.append(f"{subject(manifest, pod)}: container '{name}' {_SET}")
    return found


def _is_on_gpu_node(pod: Pod, settings: Settings) -> bool:
    pool = selected(pod)
    with_gpus = any(each["gpus"] for each in open_to(settings, pool)) if pool else False
    return with_gpus or any(map(_asks_for_gpus, pod.containers))


def _asks_for_gpus(container: Mapping[str, object]) -> bool:
    parts = [mapping(at(container, "resources", part)) for part in ("limits", "requests")]
    asked = (found for each in parts for found in each.items())
    return any(name.startswith(_VENDOR) and str(amount) != "0" for name, amount in asked)


_ASKS = cel_asks_for(f"k.startsWith('{_VENDOR}')")
_ON_GPU_NODE = f"variables.pools.exists(e, e.gpus > 0 && e.name == {SELECTED})"

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
        f"variables.pods.filter(p, {_ASKS} || {_ON_GPU_NODE})",
        [Fault(broken=f"!{cel.more_than_none(_LIMIT)}", says=cel.literal(_SET))],
    ),
)
