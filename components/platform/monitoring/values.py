"""The values of kube-prometheus-stack, and what else Prometheus scrapes."""

from components.platform.monitoring import names
from components.platform.monitoring.alertmanager import alertmanager
from components.platform.monitoring.rules import Manifest
from components.platform.node_check_pod import TEXTFILES

RETENTION_DAYS = 45
"""Longer than the 30 days over which a branch's cost is added up."""
_FILL_PERCENT = 80
"""Share of the volume that blocks may fill; the rest is for the write-ahead log and compaction."""

DASHBOARD_LABEL, DASHBOARD_LABEL_VALUE = "grafana_dashboard", "1"
"""The label by which Grafana's sidecar finds dashboards in ConfigMaps."""
DATASOURCE_UID = "prometheus"

_MOUNTS = "^/(dev|proc|sys|run/containerd/.+|var/lib/docker/.+|var/lib/kubelet/.+)($|/)"
_FILESYSTEMS = (
    "autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|fusectl|hugetlbfs|iso9660|"
    "mqueue|nsfs|overlay|proc|procfs|pstore|rpc_pipefs|securityfs|selinuxfs|squashfs|sysfs|tracefs|"
    "erofs"
)
_NODE_EXPORTER_ARGUMENTS = (
    # the chart's own two, which our list replaces
    f"--collector.filesystem.mount-points-exclude={_MOUNTS}",
    f"--collector.filesystem.fs-types-exclude=^({_FILESYSTEMS})$",
    # what each NUMA node holds and where pages went; off by default
    "--collector.meminfo_numa",
    # the default without the last word has no numa_* field
    "--collector.vmstat.fields=^(oom_kill|pgpg|pswp|pg.*fault|numa_).*",
    # what fleet-node-check found
    f"--collector.textfile.directory={TEXTFILES}",
)


def values(*, storage_class: str, storage_gib: int, paged: bool) -> dict[str, object]:
    """The chart's values; the volume keeps the series over a restart, or costs would be lost."""
    return {
        "prometheus": {"prometheusSpec": _prometheus(storage_class, storage_gib)},
        "alertmanager": alertmanager(paged=paged),
        "kube-state-metrics": {
            "metricLabelsAllowlist": [
                f"pods=[{','.join(names.POD_LABELS.values())}]",
                f"nodes=[{','.join(names.NODE_LABELS.values())}]",
            ],
        },
        "prometheus-node-exporter": _node_exporter(),
        "grafana": {
            "sidecar": {
                "dashboards": {
                    "enabled": True,
                    "label": DASHBOARD_LABEL,
                    "labelValue": DASHBOARD_LABEL_VALUE,
                },
                "datasources": {"uid": DATASOURCE_UID},
            }
        },
        # kubeadm lets these four serve their metrics on the loopback address alone: their targets
        # would be down for ever, and an alert for each would fire
        **{
            component: {"enabled": False}
            for component in ("kubeControllerManager", "kubeScheduler", "kubeEtcd", "kubeProxy")
        },
    }


def _node_exporter() -> dict[str, object]:
    node_of_its_pod = {
        "action": "replace",
        "sourceLabels": ["__meta_kubernetes_pod_node_name"],
        "targetLabel": names.NUMA_SCRAPE_NODE,
    }
    return {
        "extraArgs": list(_NODE_EXPORTER_ARGUMENTS),
        # made where it is missing: on a machine without fleet-node-check, such as a server of the
        # control plane, the chart's alert NodeTextFileCollectorScrapeError would never end
        "extraHostVolumeMounts": [
            {
                "name": "textfiles",
                "hostPath": TEXTFILES,
                "type": "DirectoryOrCreate",
                "mountPath": TEXTFILES,
                "readOnly": True,
            }
        ],
        "prometheus": {"monitor": {"relabelings": [node_of_its_pod]}},
    }


def _prometheus(storage_class: str, storage_gib: int) -> dict[str, object]:
    return {
        "retention": f"{RETENTION_DAYS}d",
        "retentionSize": f"{storage_gib * _FILL_PERCENT // 100}GiB",
        "storageSpec": {
            "volumeClaimTemplate": {
                "spec": {
                    "storageClassName": storage_class,
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": f"{storage_gib}Gi"}},
                }
            }
        },
        # By default only monitors and rules with the label release=<name> are seen, and one that
        # lacks it is missing without a word. Now all are, and whoever may create a ServiceMonitor
        # in a namespace decides what is scraped there.
        **{
            f"{kind}SelectorNilUsesHelmValues": False
            for kind in ("serviceMonitor", "podMonitor", "rule")
        },
    }


def volcano_service_monitor(namespace: str) -> Manifest:
    """How Volcano's queues are scraped: its chart makes Services, and no monitor."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "volcano", "namespace": namespace},
        "spec": {
            "namespaceSelector": {"matchNames": ["volcano-system"]},
            "selector": {
                "matchExpressions": [
                    {
                        "key": "app",
                        "operator": "In",
                        "values": ["volcano-scheduler", "volcano-controller"],
                    }
                ]
            },
            "endpoints": [{"port": "metrics", "interval": "30s"}],
        },
    }
