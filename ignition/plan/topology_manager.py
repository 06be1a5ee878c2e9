"""The Topology Manager of a plan: the policy that admits the largest pod, and no stricter one."""

from collections import Counter
from collections.abc import Sequence

from hardware.catalogue import Hardware
from ignition.plan.plan_lines import KubeletField
from ignition.plan.tuning import Purpose, Tuning

_TOPOLOGY = "https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/"
_DEFAULT_MAX_NUMA_NODES = 8
_ON_ONE_NUMA_NODE = {
    "inference": "a served model fits the GPUs of one NUMA node; larger pods are refused",
    "realtime": "memory of another NUMA node takes longer; larger pods are refused",
}


def gpus_per_numa_node(hardware: Hardware) -> int:
    """The most GPUs that hang on one NUMA node; 0 without GPUs."""
    return max(Counter(gpu.numa_node for gpu in hardware.gpus).values(), default=0)


def spans_numa_nodes(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> bool:
    """Return whether pods may take the GPUs of more than one NUMA node."""
    if tuning.largest_pod_gpus is not None:
        return tuning.largest_pod_gpus > gpus_per_numa_node(hardware)
    return purpose == "training" and len({gpu.numa_node for gpu in hardware.gpus}) > 1


def fields(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> Sequence[KubeletField]:
    """The Topology Manager's fields; none where there is one NUMA node, with nothing to align."""
    nodes = len(hardware.numa_nodes)
    if nodes == 1:
        return ()
    policy, reason = _policy(hardware, tuning, purpose)
    decided = [
        KubeletField(name="topologyManagerPolicy", value=policy, reason=reason, source=_TOPOLOGY),
        KubeletField(
            name="topologyManagerScope",
            value="pod",
            reason="the containers of a pod are placed together",
            source=_TOPOLOGY,
        ),
    ]
    options, why = {}, []
    if policy == "best-effort":
        options["prefer-closest-numa-nodes"] = "true"
        why.append("where more than one NUMA node is needed, the near ones")
    if nodes > _DEFAULT_MAX_NUMA_NODES:
        options["max-allowable-numa-nodes"] = str(nodes)
        why.append(f"kubelet starts on {_DEFAULT_MAX_NUMA_NODES} NUMA nodes at most without it")
    if options:
        decided.append(
            KubeletField(
                name="topologyManagerPolicyOptions",
                value=options,
                reason="; ".join(why),
                source=_TOPOLOGY,
            )
        )
    return decided


def _policy(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> tuple[str, str]:
    largest, local = tuning.largest_pod_gpus, gpus_per_numa_node(hardware)
    if largest is not None and largest <= local:
        return (
            "single-numa-node",
            f"the largest pod has {largest} GPUs, and a NUMA node has {local}",
        )
    if largest is None and purpose in _ON_ONE_NUMA_NODE:
        return "single-numa-node", _ON_ONE_NUMA_NODE[purpose]
    reason = (
        "single-numa-node refuses every pod that needs the GPUs of several NUMA nodes, and "
        "restricted does unless its CPUs and memory need as many, too; both count what a NUMA node "
        "has, housekeeping CPUs included"
    )
    return "best-effort", reason
