"""Our verdicts on pods against those of kubelet's own code: random nodes and the catalogue."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hardware.catalogue import load, names
from ignition.plan.numa_plan import PlanError, plan
from ignition.plan.tuning import PURPOSES, Tuning
from ignition.shapes.admission import insufficient
from ignition.shapes.kubelet import NO_START, Outcome, run
from ignition.shapes.node import POLICIES, SCOPES, Node, Request
from ignition.shapes.plan import from_plan
from ignition.shapes.spread import EndlessError
from tests.sweeps.kubelet_cases import case, request
from tests.sweeps.kubelet_reference import ask, kubelet

SEED = 20261121
RANDOM_CASES = 10_000
MOST_COMBINATIONS = 3_000  # of hints that kubelet walks through; eight NUMA nodes can make millions

Case = tuple[Node, Sequence[Request]]


@pytest.fixture(scope="module")
def program() -> Path:
    return kubelet()


def test_random_pods_on_random_nodes_get_the_verdict_of_kubelet(
    program: Path, record_property: Callable[[str, object], None]
) -> None:
    random = Random(SEED)  # noqa: S311  # a draw, no secret
    judged = _judged(iter(lambda: case(random), None), RANDOM_CASES)

    reasons = _compare(program, judged)

    record_property("cases that agree", f"{len(judged)}: {dict(reasons)}")
    common = {"", "TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError"}
    assert all(reasons[reason] > 500 for reason in common), reasons
    assert reasons[NO_START] > 50


def test_pods_on_every_machine_of_the_catalogue_get_the_verdict_of_kubelet(
    program: Path, record_property: Callable[[str, object], None]
) -> None:
    random = Random(SEED)  # noqa: S311  # a draw, no secret
    judged = _judged(_catalogue(random), None)

    reasons = _compare(program, judged)

    record_property("cases that agree", f"{len(judged)}: {dict(reasons)}")
    assert {node.policy for (node, _), _ in judged} == set(POLICIES)
    assert reasons[""] > 300
    assert reasons["TopologyAffinityError"] > 100


def _catalogue(random: Random) -> Iterator[Case]:
    tuning = Tuning(hugepages_1gi_per_numa_node=4)
    for name in names():
        for purpose in PURPOSES:
            hardware = load(name)
            try:
                node = from_plan(hardware, plan(hardware, tuning, purpose))
            except PlanError:
                continue
            for policy in POLICIES:
                for scope in SCOPES:
                    variant = replace(node, policy=policy, scope=scope)
                    for containers in (1, 1, 2):
                        asked = [
                            request(random, variant, containers, guaranteed=True)
                            for _ in range(containers)
                        ]
                        yield variant, [*asked[1:], replace(asked[0], kind="app")]


def _judged(cases: Iterator[Case], count: int | None) -> list[tuple[Case, Outcome]]:
    """Our verdicts, leaving out what kubelet itself would take too long for."""
    judged: list[tuple[Case, Outcome]] = []
    endless = 0
    for node, pod in cases:
        try:
            outcome = run(node, pod)
        except EndlessError:
            endless += 1
            continue
        if prod(len(one) for hints in outcome.hints.values() for one in hints) > MOST_COMBINATIONS:
            continue
        judged.append(((node, pod), outcome))
        if len(judged) == count:
            break
    assert endless <= len(judged) // 1000
    return judged


def _compare(program: Path, judged: Sequence[tuple[Case, Outcome]]) -> Counter[str]:
    answers = ask(program, [one for one, _ in judged])
    assert len(answers) == len(judged)
    differing = []
    for ((node, pod), outcome), answer in zip(judged, answers, strict=True):
        ours, theirs = _ours(node, pod, outcome), _theirs(answer, outcome)
        if ours != theirs:
            differing.append(f"{node}\n{pod}\nours:   {ours}\ntheirs: {theirs}")
    assert not differing, f"{len(differing)} of {len(judged)} differ; the first:\n{differing[0]}"
    return Counter(outcome.reason for _, outcome in judged)


def _ours(node: Node, pod: Sequence[Request], outcome: Outcome) -> dict[str, Any]:
    if outcome.reason == NO_START:
        return {"error": outcome.message}
    return {
        "admitted": not outcome.reason,
        "reason": outcome.reason,
        "message": outcome.message,
        "insufficient": sorted(insufficient(node, pod)),
        "placed": [
            {
                "hint": list(share.hint),
                "cpus": share.cpus,
                "memory": list(share.memory),
                "gpus": list(share.gpus),
            }
            for share in outcome.shares
        ],
    }


def _theirs(answer: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    if "error" in answer:
        return {"error": answer["error"]}
    if outcome.reason == "UnexpectedAdmissionError":  # kubelet wraps the message of the manager
        wrapped = f"Allocate failed due to {outcome.message}, which is unexpected"
        message = outcome.message if answer["message"] == wrapped else answer["message"]
        return {**answer, "message": message}
    return answer
