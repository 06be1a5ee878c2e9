"""Prometheus and Grafana as their pinned chart, with the fleet's rules and dashboard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, Secret
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.platform.monitoring import values
from components.platform.monitoring.alerts import groups
from components.platform.monitoring.cost import PoolGpus
from components.platform.monitoring.dashboard import dashboard_json
from components.platform.monitoring.idle_alerts import IdleLimits
from components.platform.monitoring.monitors import monitors
from components.platform.monitoring.values import KEY, KEY_SECRET
from policies.configuration import ConfiguredRule
from policies.gates import alerts
from policies.gates.prometheus_rule import prometheus_rule
from settings.names import MONITORING_NAMESPACE, POD_SECURITY
from settings.versions import KUBE_PROMETHEUS_STACK


@dataclass(frozen=True, kw_only=True)
class MonitoringArgs:
    """The GPU pools by name, and the rules as the environment sets them, for their alerts.

    The series lie on a volume of `storage_class` with `storage_gib` GiB: without one, each restart
    would forget the cost of the branches.
    """

    pools: Mapping[str, PoolGpus]
    rules: Sequence[ConfiguredRule]
    storage_class: str
    ends: Mapping[str, date] = field(default_factory=dict)
    """The last day of support of each version on the machines."""
    storage_gib: int = 100
    pagerduty_routing_key: pulumi.Input[str] | None = field(default=None, repr=False)
    """Of an integration with the Events API v2; None pages nobody."""

    def __post_init__(self) -> None:
        if self.storage_gib < 1:
            raise ValueError(f"storage_gib is {self.storage_gib}; allowed: 1 or more.")


class Monitoring(pulumi.ComponentResource):
    """kube-prometheus-stack, its PrometheusRules, one dashboard, and monitors of other charts."""

    release: Release

    def __init__(
        self, name: str, args: MonitoringArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Monitoring", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        space = Namespace(
            f"{name}-namespace",
            # the node exporter shares the network and the processes of its host
            metadata=ObjectMetaArgs(
                name=MONITORING_NAMESPACE,
                labels={POD_SECURITY: "privileged"},
            ),
            # with it goes the volume of Prometheus, and with that the history of usage and cost
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        key = args.pagerduty_routing_key
        secrets = [] if key is None else [_routing_key(f"{name}-pagerduty", space, key, child)]
        self.release = Release(
            f"{name}-release",
            name=KUBE_PROMETHEUS_STACK.name,
            namespace=space.metadata.name,
            chart=KUBE_PROMETHEUS_STACK.name,
            version=KUBE_PROMETHEUS_STACK.version,
            repository_opts=RepositoryOptsArgs(repo=KUBE_PROMETHEUS_STACK.repository),
            values=values.values(
                storage_class=args.storage_class,
                storage_gib=args.storage_gib,
                paged=key is not None,
            ),
            timeout=1200,  # a volume is made and attached, and its images are large
            # its values name the Secret, which is no edge of the graph
            opts=pulumi.ResourceOptions(parent=self, depends_on=secrets),
        )
        # the API server knows these kinds only once the chart has brought their CRDs
        after_crds = pulumi.ResourceOptions(parent=self, depends_on=[self.release])
        own = groups(args.pools, IdleLimits.of(args.rules), args.ends)
        for suffix, manifest in (
            ("rules", prometheus_rule("gpu-fleet", MONITORING_NAMESPACE, own)),
            (alerts.NAME, alerts.manifest(args.rules, namespace=MONITORING_NAMESPACE)),
            *monitors(MONITORING_NAMESPACE).items(),
        ):
            CustomResource(
                f"{name}-{suffix}",
                api_version=manifest["apiVersion"],
                kind=manifest["kind"],
                metadata=manifest["metadata"],
                spec=manifest["spec"],
                opts=after_crds,
            )
        ConfigMap(
            f"{name}-dashboard",
            metadata=ObjectMetaArgs(
                name="gpu-fleet-dashboard",
                namespace=space.metadata.name,
                labels={values.DASHBOARD_LABEL: values.DASHBOARD_LABEL_VALUE},
            ),
            data={"gpu-fleet.json": dashboard_json()},
            opts=child,
        )
        self.register_outputs({"version": KUBE_PROMETHEUS_STACK.version})


def _routing_key(
    name: str, space: Namespace, key: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> Secret:
    return Secret(
        name,
        metadata=ObjectMetaArgs(name=KEY_SECRET, namespace=space.metadata.name),
        string_data={KEY: pulumi.Output.secret(key)},
        opts=opts,
    )
