"""A Job of Volcano asks for what its limits say, as every pod does.

Of a pod the API server takes a limit for the request that is not there; of the pods in a Job of
Volcano, a kind that it does not know, it does not. Volcano 1.14.1 adds up the requests alone
(pkg/controllers/util/util.go, GetPodQuotaUsage: a quota of GPUs is one of requests). A gang that
names its GPUs in `limits`, as most do, would need none: no quota would hold it back, and no pool
would be too small for it. So this policy writes the requests into each new Job of a queue.

An API server takes a MutatingAdmissionPolicy of version v1 since Kubernetes 1.36; before that,
whoever writes the Job names them.
"""

import pulumi
from pulumi_kubernetes.admissionregistration.v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
)
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from settings.names import PREFIX

NAME = "fleet-gang-requests"
_SINCE = (1, 36)
_CONTAINER = "'/spec/tasks/' + string(i) + '/template/spec/' + l + '/' + string(j)"
_MISSING = (
    "c.?resources.?limits.orValue({}).map(k, k).filter(k, !c.?resources.?requests[?k].hasValue())"
)
_NONE = (
    "(c.?resources.?limits.hasValue() && !c.?resources.?requests.hasValue() ? "
    f"[JSONPatch{{op: 'add', path: {_CONTAINER} + '/resources/requests', value: {{}}}}] : [])"
)
_EACH = (
    f"{_MISSING}.map(k, JSONPatch{{op: 'add', "
    f"path: {_CONTAINER} + '/resources/requests/' + jsonpatch.escapeKey(k), "
    "value: c.resources.limits[k]})"
)
_PATCHES = (
    "object.spec.?tasks.orValue([]).transformList(i, t, "
    "['containers', 'initContainers'].map(l, "
    f"t.?template.?spec[?l].orValue([]).transformList(j, c, {_NONE} + {_EACH})"
    ".flatten()).flatten()).flatten()"
)


def is_known_to(kubernetes: str) -> bool:
    """Return whether an API server of this release takes the policy."""
    return tuple(map(int, kubernetes.split(".")[:2])) >= _SINCE


def gang_requests(name: str, opts: pulumi.ResourceOptions) -> None:
    """Register the policy for the namespaces of queues."""
    MutatingAdmissionPolicy(
        f"{name}-requests",
        metadata=ObjectMetaArgs(name=NAME),
        spec={
            "failure_policy": "Fail",
            "reinvocation_policy": "Never",
            "match_constraints": {
                "namespace_selector": {
                    "match_expressions": [{"key": f"{PREFIX}/team", "operator": "Exists"}]
                },
                "resource_rules": [
                    {
                        "api_groups": ["batch.volcano.sh"],
                        "api_versions": ["v1alpha1"],
                        "operations": ["CREATE"],
                        "resources": ["jobs"],
                    }
                ],
            },
            "mutations": [{"patch_type": "JSONPatch", "json_patch": {"expression": _PATCHES}}],
        },
        opts=opts,
    )
    MutatingAdmissionPolicyBinding(
        f"{name}-requests-bound",
        metadata=ObjectMetaArgs(name=NAME),
        spec={"policy_name": NAME},
        opts=opts,
    )
