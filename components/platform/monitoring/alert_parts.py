"""Selectors and labels that alerts of more than one kind use."""

from components.platform.monitoring.usage import WINDOW_MINUTES

READY_NODE = 'and on (node) kube_node_status_condition{condition="Ready", status="true"} == 1'
_AGE = "and on (namespace, pod) time() - max by (namespace, pod) (kube_pod_start_time)"
OLD_POD = f"{_AGE} > {WINDOW_MINUTES * 60}"
"""Pods that run for longer than what their use is measured over."""
YOUNG_POD = f"{_AGE} <= {WINDOW_MINUTES * 60}"

POD = "{{ $labels.namespace }}/{{ $labels.pod }}"
NODE = "{{ $labels.node }} ({{ $labels.pool }})"
