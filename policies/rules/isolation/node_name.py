"""A pod must be placed by the scheduler, not by the name of its node.

A pod with `spec.nodeName` is run by the kubelet of that node as it is: no scheduler looks at queue,
quota of a gang, taint or free CPUs, and a tainted GPU node takes it. Who means a pool says so by
`fleet.gpu/pool`, one machine of it by `kubernetes.io/hostname`; both go through the scheduler. A
Pod that runs has a node by its name, and is not judged by it again. Pods in the system namespaces
of the setting may, and mirrors of static pods, which only their kubelet runs.
"""

from policies.language import cel
from policies.language.cel_forms import Fault, of_pods
from policies.language.gpu_nodes import BY_NODE_NAME, HOSTNAME, by_node_name
from policies.language.pods import pods, subject
from policies.language.rule import Manifest, Rule, Settings
from policies.language.system_namespaces import cel_is_system, is_system, schema
from settings.names import POOL_LABEL

ID = "isolation/node-name"
_NAMED = (
    f"must select its node by {POOL_LABEL} or {HOSTNAME}, not name it by spec.nodeName, which "
    "passes the scheduler with its queues and taints."
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the pods that name their node."""
    found = [pod for pod in pods(manifest) if by_node_name(manifest, pod)]
    if not found or is_system(manifest, settings):
        return []
    return [f"{subject(manifest, pod)} {_NAMED}" for pod in found]


RULE = Rule(
    id=ID,
    sentence="A pod must be placed by the scheduler, not by the name of its node.",
    why=(
        "A pod that names its node is on it whatever its taints, queues and quotas say, beside or "
        "in place of work that waited for these GPUs."
    ),
    source="https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename",
    schema=schema("host-access", "Namespaces of the system parts that may name nodes."),
    predicate=violations,
    admission=of_pods(
        f"({cel_is_system(ID)} ? [] : variables.pods)",
        [Fault(broken=BY_NODE_NAME, says=cel.literal(_NAMED))],
    ),
)
