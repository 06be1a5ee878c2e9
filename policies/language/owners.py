"""Whose word on who owns an object counts, and what follows from it.

`ownerReferences` are written by whoever writes the object. At the API server they are believed
where the request comes from a controller: one of kube-controller-manager's, Volcano's, a known
operator's, or a user whom the environment lists (`facts.controllers`); or where an update leaves
them, the labels, the annotations and all that rules judge by as they were, so that what was judged
when it was made is no other thing now. At check an owner is believed that is in the same input and
makes objects of the kind, and at preview none is: the gates take the other references away before a
rule sees them (`believed`).

An object that another one makes was judged in that one's place, if that is of a listed kind.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import cast

from policies.language.manifest import at, items
from policies.language.pod_kinds import KUBEFLOW, SERVICES, SHIPPED, group_kind
from policies.language.rule import Manifest
from settings.names import KUBE_SYSTEM, VOLCANO_NAMESPACE
from settings.operators import OPERATORS

# the roles system:controller:* of Kubernetes v1.36.3, plugin/pkg/auth/authorizer/rbac/
# bootstrappolicy/controller_policy.go, whose controllers make pods or what makes pods
_OF_KUBERNETES = (
    *("cronjob-controller", "daemon-set-controller", "deployment-controller", "job-controller"),
    *("replicaset-controller", "replication-controller", "statefulset-controller"),
)
CONTROLLERS = (
    "system:kube-controller-manager",  # where it does not use an account for each controller
    *(f"system:serviceaccount:{KUBE_SYSTEM}:{name}" for name in _OF_KUBERNETES),
    f"system:serviceaccount:{VOLCANO_NAMESPACE}:volcano-controllers",
    *OPERATORS,
)
"""The users of controllers that make pods in every fleet."""
_LISTED = tuple(dict.fromkeys((each.group, each.kind) for each in SHIPPED))
_KINDS = {kind for _, kind in _LISTED}
_MAKES: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("ReplicaSet",),
    **dict.fromkeys(("DaemonSet", "ReplicaSet", "ReplicationController", "StatefulSet"), ("Pod",)),
    **dict.fromkeys(("CronJob", "JobSet", "ScaledJob"), ("Job",)),
    **dict.fromkeys(("Job", "Workflow", *KUBEFLOW), ("Pod",)),
    "MPIJob": ("Job", "Pod"),
    "CronWorkflow": ("Workflow",),
    **dict.fromkeys(("LeaderWorkerSet", "Notebook", "Pod"), ("StatefulSet",)),  # a Pod that leads
    "RayCluster": ("Job", "Pod"),
    "RayJob": ("Job", "RayCluster"),
    "RayService": ("RayCluster",),
    "RayCronJob": ("RayJob",),
    "DisaggregatedSet": ("LeaderWorkerSet",),
    "TrainJob": ("JobSet",),
}
"""What makes pods, and of that, the kinds that it makes: what an owner of another kind is no proof
of."""
_SERVICES = {
    *((each.group, each.kind) for each in SHIPPED if each.service),
    *(("serving.kserve.io", kind) for kind in SERVICES if kind not in _KINDS),
}
_GROUPS_OF = {kind: {each.group for each in SHIPPED if each.kind == kind} for kind in _MAKES}
_REFERENCES = "ownerReferences"


def makes(owner: object, manifest: Manifest) -> bool:
    """Return whether an object, or what refers to it, is of a kind that makes those of another.

    Of kinds that nobody has listed it may be so.
    """
    (group, kind), made = group_kind(owner), manifest.get("kind")
    if kind not in _MAKES or made not in _KINDS:
        return True
    return made in _MAKES[kind] and group in _GROUPS_OF[kind]


def believed(manifest: Manifest, there: Collection[tuple[str, str, str, str]]) -> Manifest:
    """Return an object with the owners that are there, by their `key`, and make such objects."""
    found = manifest.get("metadata")
    # by type alone: whatever is not known yet stays, and holds up the rules that read it
    metadata = cast("dict[str, object]", found) if type(found) is dict else {}
    owners = metadata.get(_REFERENCES)
    if type(owners) is not list:
        return manifest
    namespace = str(metadata.get("namespace") or "") if there else ""
    kept = [
        owner
        for owner in (owners if there else ())
        if makes(owner, manifest)
        and any(
            (*group_kind(owner), where, str(at(owner, "name"))) in there
            for where in (namespace, "")
        )
    ]
    return {**manifest, "metadata": {**metadata, _REFERENCES: kept}}


def key(manifest: Manifest) -> tuple[str, str, str, str]:
    """What an object is known by among others: group, kind, namespace and name."""
    metadata = manifest.get("metadata")
    return (
        *group_kind(manifest),
        str(at(metadata, "namespace") or ""),
        str(at(metadata, "name") or ""),
    )


def is_owned_pod(manifest: Manifest) -> bool:
    """Return whether another object of a listed kind made this, and was judged in its place."""
    return any(group_kind(owner) in _LISTED for owner in _owners(manifest))


def is_service(manifest: Manifest) -> bool:
    """Return whether this is not meant to end: a service, or a Pod of one."""
    if manifest.get("kind") == "Pod":
        return any(map(_serves, _owners(manifest)))
    return _serves(manifest)


def _serves(found: object) -> bool:
    """Return whether an object, or what refers to it, is of a kind of services.

    What has no API version, as in Pulumi, is taken by its kind.
    """
    kind = at(found, "kind")
    if at(found, "apiVersion") is None:
        return kind in SERVICES
    return group_kind(found) in _SERVICES


def _owners(manifest: Manifest) -> Sequence[object]:
    return items(at(manifest, "metadata", _REFERENCES))


_SAID = {_REFERENCES: "[]", "labels": "{}", "annotations": "{}"}
OWNERS = f"object.metadata.?{_REFERENCES}.orValue([])"
"""CEL: the owners of an object, as it says."""
_LISTED_USER = "request.userInfo.username in variables.controllers"
_SUBRESOURCE = "request.?subResource.orValue('')"
_COUNTS = ("replicas", "parallelism", "suspend", "paused")
"""Fields of a spec that say how many pods run, and not which."""
_OF_PODS = ("ephemeralContainers", "schedulingGates")
"""Fields of a pod that say nothing of its GPUs, its node or its end."""
_GROUPS = "workerGroupSpecs"  # KubeRay's autoscaler writes how many pods each has, as the cluster


def _same(field: str) -> str:
    return f"dyn(object)[?{field}].orValue(null) == dyn(oldObject)[?{field}].orValue(null)"


def _cel_groups(holder: str) -> str:
    return f"{holder}.spec.{_GROUPS}.map(g, [g.?groupName, g.?template])"


_SPECS = "[dyn(object).?spec.orValue({}), dyn(oldObject).?spec.orValue({})]"
_KEPT = (
    "(dyn(object).map(k, k) + dyn(oldObject).map(k, k))"
    f".all(k, k in ['metadata', 'spec', 'status'] || {_same('k')}) && "
    f"[{_SPECS}].all(s, (s[0].map(k, k) + s[1].map(k, k)).all(k, "
    f"k in {list(_COUNTS)} || object.kind == 'Pod' && k in {list(_OF_PODS)} || "
    f"k == '{_GROUPS}' && k in s[0] && k in s[1] && "
    f"{_cel_groups('dyn(object)')} == {_cel_groups('dyn(oldObject)')} || "
    "s[0][?k].orValue(null) == s[1][?k].orValue(null)))"
)
VOUCHED = (
    f"{_LISTED_USER} || "
    "(request.operation == 'UPDATE' && oldObject != null && "
    + " && ".join(
        f"object.metadata.?{field}.orValue({none}) == oldObject.metadata.?{field}.orValue({none})"
        for field, none in _SAID.items()
    )
    + f" && ({_SUBRESOURCE} == 'resize' || {_KEPT}))"
)
"""CEL: whether what an object says of its owners is believed."""
VOUCHED_AS_A_WHOLE = f"(variables.vouched && ({_LISTED_USER} || {_SUBRESOURCE} == ''))"
"""CEL: the same of what is exempt with its owner, which a container put into it is not."""
_GROUP = "(o.apiVersion.contains('/') ? o.apiVersion.split('/')[0] : '')"
_KNOWN = [f"{group}/{kind}" for group, kind in _LISTED]
IS_OWNED_POD = (
    f"({OWNERS}.exists(o, [{_GROUP} + '/' + o.kind].exists(k, k in {_KNOWN} || "
    "k in variables.declaredKinds)) && variables.vouched)"
)
"""CEL: `is_owned_pod`."""
_PLURALS = [f"{each.group}/{each.resource}" for each in SHIPPED if each.service]
IS_SERVICE = (
    f"(variables.resource in {_PLURALS} || object.kind in variables.declaredServices || "
    f"(object.kind == 'Pod' && {OWNERS}.exists(o, o.kind in {list(SERVICES)} || "
    "o.kind in variables.declaredServices) && variables.vouched))"
)
"""CEL: `is_service`."""
