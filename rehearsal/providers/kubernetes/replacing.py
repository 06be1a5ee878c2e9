"""Which changed fields replace an object: those that the API server never changes.

The list is the real provider's (`provider/pkg/provider/diff.go` of pulumi-kubernetes), for the
kinds that a fleet is made of.
"""

from __future__ import annotations

IDENTITY = ("metadata.name", "metadata.namespace")
_WORKLOAD = ("spec.selector",)
_STATEFUL_SET = (
    *("spec.selector", "spec.serviceName", "spec.podManagementPolicy"),
    *("spec.revisionHistoryLimit", "spec.volumeClaimTemplates"),
)
_JOB = ("spec.completions", "spec.parallelism", "spec.selector", "spec.template")
_CLAIM = ("spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName")
_POD = (
    *("spec.affinity", "spec.automountServiceAccountToken", "spec.containers", "spec.dnsConfig"),
    *("spec.dnsPolicy", "spec.hostIPC", "spec.hostNetwork", "spec.hostPID", "spec.hostname"),
    *("spec.imagePullSecrets", "spec.initContainers", "spec.nodeName", "spec.nodeSelector"),
    *("spec.overhead", "spec.preemptionPolicy", "spec.priority", "spec.priorityClassName"),
    *("spec.restartPolicy", "spec.runtimeClassName", "spec.schedulerName"),
    *("spec.securityContext", "spec.serviceAccountName", "spec.subdomain"),
    *("spec.terminationGracePeriodSeconds", "spec.volumes"),
)
_FIELDS = {
    ("apps", "DaemonSet"): _WORKLOAD,
    ("apps", "Deployment"): _WORKLOAD,
    ("apps", "StatefulSet"): _STATEFUL_SET,
    ("batch", "Job"): _JOB,
    ("", "PersistentVolumeClaim"): _CLAIM,
    ("", "Pod"): _POD,
    ("", "ResourceQuota"): ("spec.scopes",),
    ("", "Service"): ("spec.clusterIP",),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef",),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef",),
    ("storage.k8s.io", "StorageClass"): ("parameters", "provisioner"),
}


def replace_on(
    api_version: str, kind: str, *, mutable_config_maps: bool, mutable_secrets: bool
) -> tuple[str, ...]:
    """The property paths whose change replaces an object of the kind.

    Unless the provider is told that they are mutable, changed contents replace a ConfigMap or a
    Secret, so that whoever refers to it by its name is rolled over.
    """
    group = api_version.rpartition("/")[0]
    fields = _FIELDS.get((group, kind), ())
    if (group, kind) == ("", "Secret"):
        fields = ("type",) if mutable_secrets else ("type", "stringData", "data")
    if (group, kind) == ("", "ConfigMap") and not mutable_config_maps:
        fields = ("binaryData", "data")
    return (*IDENTITY, *fields)
