"""A pod with GPUs, or on their nodes, must set resources in its containers, not for all of it.

Kubernetes 1.36 takes CPUs, memory and huge pages for a pod as a whole (`spec.resources`), whatever
its containers set. The kubelet's static CPU manager and memory manager then leave out the whole
pod, of which the QoS class may well be Guaranteed: its containers run on CPUs that all share, and
get their memory from any NUMA node.
"""

from policies.language import cel
from policies.language.cel_forms import ASKS_FOR_GPUS, Fault, of_pods
from policies.language.gpu_nodes import ON_GPU_NODES, on_gpu_nodes
from policies.language.gpu_work import asks_for_gpus
from policies.language.manifest import at, mapping
from policies.language.pods import Pod, pods, subject
from policies.language.rule import Manifest, Rule, Settings

_MUST = (
    "must set resources in each container, not in spec.resources, with which the kubelet gives no "
    "container CPUs and memory of its own NUMA node."
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the pods beside GPUs with resources for the whole pod."""
    return [
        f"{subject(manifest, pod)} {_MUST}"
        for pod in pods(manifest)
        if _sets(pod) and (asks_for_gpus(pod) or on_gpu_nodes(manifest, pod, settings))
    ]


def _sets(pod: Pod) -> bool:
    return any(mapping(at(pod.spec, "resources", part)) for part in ("limits", "requests"))


_SETS = f"[p.spec].exists(c, {cel.RESOURCES}.exists(r, size(r) > 0))"

RULE = Rule(
    id="numa/pod-level-resources",
    sentence="A pod on GPU nodes must set resources in its containers, not for the whole pod.",
    why=(
        "The kubelet skips pods with pod-level resources when it gives out CPUs and memory, so "
        "that a Guaranteed pod runs on shared CPUs of both NUMA nodes."
    ),
    source=(
        "https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/cpumanager/"
        "policy_static.go"
    ),
    predicate=violations,
    admission=of_pods(
        f"variables.pods.filter(p, {_SETS} && ({ASKS_FOR_GPUS} || {ON_GPU_NODES}))",
        [Fault(broken="true", says=cel.literal(_MUST))],
    ),
)
