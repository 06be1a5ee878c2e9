"""Who is told of an alert: PagerDuty of what must not wait, and of the rest in few messages.

The routing key lies in a Secret that Alertmanager's pod mounts and reads at each message, so it
stands in no values and a new one needs no restart.
"""

from collections.abc import Sequence

from components.platform.monitoring.rules import Severity

KEY_SECRET, KEY = "alertmanager-pagerduty", "routing_key"
_KEY_FILE = f"/etc/alertmanager/secrets/{KEY_SECRET}/{KEY}"  # where the operator mounts Secrets
_NOBODY, _PAGER = "nobody", "pagerduty"

_FIRST = "{{ (index .Alerts 0).Annotations.summary }}"
_OTHERS = "{{ if gt (len .Alerts) 1 }} (one of {{ len .Alerts }}){{ end }}"
_RUNBOOKS = (
    "{{ range .Alerts.Firing }}{{ .Annotations.summary }}: {{ .Annotations.runbook }}\n{{ end }}"
)


def alertmanager(*, paged: bool) -> dict[str, object]:
    """The chart's block `alertmanager`; without a pager its own pages show alerts, and nobody else.

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
    """Lists replace the chart's. `info` and the chart's own Watchdog reach nobody."""
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
