"""A pod on a pool with exclusive isolation must be Guaranteed, with whole CPUs.

`isolation: exclusive`, which purpose realtime alone may have, takes the workload CPUs out of the
kernel's load balancing: a thread stays on the CPU that it was forked on. The kubelet does not know
that: it runs the threads of every pod without CPUs of its own on those CPUs too, where they stand
in the way of threads that were pinned there. CPUs of its own are needed and not enough: the program
must also pin each of its threads (`pthread_setaffinity_np`, `taskset`), or all of them run on one
CPU of its pod, which no rule can see. A pod says that it is for such a pool by the node selector
`fleet.gpu/pool`; the pods of the system's own daemons select none.
"""

from policies.language.cel_forms import of_containers
from policies.language.pods import subject
from policies.language.pool_table import SELECTED, open_to, selected
from policies.language.quantities import READABLE_PODS, readable_pods
from policies.language.rule import Manifest, Rule, Settings
from policies.rules.numa.guaranteed_qos import fault_of, faults


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what keeps the pods of an exclusive pool from having CPUs of their own."""
    found = []
    for pod in readable_pods(manifest):
        pool = selected(pod)
        if pool and any(each["exclusive"] for each in open_to(settings, pool)):
            for container in pod.containers:
                fault = fault_of(container)
                if fault:
                    name = container.get("name") or ""
                    found.append(f"{subject(manifest, pod)}: container '{name}' {fault}")
    return found


RULE = Rule(
    id="numa/exclusive-pods",
    sentence="A pod on an exclusive pool must be Guaranteed, with whole CPUs in every container.",
    why=(
        "On isolated CPUs nothing spreads threads, and the kubelet ignores isolcpus: threads of a "
        "pod without CPUs of its own run on those that another pod has pinned its threads to."
    ),
    source="https://github.com/kubernetes/kubernetes/pull/87532",
    predicate=violations,
    admission=of_containers(
        f"{READABLE_PODS}.filter(p, "
        f"variables.pools.exists(e, e.exclusive && e.name == {SELECTED}))",
        faults(),
    ),
)
