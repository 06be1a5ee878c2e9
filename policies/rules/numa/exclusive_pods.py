"""A pod on a pool with exclusive isolation must be Guaranteed, with whole CPUs.

`isolation: exclusive` takes the workload CPUs out of the kernel's load balancing. The kubelet does
not know that: it runs the threads of every pod without CPUs of its own on those CPUs too, where
nothing spreads them, so that many share one while others idle. A pod says that it is for such a
pool by the node selector `fleet.gpu/pool`; the pods of the system's own daemons select none.
"""

from policies.language.cel_forms import of_containers
from policies.language.pods import pods, subject
from policies.language.pool_table import SELECTED, open_to, selected
from policies.language.rule import Manifest, Rule, Settings
from policies.rules.numa.guaranteed_qos import fault_of, faults


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what keeps the pods of an exclusive pool from having CPUs of their own."""
    found = []
    for pod in pods(manifest):
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
        "On isolated CPUs nothing balances load: threads of a pod without CPUs of its own pile up "
        "on one of them while the others idle, because the kubelet ignores isolcpus."
    ),
    source="https://github.com/kubernetes/kubernetes/pull/87532",
    predicate=violations,
    admission=of_containers(
        f"variables.pods.filter(p, variables.pools.exists(e, e.exclusive && e.name == {SELECTED}))",
        faults(),
    ),
)
