"""Samples for promtool, and what it answers."""

from rehearsal.faults import alerts, kube_state
from rehearsal.faults.replay import at
from rehearsal.faults.rules import Rules, named
from rehearsal.faults.scrape import parse
from tests.support.rehearsal.fault_scenes import RUNNING, claim, node, seen

RULES = Rules(
    groups=[
        {
            "name": "all",
            "rules": [
                {"record": "node:gpus:count", "expr": 'kube_node_labels{pool="a"} * on (pool) x'},
                {"alert": "Idle", "expr": "node:gpus:count unless on (node) kube_pod_labels"},
                {"alert": "Late", "expr": "sum by (e) (increase(errors_total[15m])) > 0"},
            ],
        }
    ]
)


def test_the_series_of_an_expression_are_found_among_functions_labels_and_words() -> None:
    found = named('max by (pod) (a{b="c"} and on (d) e:f unless time() - max_over_time(g[1h]) > 2)')
    assert found == {"a", "e:f", "g"}


def test_an_alert_reads_what_its_recordings_read() -> None:
    assert RULES.alerts["Idle"] == {"kube_node_labels", "x", "kube_pod_labels"}
    assert RULES.names == {"kube_node_labels", "x", "kube_pod_labels", "errors_total"}


def test_samples_are_written_in_runs_and_a_series_that_ends_is_stale() -> None:
    assert alerts.notation([None, None, 1.0, 1.0, 2.0, None, None]) == "_ _x1 1x1 2 stale _x1"


def test_what_promtool_got_is_read_with_labels_of_any_text() -> None:
    said = (
        '    expr: "x", time: 1h,\n        exp: nil\n'
        '        got: {alertname="A", node="a, \\"b\\"", severity="warning"} 3.6E+02, '
        '{alertname="B"} 60'
    )
    found = dict(alerts.got(said))
    assert [*found.values()] == [360.0, 60.0]
    assert {dict(key)["alertname"] for key in found} == {"A", "B"}


def test_a_node_that_is_silent_and_a_machine_that_has_not_joined_are_series() -> None:
    new = seen(1, "NodeClaim", claim("claim-c", Registered="Unknown"))
    now = at((*RUNNING, seen(1, "Node", node("a", ready="Unknown")), new), 1)
    points = {(name, labels): value for name, labels, value in kube_state.points(now, {})}
    ready = (("node", "a"), ("condition", "Ready"))
    assert points["kube_node_status_condition", (*ready, ("status", "unknown"))] == 1.0
    assert points["kube_node_status_condition", (*ready, ("status", "true"))] == 0.0
    own = (("nodeclaim", "claim-c"), ("nodepool", "burst-spot"))
    assert points["fleet_nodeclaim_condition", (*own, ("type", "Registered"))] == 0.0
    assert {name for name, _ in points} <= kube_state.DERIVED


def test_the_metrics_of_a_controller_are_read_with_their_labels() -> None:
    text = '# HELP a b\na_total{x="1",y="a}\\"b"} 3\nb 1e+06\n'
    first, second = parse(text, 5.0)
    assert (first.name, dict(first.labels), first.value) == (
        "a_total",
        {"x": "1", "y": 'a}\\"b'},
        3,
    )
    assert (second.name, second.value, second.at_s) == ("b", 1e6, 5.0)
