"""The values of kube-prometheus-stack with Alertmanager's routes.

The routing key of PagerDuty lies in a Secret that Alertmanager's pod mounts and reads at each
message, so no values hold it and a new key needs no restart.
"""

from collections.abc import Sequence

from components.platform.monitoring import promql
from components.platform.monitoring.custom_resources import custom_resources
from components.platform.node_check import TEXTFILES
from policies.language.rule import Severity
from settings.names import SITE_LABEL
from settings.versions import BUSYBOX_TAG

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

KEY_SECRET, KEY = "alertmanager-pagerduty", "routing_key"
_KEY_FILE = f"/etc/alertmanager/secrets/{KEY_SECRET}/{KEY}"  # where the operator mounts Secrets
_NOBODY, _PAGER = "nobody", "pagerduty"

_FIRST = "{{ (index .Alerts 0).Annotations.summary }}"
_OTHERS = "{{ if gt (len .Alerts) 1 }} (one of {{ len .Alerts }}){{ end }}"
_RUNBOOKS = (
    "{{ range .Alerts.Firing }}{{ .Annotations.summary }}: {{ .Annotations.runbook }}\n{{ end }}"
)


def values(*, storage_class: str, storage_gib: int, paged: bool) -> dict[str, object]:
    """Returns the chart's values; the volume keeps the series over a restart, with the costs."""
    return {
        # Helm installs the CRDs of a chart and never changes them: without the job a newer chart
        # would write fields that the API server drops
        "crds": {"upgradeJob": {"enabled": True, "image": {"busybox": {"tag": BUSYBOX_TAG}}}},
        "prometheus": {"prometheusSpec": _prometheus(storage_class, storage_gib)},
        "alertmanager": _alertmanager(paged=paged),
        "kube-state-metrics": {
            "metricLabelsAllowlist": [
                f"pods=[{','.join(promql.POD_LABELS.values())}]",
                f"nodes=[{','.join((*promql.NODE_LABELS.values(), SITE_LABEL))}]",
            ],
            **custom_resources(),
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
        "targetLabel": promql.NUMA_SCRAPE_NODE,
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


def _alertmanager(*, paged: bool) -> dict[str, object]:
    """Returns the chart's block `alertmanager`; without a pager only its own pages show alerts.

    The chart's inhibition stays: a critical alert silences a warning of the same name.
    """
    if not paged:
        return {"config": _config([], [])}
    routes = [
        # an incident for each alert and place, at once
        _route("critical", ["alertname", "namespace", "node"], wait="30s", again="4h"),
        # one for each alert wherever it fires, a day apart: it is looked at in working hours
        _route("warning", ["alertname"], wait="10m", again="24h"),
    ]
    receiver = {"name": _PAGER, "pagerduty_configs": [_message()]}
    return {
        "config": _config(routes, [receiver]),
        "alertmanagerSpec": {"secrets": [KEY_SECRET]},
    }


def _config(routes: Sequence[object], receivers: Sequence[object]) -> dict[str, object]:
    """The routes and receivers, which replace the chart's. `info` and the Watchdog reach nobody."""
    return {
        "route": {"receiver": _NOBODY, "routes": routes},
        "receivers": [{"name": _NOBODY}, *receivers],
    }


def _route(severity: Severity, by: list[str], *, wait: str, again: str) -> dict[str, object]:
    return {
        "receiver": _PAGER,
        "matchers": [f'severity = "{severity}"'],
        "group_by": by,
        "group_wait": wait,
        "group_interval": "5m",
        "repeat_interval": again,
    }


def _message() -> dict[str, object]:
    """An event of PagerDuty's Events API v2; its service may take the urgency from the severity."""
    return {
        "routing_key_file": _KEY_FILE,
        "severity": "{{ .CommonLabels.severity }}",
        "description": f"{_FIRST}{_OTHERS}",
        "details": {"runbook": _RUNBOOKS},
    }
