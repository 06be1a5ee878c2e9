"""The environment variables that Karpenter's chart makes of its values.

As charts/karpenter/templates/deployment.yaml of karpenter-provider-aws v1.14.1 writes them. What
the values leave out has the same default in the chart and in the program (pkg/operator/options,
and pkg/operator/options of sigs.k8s.io/karpenter v1.14.1), so that only what is given is passed.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_OF_SETTINGS = {
    "batchMaxDuration": "BATCH_MAX_DURATION",
    "batchIdleDuration": "BATCH_IDLE_DURATION",
    "preferencePolicy": "PREFERENCE_POLICY",
    "minValuesPolicy": "MIN_VALUES_POLICY",
    "clusterCABundle": "CLUSTER_CA_BUNDLE",
    "clusterName": "CLUSTER_NAME",
    "clusterEndpoint": "CLUSTER_ENDPOINT",
    "isolatedVPC": "ISOLATED_VPC",
    "eksControlPlane": "EKS_CONTROL_PLANE",
    "vmMemoryOverheadPercent": "VM_MEMORY_OVERHEAD_PERCENT",
    "interruptionQueue": "INTERRUPTION_QUEUE",
    "enableZonalShift": "ENABLE_ZONAL_SHIFT",
    "reservedENIs": "RESERVED_ENIS",
    "ignoreDRARequests": "IGNORE_DRA_REQUESTS",
    "disableClusterStateObservability": "DISABLE_CLUSTER_STATE_OBSERVABILITY",
    "disableDryRun": "DISABLE_DRY_RUN",
    "amiRefreshInterval": "AMI_REFRESH_INTERVAL",
    "subnetRefreshInterval": "SUBNET_REFRESH_INTERVAL",
}
_POWERS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def variables(values: Mapping[str, Any], namespace: str) -> dict[str, str]:
    """Return the variables of the chart's container for these values."""
    settings, controller = values.get("settings", {}), values.get("controller", {})
    found = {"SYSTEM_NAMESPACE": namespace, "KARPENTER_SERVICE": "karpenter"}
    if "logLevel" in values:
        found["LOG_LEVEL"] = str(values["logLevel"])
    for key, name in _OF_SETTINGS.items():
        if key in settings:
            found[name] = _text(settings[key])
    if gates := settings.get("featureGates"):
        found["FEATURE_GATES"] = ",".join(
            f"{key[0].upper()}{key[1:]}={_text(value)}" for key, value in sorted(gates.items())
        )
    found |= dict(_resources(controller.get("resources", {})))
    found |= {each["name"]: _text(each["value"]) for each in controller.get("env", [])}
    return found


def _resources(resources: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    cpu = str(resources.get("requests", {}).get("cpu", ""))
    if cpu:
        milli = cpu.removesuffix("m") if cpu.endswith("m") else float(cpu) * 1000
        yield "CPU_REQUESTS", str(int(milli))
    memory = re.fullmatch(r"(\d+)(|Ki|Mi|Gi)", str(resources.get("limits", {}).get("memory", "")))
    if memory:
        yield "MEMORY_LIMIT", str(int(memory[1]) * _POWERS[memory[2]])


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
