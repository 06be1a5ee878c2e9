"""A HyperNode of Volcano for each pool, so that a gang runs whole in one pool or waits.

fleet-pool-domains, one small pod beside Volcano, keeps machines that cannot take work out of them.
In the API it may list nodes, and read and patch the HyperNodes of these pools. While it is away the
HyperNodes stay as they are, and new machines belong to them still. Why so: docs/decisions/0005.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import ContainerArgsDict, ServiceAccount
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict

from components.platform import controller_pod
from components.platform.controller_pod import Program
from components.platform.rights import grant
from settings.names import POOL_LABEL, VOLCANO_NAMESPACE
from settings.versions import PYTHON_IMAGE
from workloads.controllers.pool_domains.domain import MANAGER, hyper_node
from workloads.controllers.pool_domains.program import FILE, program

NAME = MANAGER
TIER = 1
"""The tier of a pool: a job allows it as the highest with `networkTopology`."""


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
    here = ObjectMetaArgs(name=NAME, namespace=VOLCANO_NAMESPACE)
    domains = Program(name=NAME, file=FILE, content=program())
    code = controller_pod.config_map(name, domains, VOLCANO_NAMESPACE, opts)
    account = ServiceAccount(f"{name}-account", metadata=here, opts=opts)
    grant(f"{name}-role", ObjectMetaArgs(name=NAME), rules(pools), account, opts)
    container: ContainerArgsDict = {
        "name": "pool-domains",
        "image": PYTHON_IMAGE,
        "command": [*domains.command, *pools],
        # the list of a thousand nodes is some 15 MB of JSON
        "resources": {
            "requests": {"cpu": "10m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},
        },
    }
    Deployment(
        f"{name}-pod",
        metadata=here,
        spec={
            "replicas": 1,
            "selector": {"match_labels": domains.labels},
            "template": {
                "metadata": {"labels": domains.labels},
                "spec": controller_pod.restricted_pod(domains, code, container),
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
