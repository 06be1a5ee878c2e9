"""A HyperNode of Volcano for each pool, so that a gang runs whole in one pool or waits.

fleet-pool-domains, one small pod beside Volcano, keeps machines that cannot take work out of them.
In the API it may list nodes, and read and patch the HyperNodes of these pools. While it is away the
HyperNodes stay as they are, and new machines belong to them still. Why so: docs/decisions/0005.
"""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import ConfigMap, PodSpecArgsDict, ServiceAccount
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, PolicyRuleArgsDict

from settings.names import POOL_LABEL, PREFIX, VOLCANO_NAMESPACE
from settings.versions import PYTHON_IMAGE
from workloads.controllers.pool_domains.domain import MANAGER, hyper_node
from workloads.controllers.pool_domains.program import FILE, program

NAME = MANAGER
TIER = 1
"""The tier of a pool: a job allows it as the highest with `networkTopology`."""
_PROGRAM = "/program"


@dataclass(frozen=True, kw_only=True)
class PoolDomainsArgs:
    """The pools with GPUs by name. `crds` brings Volcano's kinds and its namespace."""

    pools: Iterable[str]
    crds: pulumi.Resource


class PoolDomains(pulumi.ComponentResource):
    """A HyperNode for each pool, of whatever nodes bear its label now and can take work.

    A job that allows this tier and no higher is tried on a pool only if the idle resources of the
    whole pool hold it, and on no two pools together.
    """

    def __init__(
        self, name: str, args: PoolDomainsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:PoolDomains", name, None, opts)
        pools = sorted(args.pools)
        after_crds = pulumi.ResourceOptions(parent=self, depends_on=[args.crds])
        # the program writes into the list who cannot take work
        written = pulumi.ResourceOptions.merge(
            after_crds, pulumi.ResourceOptions(ignore_changes=["spec.members"])
        )
        for pool in pools:
            labelled = {"labelMatch": {"matchLabels": {POOL_LABEL: pool}}}
            CustomResource(
                f"{name}-{pool}",
                api_version="topology.volcano.sh/v1alpha1",
                kind="HyperNode",
                metadata=ObjectMetaArgs(name=hyper_node(pool)),
                spec={"tier": TIER, "members": [{"type": "Node", "selector": labelled}]},
                opts=written,
            )
        if pools:
            _program(name, pools, after_crds)
        self.register_outputs({})


def _program(name: str, pools: list[str], opts: pulumi.ResourceOptions) -> None:
    """Register the program with its account and rights, in Volcano's namespace."""
    content = program()
    digest = hashlib.sha256(content).hexdigest()[:8]
    code = ConfigMap(
        f"{name}-program",
        # another program is another name, so that the pod is replaced
        metadata=ObjectMetaArgs(name=f"{NAME}-{digest}", namespace=VOLCANO_NAMESPACE),
        immutable=True,
        binary_data={FILE: base64.b64encode(content).decode()},
        opts=opts,
    )
    account = ServiceAccount(
        f"{name}-account",
        metadata=ObjectMetaArgs(name=NAME, namespace=VOLCANO_NAMESPACE),
        opts=opts,
    )
    _rights(name, pools, account, opts)
    labelled = {f"{PREFIX}/program": NAME}
    Deployment(
        f"{name}-pod",
        metadata=ObjectMetaArgs(name=NAME, namespace=VOLCANO_NAMESPACE),
        spec={
            "replicas": 1,
            "selector": {"match_labels": labelled},
            "template": {
                "metadata": {"labels": labelled},
                "spec": pod(PYTHON_IMAGE, code.metadata["name"], pools),
            },
        },
        opts=opts,
    )


def rules(pools: Iterable[str]) -> list[PolicyRuleArgsDict]:
    """Return the rights of the program: nodes to list, and the HyperNodes of these pools."""
    return [
        {"api_groups": [""], "resources": ["nodes"], "verbs": ["list"]},
        {
            "api_groups": ["topology.volcano.sh"],
            "resources": ["hypernodes"],
            "resource_names": [hyper_node(pool) for pool in pools],
            "verbs": ["get", "patch"],
        },
    ]


def _rights(
    name: str, pools: list[str], account: ServiceAccount, opts: pulumi.ResourceOptions
) -> None:
    metadata = ObjectMetaArgs(name=NAME)
    role = ClusterRole(f"{name}-role", metadata=metadata, rules=rules(pools), opts=opts)
    ClusterRoleBinding(
        f"{name}-role-binding",
        metadata=metadata,
        role_ref={
            "api_group": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role.metadata["name"],
        },
        subjects=[
            {
                "kind": "ServiceAccount",
                "name": account.metadata["name"],
                "namespace": account.metadata["namespace"],
            }
        ],
        opts=opts,
    )


def pod(image: str, code: pulumi.Input[str], pools: list[str]) -> PodSpecArgsDict:
    """Return the spec of the pod; `code` is the name of the ConfigMap with the program."""
    return {
        "service_account_name": NAME,
        "priority_class_name": "system-cluster-critical",
        "security_context": {
            "run_as_non_root": True,
            "run_as_user": 65534,
            "seccomp_profile": {"type": "RuntimeDefault"},
        },
        "termination_grace_period_seconds": 5,
        "containers": [
            {
                "name": "pool-domains",
                "image": image,
                "command": ["python3", "-I", f"{_PROGRAM}/{FILE}", *pools],
                "security_context": {
                    "allow_privilege_escalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "read_only_root_filesystem": True,
                },
                # the list of a thousand nodes is some 15 MB of JSON
                "resources": {
                    "requests": {"cpu": "10m", "memory": "128Mi"},
                    "limits": {"memory": "512Mi"},
                },
                "volume_mounts": [{"name": "program", "mount_path": _PROGRAM, "read_only": True}],
            }
        ],
        "volumes": [{"name": "program", "config_map": {"name": code}}],
    }
