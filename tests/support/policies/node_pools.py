"""NodePools that the tests of the rules and of the gates judge."""

from copy import deepcopy
from typing import Any

GOOD: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "burst"},
    "spec": {
        "limits": {"nvidia.com/gpu": 16},
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "10m"},
        "template": {
            "spec": {
                "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
                "requirements": [
                    {
                        "key": "node.kubernetes.io/instance-type",
                        "operator": "In",
                        "values": ["p5e.48xlarge"],
                    }
                ],
            }
        },
    },
}

ABSENT = object()


def node_pool(path: str = "", value: object = ABSENT) -> dict[str, Any]:
    """Returns the good NodePool with the value at a dotted path replaced, or removed if ABSENT."""
    manifest = deepcopy(GOOD)
    if path:
        *parents, last = path.split(".")
        target = manifest
        for step in parents:
            target = target[step]
        target.pop(last, None)
        if value is not ABSENT:
            target[last] = value
    return manifest


def bare(**spec: object) -> dict[str, Any]:
    """Returns a NodePool that neither bounds nor consolidates, with a template of one's choice."""
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "bare"},
        "spec": {"template": spec},
    }
