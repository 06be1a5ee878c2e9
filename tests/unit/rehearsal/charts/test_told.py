"""What a report says of charts."""

import json
from dataclasses import replace

from policies.environment import Environment
from rehearsal import digest, report_builder
from rehearsal.charts.dependents import Dependent
from rehearsal.charts.results import Charts, RenderedChart
from rehearsal.charts.room import PoolsRoom
from rehearsal.charts.wanted import Unreachable, Wanted
from rehearsal.report import Report
from tests.support.rehearsal.reports import UP, VOLCANO, text

HOOK = Dependent(
    kind="ValidatingWebhookConfiguration",
    name="a.fleet.example",
    failure_policy="Fail",
    covers="CREATE of pods",
    service="Service there/hook",
)
VOLCANO_RENDERED = RenderedChart(
    name="volcano",
    chart="volcano",
    version="1.14.1",
    source="Go module volcano.sh/volcano v1.14.1",
    objects={"Deployment": 3, "Service": 2},
    hooks=("Job init (pre-install)",),
    images=("a.example/vc:1",),
    dependents=(HOOK, replace(HOOK, failure_policy="Ignore")),
)
WANTED = Wanted(name="volcano", version="1.14.1")


def recorded(environment: Environment) -> Report:
    planned = report_builder.planned(environment)
    return report_builder.with_up(planned, environment, UP, [VOLCANO], {})


def test_a_chart_that_was_rendered_is_told_and_no_longer_recorded_alone(
    environment: Environment,
) -> None:
    charts = Charts(rendered=(VOLCANO_RENDERED,))

    found = report_builder.with_charts(recorded(environment), charts, {})

    assert found.charts_not_rehearsed == ()
    assert found.problems == ()
    told = [line.text for line in digest.counts(found)]
    assert (
        "1 chart rendered, 5 objects in a dry run; 1 webhook and the like block when down"
    ) in told
    whole = " ".join(text(found, 200).split())
    assert "volcano: volcano 1.14.1 from Go module volcano.sh/volcano v1.14.1" in whole
    assert "hooks, not run: Job init (pre-install)" in whole
    assert "images: a.example/vc:1" in whole
    assert "CREATE of pods is refused while Service there/hook has no pod." in whole


def test_a_chart_that_cannot_be_had_is_recorded_with_the_reason(environment: Environment) -> None:
    nowhere = {WANTED: Unreachable(reason="charts.example cannot be reached")}

    found = report_builder.with_charts(recorded(environment), Charts(), nowhere)

    assert [each.reason for each in found.charts_not_rehearsed] == [
        "charts.example cannot be reached"
    ]
    assert "(charts.example cannot be reached)" in " ".join(text(found, 200).split())


def test_a_refused_object_and_a_pool_without_room_fail_the_rehearsal(
    environment: Environment,
) -> None:
    refused = replace(VOLCANO_RENDERED, refused=("Service there/a: no.",))
    crowded = PoolsRoom(
        pools=("cpu",),
        nodes=1,
        pods=2,
        cpu=9,
        memory_gib=1,
        cpu_allocatable=8,
        memory_gib_allocatable=30,
    )

    found = report_builder.with_charts(
        recorded(environment), Charts(rendered=(refused,), room=(crowded,)), {}
    )

    assert found.problems == (
        "Chart of volcano: Service there/a: no.",
        "cpu: 2 pods of charts ask for 9 of 8 CPUs and 1 of 30 GiB.",
    )


def test_a_report_with_charts_is_read_as_it_was_written(environment: Environment) -> None:
    charts = Charts(rendered=(VOLCANO_RENDERED,), images_changed=("x is not in the lock.",))
    found = report_builder.with_charts(recorded(environment), charts, {})

    assert Report.from_json(json.dumps(found.as_json())).charts == charts
