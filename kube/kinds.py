"""The kinds of Kubernetes objects that commands and dynamic resources read and write.

lightkube decodes by msgspec, which makes its reader of a type at the first use, and writes it where
another thread already sees it: two threads that decode a type for the first time crash the process
(msgspec 0.22.0). Pulumi's host of dynamic providers serves four calls at a time. So each kind is
decoded once here, as the module is imported, which one thread does. So is the kubeconfig. No other
module may take a kind from lightkube.
"""

from contextlib import suppress

from lightkube import KubeConfig
from lightkube.core import decoders
from lightkube.generic_resource import (
    GenericGlobalResource,
    GenericNamespacedResource,
    create_global_resource,
    create_namespaced_resource,
)
from lightkube.resources.apps_v1 import DaemonSet
from lightkube.resources.batch_v1 import Job
from lightkube.resources.coordination_v1 import Lease
from lightkube.resources.core_v1 import Node, Pod, PodEviction, Secret, Service
from msgspec import ValidationError

__all__ = [
    "KINDS",
    "BareMetalHost",
    "DaemonSet",
    "GenericGlobalResource",
    "GenericNamespacedResource",
    "Job",
    "KubeConfig",
    "Lease",
    "Node",
    "NodeClaim",
    "NodePool",
    "Pod",
    "PodEviction",
    "Secret",
    "Service",
]

NodePool = create_global_resource("karpenter.sh", "v1", "NodePool", "nodepools")
NodeClaim = create_global_resource("karpenter.sh", "v1", "NodeClaim", "nodeclaims")
BareMetalHost = create_namespaced_resource(
    "metal3.io", "v1alpha1", "BareMetalHost", "baremetalhosts"
)

KINDS = (
    BareMetalHost,
    DaemonSet,
    Job,
    Lease,
    Node,
    NodeClaim,
    NodePool,
    Pod,
    PodEviction,
    Secret,
    Service,
)

_KUBECONFIG = {
    "contexts": [{"name": "a", "context": {"cluster": "a"}}],
    "clusters": [{"name": "a", "cluster": {}}],
    "users": [{"name": "a", "user": {"exec": {"apiVersion": "v1", "command": "a", "env": []}}}],
}


def _decode_each_once() -> None:
    KubeConfig.from_dict(_KUBECONFIG)
    decoders.decode_status(b"{}")
    decoders.decode_watch_event(b'{"type": "ADDED", "object": {}}')
    for kind in KINDS:
        decoders.decode_list(b'{"items": [], "metadata": {}}', kind)
        with suppress(ValidationError):  # for want of a spec, by the reader that is there now
            decoders.decode_object(b"{}", kind).metadata  # noqa: B018  # generic ones decode here


_decode_each_once()
