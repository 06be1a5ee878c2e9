"""The CapacityBuffers of a gang and their PodTemplates: as many pods as wait, of their shapes.

Karpenter takes a buffer's pods for pods that wait. Those of the gang itself it does not see: the
first term of their node affinity excludes its machines, and Karpenter 1.14.1 ignores a waiting pod
whose first term does (pkg/controllers/provisioning/provisioner.go,
validateKarpenterManagedLabelCanExist; pkg/scheduling/requirements.go, newPodRequirements). A
scheduler reads all terms. So it counts the gang once and whole, whatever Volcano says of each pod.
Of a node that it drains it counts the pods by each term (preferences.go,
removeRequiredNodeAffinityTerm); what it makes for these is on its way when their gang waits.

A buffer that only keeps machines names them. No new machine has such a name, so none is made even
while the gang starts and its pods take the place of the buffer's.
"""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from workloads.controllers.gang_buffer.gang import Gang
from workloads.controllers.pool_domains.domain import HOSTNAME, POOL

MANAGER = "fleet-gang-buffer"
GANG = "fleet.gpu/gang"
BUFFER = "autoscaling.x-k8s.io/v1beta1"
_ACCESS = "kube-api-access-"
_OF_POD = (
    *("affinity", "nodeName", "hostname", "subdomain", "schedulerName"),
    "ephemeralContainers",
)
_OF_PROGRAM = ("env", "envFrom", "command", "args")
"""What a container runs. Volcano's plugins write the number of each pod into it, which would make a
buffer of each; and it may have secrets, which a template is not the place for."""


def manifests(
    gang: Gang, pools: Sequence[str], keeps: Sequence[str]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return a PodTemplate and a CapacityBuffer for each shape of a gang's pods."""
    alike: dict[str, list[Mapping[str, Any]]] = {}
    for pod in gang.lacking:
        template = _template(pod, pools, keeps)
        alike.setdefault(json.dumps(template, sort_keys=True), []).append(template)
    found = []
    for number, templates in enumerate(alike.values()):
        metadata = _metadata(gang, number)
        template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata}
        spec = {"podTemplateRef": {"name": metadata["name"]}, "replicas": len(templates)}
        buffer = {"apiVersion": BUFFER, "kind": "CapacityBuffer", "metadata": metadata}
        found.append(({**template, "template": templates[0]}, {**buffer, "spec": spec}))
    return found


def _metadata(gang: Gang, number: int) -> dict[str, Any]:
    of_gang = gang.group["metadata"]
    owner = {
        "apiVersion": gang.group.get("apiVersion", "scheduling.volcano.sh/v1beta1"),
        "kind": "PodGroup",
        "name": gang.name,
        "uid": of_gang["uid"],
        "controller": True,
    }
    return {
        "name": f"gang-{of_gang['uid']}-{number}",
        "namespace": of_gang["namespace"],
        "labels": {GANG: of_gang["uid"]},
        "ownerReferences": [owner],
    }


def _template(pod: Mapping[str, Any], pools: Sequence[str], keeps: Sequence[str]) -> dict[str, Any]:
    """Return the shape of a pod, for the machines of the pools, or for those alone."""
    spec = deepcopy({key: pod["spec"][key] for key in pod["spec"] if key not in _OF_POD})
    spec["volumes"] = [each for each in spec.get("volumes") or () if not _is_access(each)]
    for container in (*spec["containers"], *(spec.get("initContainers") or ())):
        for key in _OF_PROGRAM:
            container.pop(key, None)
        mounts = container.get("volumeMounts") or ()
        container["volumeMounts"] = [each for each in mounts if not _is_access(each)]
    wanted = [{"key": POOL, "operator": "In", "values": list(pools)}]
    if keeps:
        wanted.append({"key": HOSTNAME, "operator": "In", "values": list(keeps)})
    terms = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
    spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    kept = ("annotations", "labels")
    return {
        "metadata": {key: _of_job(pod["metadata"].get(key) or {}) for key in kept},
        "spec": spec,
    }


def _of_job(said: Mapping[str, str]) -> dict[str, str]:
    """Return labels or annotations without those of Volcano, which number a job's pods."""
    return {key: text for key, text in said.items() if "volcano.sh/" not in key}


def _is_access(volume: Mapping[str, Any]) -> bool:
    return str(volume["name"]).startswith(_ACCESS)
