"""Facts about resource types: the unsupported ones, and the fields whose change replaces.

The fields that replace are the real provider's (`provider/pkg/provider/diff.go` of
pulumi-kubernetes), for the kinds that a fleet is made of.
"""

import re

_UNSUPPORTED = (
    (
        re.compile(r"kubernetes:helm\.sh/(?!v3:Release$).*"),
        "a rehearsal has no charts; use helm.sh/v3:Release, which is recorded",
    ),
    (
        re.compile(r"kubernetes:(yaml|kustomize)\b.*"),
        "manifests are not unfolded; register their objects one by one",
    ),
    (
        re.compile(r"kubernetes:.*:\w+Patch"),
        "a patch changes an object of someone else; register the object itself",
    ),
    (
        re.compile(r"kubernetes:.*/v\w+:(?!(Pod|Node)?$)\w+List"),
        "the API server has no lists to create; register their objects one by one",
    ),
)
_IDENTITY = ("metadata.name", "metadata.namespace")
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
_IMMUTABLE_FIELDS = {
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


def why_unsupported(token: str) -> str | None:
    """Why the type or function `token` is refused; None where it is supported."""
    return next((text for pattern, text in _UNSUPPORTED if pattern.fullmatch(token)), None)


def immutable_fields(
    api_version: str,
    kind: str,
    *,
    immutable: bool = False,
    mutable_config_maps: bool,
    mutable_secrets: bool,
) -> tuple[str, ...]:
    """The property paths whose change replaces an object of the kind.

    Changed contents replace a ConfigMap or a Secret, so that pods that name it are rolled over,
    unless the provider is configured to change it in place. One that says `immutable: true` is
    always replaced.
    """
    group = api_version.rpartition("/")[0]
    fields = _IMMUTABLE_FIELDS.get((group, kind), ())
    if (group, kind) == ("", "Secret"):
        in_place = mutable_secrets and not immutable
        fields = ("type",) if in_place else ("type", "stringData", "data")
    if (group, kind) == ("", "ConfigMap") and (immutable or not mutable_config_maps):
        fields = ("binaryData", "data")
    return (*_IDENTITY, *fields)
