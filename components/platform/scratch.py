"""The storage class `scratch`: a directory of the local NVMe drives for the life of one pod.

A pod asks for it by a generic ephemeral volume, since no pod may mount a path of its host:

    volumes:
      - name: scratch
        ephemeral:
          volumeClaimTemplate:
            spec:
              accessModes: [ReadWriteOnce]
              storageClassName: scratch
              resources: {requests: {storage: 1Ti}}

The directory is made below /scratch when the scheduler has chosen the node, and goes with the pod.
The size is not enforced: a pod may fill half of the array. Why this way: docs/decisions/0020. The
objects are those of local-path-provisioner 0.0.37 (deploy/local-path-storage.yaml).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import yaml
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import (
    ConfigMap,
    ContainerArgsDict,
    Namespace,
    PodSpecArgsDict,
    ServiceAccount,
    TopologySelectorTermArgsDict,
)
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict
from pulumi_kubernetes.storage.v1 import StorageClass

from components.platform.rights import grant
from settings.names import (
    POD_SECURITY,
    POOL_LABEL,
    PROGRAM_LABEL,
    SCRATCH_CLASS,
    SCRATCH_NAMESPACE,
    SCRATCH_PATH,
)
from settings.versions import LOCAL_PATH_IMAGE, PYTHON_IMAGE

NAME = "fleet-scratch"
PROVISIONER = "fleet.gpu/scratch"
_READ = ["get", "list", "watch"]
_WRITE = [*_READ, "create", "patch", "update", "delete"]
IN_CLUSTER: list[PolicyRuleArgsDict] = [
    {
        "api_groups": [""],
        "resources": ["nodes", "persistentvolumeclaims", "configmaps", "pods", "pods/log"],
        "verbs": _READ,
    },
    {"api_groups": [""], "resources": ["persistentvolumes"], "verbs": _WRITE},
    {"api_groups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    {"api_groups": ["storage.k8s.io"], "resources": ["storageclasses"], "verbs": _READ},
]
IN_NAMESPACE: list[PolicyRuleArgsDict] = [
    {"api_groups": [""], "resources": ["pods"], "verbs": _WRITE}
]


@dataclass(frozen=True, kw_only=True)
class ScratchArgs:
    """The pools whose machines have local drives beside the system's, by name."""

    pools: Sequence[str]


class Scratch(pulumi.ComponentResource):
    """The storage class, and the controller that makes and removes its directories."""

    def __init__(
        self, name: str, args: ScratchArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Scratch", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        space = Namespace(
            f"{name}-namespace",
            metadata=ObjectMetaArgs(
                name=SCRATCH_NAMESPACE,
                # the pods that make a directory mount the host's
                labels={POD_SECURITY: "privileged"},
            ),
            opts=child,
        )
        here = ObjectMetaArgs(name=NAME, namespace=space.metadata.name)
        config = ConfigMap(f"{name}-config", metadata=here, data=configuration(), opts=child)
        account = ServiceAccount(f"{name}-account", metadata=here, opts=child)
        everywhere = ObjectMetaArgs(name=NAME)
        grant(f"{name}-volumes", everywhere, IN_CLUSTER, account, child)
        grant(f"{name}-pods", here, IN_NAMESPACE, account, child)
        labelled = {PROGRAM_LABEL: NAME}
        pools: TopologySelectorTermArgsDict = {
            "match_label_expressions": [{"key": POOL_LABEL, "values": list(args.pools)}]
        }
        Deployment(
            f"{name}-controller",
            metadata=here,
            spec={
                "replicas": 1,
                "selector": {"match_labels": labelled},
                "template": {"metadata": {"labels": labelled}, "spec": _pod()},
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=[config, account]),
        )
        StorageClass(
            f"{name}-class",
            metadata=ObjectMetaArgs(name=SCRATCH_CLASS),
            provisioner=PROVISIONER,
            reclaim_policy="Delete",
            # the directory is made where the pod is put, and Karpenter rents a machine for a pod
            # whose claim has no volume yet; a volume that was there before would count as taken
            # only once another pod has it (karpenter-provider-aws, issue 2244)
            volume_binding_mode="WaitForFirstConsumer",
            allowed_topologies=[pools],
            opts=child,
        )
        self.register_outputs({})


def configuration() -> dict[str, str]:
    """Return the controller's configuration, and the pod that makes or removes a directory.

    Its image is the one of fleet-node-check, which every node has.
    """
    helper = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "helper-pod"},
        "spec": {
            "priorityClassName": "system-node-critical",
            "tolerations": [{"operator": "Exists"}],
            "containers": [
                {
                    "name": "helper-pod",
                    "image": PYTHON_IMAGE,
                    "resources": {
                        "requests": {"cpu": "0", "memory": "16Mi"},
                        "limits": {"memory": "64Mi"},
                    },
                }
            ],
        },
    }
    paths = [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [SCRATCH_PATH]}]
    return {
        "config.json": json.dumps({"nodePathMap": paths}),
        "setup": '#!/bin/sh\nset -eu\nmkdir -m 0777 -p "$VOL_DIR"\n',
        "teardown": '#!/bin/sh\nset -eu\nrm -rf "$VOL_DIR"\n',
        "helperPod.yaml": yaml.safe_dump(helper, sort_keys=False),
    }


def _pod() -> PodSpecArgsDict:
    return {
        "service_account_name": NAME,
        "priority_class_name": "system-cluster-critical",
        "containers": [_container()],
        "volumes": [{"name": "config", "config_map": {"name": NAME}}],
    }


def _container() -> ContainerArgsDict:
    mounted = "/etc/config"
    return {
        "name": "provisioner",
        "image": LOCAL_PATH_IMAGE,
        "command": [
            *("local-path-provisioner", "start"),
            *("--config", f"{mounted}/config.json"),
            *("--provisioner-name", PROVISIONER),
            *("--service-account-name", NAME),
            *("--configmap-name", NAME),
        ],
        "env": [
            {
                "name": "POD_NAMESPACE",
                "value_from": {"field_ref": {"field_path": "metadata.namespace"}},
            },
            {"name": "CONFIG_MOUNT_PATH", "value": f"{mounted}/"},
        ],
        "resources": {
            "requests": {"cpu": "10m", "memory": "64Mi"},
            "limits": {"memory": "256Mi"},
        },
        "volume_mounts": [{"name": "config", "mount_path": mounted}],
    }
