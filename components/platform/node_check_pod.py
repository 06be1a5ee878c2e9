"""The pod of fleet-node-check: the machine below /host, the program, and one folder to write."""

from typing import Any

import pulumi

from components.labels import PREFIX
from workloads.node_check.program import FILE, INTERVAL_S

NAME = "fleet-node-check"
NAMESPACE = "fleet-node-check"
TEXTFILES = "/var/lib/fleet/metrics"
"""Where the node exporter finds the metrics; on the machine."""
_HOST, _PROGRAM = "/host", "/program"


def pod(image: str, code: pulumi.Input[str]) -> dict[str, Any]:
    """The spec of the pod; `code` is the ConfigMap with the program."""
    return {
        "serviceAccountName": NAME,
        # a node without a plan has nothing to be compared with
        "affinity": {"nodeAffinity": _nodes_with_a_plan()},
        # drift must be seen on any node, whatever keeps other pods away
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "system-node-critical",
        # sysctls of the network are those of the reader's network namespace
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 5,
        "containers": [
            {
                "name": "check",
                "image": image,
                "command": ["python3", "-I", f"{_PROGRAM}/{FILE}"],
                "args": [
                    f"--every={INTERVAL_S}",
                    f"--root={_HOST}",
                    f"--textfile={TEXTFILES}",
                    "--node=$(NODE)",
                ],
                "env": [
                    {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
                ],
                # it enters the machine's root to run nvidia-smi, which opens /dev/nvidia*
                "securityContext": {"privileged": True, "readOnlyRootFilesystem": True},
                "resources": {
                    "requests": {"cpu": "10m", "memory": "64Mi"},
                    "limits": {"memory": "256Mi"},
                },
                "volumeMounts": _mounts(),
            }
        ],
        "volumes": [
            {"name": "host", "hostPath": {"path": "/", "type": "Directory"}},
            {"name": "metrics", "hostPath": {"path": TEXTFILES, "type": "DirectoryOrCreate"}},
            {"name": "program", "configMap": {"name": code}},
        ],
    }


def _nodes_with_a_plan() -> dict[str, Any]:
    expression = {"key": f"{PREFIX}/numa-plan", "operator": "Exists"}
    terms = [{"matchExpressions": [expression]}]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def _mounts() -> list[dict[str, Any]]:
    return [
        {
            "name": "host",
            "mountPath": _HOST,
            "readOnly": True,
            # extensions that are merged later must be seen
            "mountPropagation": "HostToContainer",
        },
        {"name": "metrics", "mountPath": TEXTFILES},
        {"name": "program", "mountPath": _PROGRAM, "readOnly": True},
    ]
