"""How kube-state-metrics shows what Metal3 and Karpenter say of machines, as series of its own.

Its block `customResourceState` maps fields of custom resources to series (kube-state-metrics
2.20, docs/metrics/extend/customresourcestate-metrics.md). A kind that the cluster does not have
yet makes no series, and is found once its CRD is there.
"""

HOST_STATE, HOST_ERROR = "fleet_host_state", "fleet_host_error"
CLAIM_CREATED, CLAIM_CONDITION = "fleet_nodeclaim_created", "fleet_nodeclaim_condition"
_ERRORS = (
    "provisioned registration error",
    "registration error",
    "inspection error",
    "preparation error",
    "provisioning error",
    "power management error",
    "servicing error",
)
"""The field errorType of BareMetalHost, as its CRD lists it."""

Block = dict[str, object]


def custom_resources() -> Block:
    """Returns the keys of the subchart's values."""
    return {
        "customResourceState": {
            "enabled": True,
            "config": {
                "kind": "CustomResourceStateMetrics",
                "spec": {"resources": [_hosts(), _claims()]},
            },
        },
        "rbac": {
            "extraRules": [
                _reads("metal3.io", "baremetalhosts"),
                _reads("karpenter.sh", "nodeclaims"),
                # by which it learns that a kind is there
                _reads("apiextensions.k8s.io", "customresourcedefinitions"),
            ]
        },
    }


def _hosts() -> Block:
    return {
        "groupVersionKind": {"group": "metal3.io", "version": "v1alpha1", "kind": "BareMetalHost"},
        "metricNamePrefix": "fleet_host",
        "labelsFromPath": {"host": ["metadata", "name"]},
        "metrics": [
            _states("state", ["status", "provisioning", "state"], "state", ("provisioned",)),
            _states("error", ["status", "errorType"], "error", _ERRORS),
        ],
    }


def _states(name: str, path: list[str], label: str, values: tuple[str, ...]) -> Block:
    found = {"path": path, "labelName": label, "list": list(values)}
    return {
        "name": name,
        "help": f"Whether the host's {'.'.join(path)} is the value of the label.",
        "each": {"type": "StateSet", "stateSet": found},
    }


def _claims() -> Block:
    return {
        "groupVersionKind": {"group": "karpenter.sh", "version": "v1", "kind": "NodeClaim"},
        "metricNamePrefix": "fleet_nodeclaim",
        "labelsFromPath": {
            "nodeclaim": ["metadata", "name"],
            "nodepool": ["metadata", "labels", "karpenter.sh/nodepool"],
        },
        "metrics": [
            {
                "name": "created",
                "help": "The second at which the NodeClaim was created.",
                "each": {
                    "type": "Gauge",
                    "gauge": {"path": ["metadata"], "valueFrom": ["creationTimestamp"]},
                },
            },
            {
                "name": "condition",
                "help": "1 for a condition that is True, 0 for False and for Unknown.",
                "each": {
                    "type": "Gauge",
                    "gauge": {
                        "path": ["status", "conditions"],
                        "labelsFromPath": {"type": ["type"]},
                        "valueFrom": ["status"],
                    },
                },
            },
        ],
    }


def _reads(group: str, resource: str) -> Block:
    return {"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]}
