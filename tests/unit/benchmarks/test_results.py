"""The figures of the benchmarks: ratios, goals, tables."""

import json
from io import StringIO

import pytest
from rich.console import Console

from benchmarks.machine import Machine
from benchmarks.objects import objects
from benchmarks.policies import ALL_RULES, FOUR, NONE, Policies, RuleTiming, rules_on
from benchmarks.results import Block, Checks, Goal, Nodes, Previews, Rehearsed, Throughput, Timing
from benchmarks.summary import Results
from policies.rules import ALL


def taken(*seconds: float) -> tuple[Timing, ...]:
    return tuple(Timing(wall_s=wall_s, cpu_s=wall_s / 2) for wall_s in seconds)


PREVIEWS = Previews(
    environment="prod",
    resources={"kubernetes": 40, "hcloud": 12},
    bare=taken(2.0, 4.0, 3.0),
    program=taken(2.2, 6.0, 3.6),
    with_policies=taken(3.3, 6.0, 4.5),
)
REHEARSED = Rehearsed(
    environment="dev",
    phases_s={"preview": 5.0, "up": 8.0},
    total_s=61.0,
    peak_memory_gib=1.5,
    most_s=60,
    most_memory_gib=4,
)
POLICIES = Policies(
    resources=1000,
    previews={
        NONE: taken(10.0, 20.0, 10.0),
        ALL_RULES: taken(12.0, 22.0, 14.0),
        "idle alone": taken(14.0, 28.0, 14.0),
        FOUR: taken(20.0, 40.0, 20.0),
    },
    rules=(
        RuleTiming(rule="idle/a", kind="v1 Pod", median_us=99.0, most_us=200.0),
        RuleTiming(rule="numa/b", kind="v1 Pod", median_us=20.0, most_us=900.0),
    ),
)
NODES = Nodes(
    count=1000,
    total_s=4.0,
    plans_s=(0.001, 0.02, 0.002),
    blocks=(
        Block(ignition_s=0.003, butane_s=0.01, booted_s=0.004),
        Block(ignition_s=0.004, butane_s=0.02, booted_s=0.010),
        Block(ignition_s=0.090, butane_s=0.03, booted_s=0.099),
    ),
)
CHECKS = Checks(environment="prod", hello=taken(0.2, 0.4, 0.2), checked=taken(0.3, 0.6, 0.5))
THROUGHPUT = Throughput(
    objects=1000, parsed_s=(1.0, 0.5, 0.5), read_s=(0.5, 0.5, 0.4), judged_s=(1.5, 0.5, 0.6)
)
RESULTS = Results(
    machine=Machine(cpus=2, memory_gib=24.0, architecture="x86_64", python="3.11.9"),
    nodes=NODES,
    checks=CHECKS,
    throughput=THROUGHPUT,
    previews=PREVIEWS,
    policies=POLICIES,
    rehearsals=(REHEARSED,),
)


def test_a_ratio_is_the_median_of_the_runs_and_not_of_their_sums() -> None:
    assert PREVIEWS.over_bare.value == pytest.approx(1.2)
    assert PREVIEWS.policies == pytest.approx(1.25)


def test_many_objects_are_compared_with_the_parse_of_the_same_run() -> None:
    assert THROUGHPUT.over_parse == pytest.approx(2.0)
    assert THROUGHPUT.per_second == pytest.approx(1000)
    assert [goal.value for goal in THROUGHPUT.goals] == pytest.approx([2.0, 1.0])


def test_a_node_is_compared_with_the_call_of_butane_beside_it() -> None:
    assert NODES.rendered == pytest.approx(0.3)
    assert NODES.booted == pytest.approx(0.5)


@pytest.mark.parametrize(("value", "met"), [(1.29, True), (1.3, True), (1.31, False)])
def test_a_goal_is_met_up_to_its_bound(value: float, met: bool) -> None:
    goal = Goal(name="preview", value=value, at_most=1.3)

    assert goal.met is met
    assert goal.verdict == f"≤ 1.3: {'met' if met else 'missed'}"


def test_the_json_names_each_goal_with_its_verdict() -> None:
    found = json.loads(json.dumps(RESULTS.as_json()))

    assert {goal["name"]: goal["met"] for goal in found["goals"]} == {
        "1000 nodes rendered and booted": True,
        "plan of one machine": True,
        "Ignition of a node / by Butane": False,
        "fleet check of one file against prod / bare command": True,
        "check of objects / parse of their YAML": True,
        "check of one of many objects": True,
        "preview of prod / bare program": True,
        "preview with all rules in one pack / no pack": True,
        "preview with idle alone / no pack": False,
        "idle/a on one resource, the slowest rule": True,
        "rehearsal of dev, time": False,
        "rehearsal of dev, memory": True,
    }


def test_the_tables_show_figures_goals_and_verdicts() -> None:
    console = Console(file=StringIO(), width=200)

    RESULTS.show(console)

    text = console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO above
    assert "2 CPUs (x86_64), 24 GiB memory" in text
    assert "52 resources, median of 3 paired runs" in text
    assert "3.00 (2.00 to 4.00)" in text
    assert "1.50" in text
    assert "1.20" in text
    assert "≤ 1.3: met" in text
    assert "61.0 s (≤ 60 s: missed)" in text
    assert "4.00 s" in text
    assert "≤ 0.2: missed" in text


def test_the_packs_are_shown_beside_each_other_and_four_flags_have_no_goal() -> None:
    console = Console(file=StringIO(), width=120)
    for table in POLICIES.tables():
        console.print(table)
    shown = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO, as above
    lines = {line.split("│")[1].strip(): line for line in shown.splitlines() if "│" in line}
    assert "1.20" in lines[ALL_RULES]
    assert "≤ 1.3: met" in lines[ALL_RULES]
    assert "1.40" in lines["idle alone"]
    assert "≤ 1.3: missed" in lines["idle alone"]
    assert "2.00" in lines[FOUR]
    assert "none" in lines[FOUR]


def test_there_are_as_many_objects_as_asked_for_and_no_two_of_one_name() -> None:
    made = objects(40)
    assert len({(one["kind"], one["metadata"]["name"]) for one in made}) == 40


def test_every_rule_is_timed() -> None:
    found = rules_on(objects(20))
    assert {one.rule for one in found} == {rule.id for rule in ALL}
    assert all(0 < one.median_us <= one.most_us for one in found)
