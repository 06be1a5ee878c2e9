"""The pod of fleet-node-check: the machine below /host, the program, and one folder to write."""

import pulumi
from pulumi_kubernetes.core.v1 import (
    ContainerArgsDict,
    NodeAffinityArgsDict,
    PodSpecArgsDict,
    VolumeMountArgsDict,
)

from settings.names import PREFIX
from workloads.node_check.program import FILE, INTERVAL_S

NAME = "fleet-node-check"
NAMESPACE = "fleet-node-check"
TEXTFILES = "/var/lib/fleet/metrics"
"""Where the node exporter finds the metrics; on the machine."""
_HOST, _PROGRAM = "/host", "/program"


def pod(image: str, code: pulumi.Input[str]) -> PodSpecArgsDict:
    """The spec of the pod; `code` is the ConfigMap with the program."""
    return {
        "service_account_name": NAME,
        # a node without a plan has nothing to be compared with
        "affinity": {"node_affinity": _nodes_with_a_plan()},
        # drift must be seen on any node, whatever keeps other pods away
        "tolerations": [{"operator": "Exists"}],
        "priority_class_name": "system-node-critical",
        # sysctls of the network are those of the reader's network namespace
        "host_network": True,
        "termination_grace_period_seconds": 5,
        "containers": [_container(image)],
        "volumes": [
            {"name": "host", "host_path": {"path": "/", "type": "Directory"}},
            {"name": "metrics", "host_path": {"path": TEXTFILES, "type": "DirectoryOrCreate"}},
            {"name": "program", "config_map": {"name": code}},
        ],
    }


def _container(image: str) -> ContainerArgsDict:
    return {
        "name": "check",
        "image": image,
        "command": ["python3", "-I", f"{_PROGRAM}/{FILE}"],
        "args": [
            f"--every={INTERVAL_S}",
            f"--root={_HOST}",
            f"--textfile={TEXTFILES}",
            "--node=$(NODE)",
        ],
        "env": [{"name": "NODE", "value_from": {"field_ref": {"field_path": "spec.nodeName"}}}],
        # it enters the machine's root to run nvidia-smi, which opens /dev/nvidia*
        "security_context": {"privileged": True, "read_only_root_filesystem": True},
        "resources": {
            # a CPU asked for on every node is one that no job can have of them all
            "requests": {"cpu": "0", "memory": "64Mi"},
            "limits": {"memory": "256Mi"},
        },
        "volume_mounts": _mounts(),
    }


def _nodes_with_a_plan() -> NodeAffinityArgsDict:
    return {
        "required_during_scheduling_ignored_during_execution": {
            "node_selector_terms": [
                {"match_expressions": [{"key": f"{PREFIX}/numa-plan", "operator": "Exists"}]}
            ]
        }
    }


def _mounts() -> list[VolumeMountArgsDict]:
    return [
        {
            "name": "host",
            "mount_path": _HOST,
            "read_only": True,
            # extensions that are merged later must be seen
            "mount_propagation": "HostToContainer",
        },
        {"name": "metrics", "mount_path": TEXTFILES},
        {"name": "program", "mount_path": _PROGRAM, "read_only": True},
    ]
