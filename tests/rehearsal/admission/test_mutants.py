"""Proof that the table bites: a policy that is made wrong says of some object what is not so.

Every mutant is a policy of its own that only warns, and sees only the objects of its rule: all of
them are asked at once, by a label.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import pytest

from policies.gates.admission import manifests
from policies.language.rule import Rule
from tests.rehearsal.admission.cases import Case, of
from tests.support.admission.objects import Object
from tests.support.admission.server import ADMITTED, Server
from tests.support.admission.verdicts import CONFIGURED, TODAY, planned

AT_ONCE = 4
LABEL = "mutants-of"
CHANGES: Mapping[str, Callable[[str], Mapping[str, str]]] = {
    "removed": lambda _holds: {"expression": "true"},
    "inverted": lambda holds: {"expression": f"!({holds})"},
    "says something else": lambda _holds: {"messageExpression": "'It must not be.'"},
}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A policy with one thing in it made wrong."""

    rule: Rule
    what: str
    policy: Mapping[str, Any]
    binding: Mapping[str, Any]


def _label(rule_id: str) -> str:
    """The name of a rule where a name of Kubernetes must stand."""
    return rule_id.replace("/", "-")


def _mutants() -> Iterator[Mutant]:
    """Each rule's policy with each of the changes."""
    for configured in CONFIGURED:
        rule, found = configured.rule, manifests([configured], stage="audit", today=TODAY)
        policy, binding = cast("list[dict[str, Any]]", found)
        for number, (what, change) in enumerate(CHANGES.items()):
            called = {"name": f"{_label(rule.id)}-{number}"}
            bound = {**binding["spec"], "policyName": called["name"]}
            yield Mutant(
                rule=rule,
                what=what,
                policy={**policy, "metadata": called, "spec": _spec(policy["spec"], rule, change)},
                binding={**binding, "metadata": called, "spec": bound},
            )


def _spec(
    spec: Mapping[str, Any], rule: Rule, change: Callable[[str], Mapping[str, str]]
) -> Mapping[str, Any]:
    only = {"matchLabels": {LABEL: _label(rule.id)}}
    (validation,) = spec["validations"]
    return {
        **spec,
        "matchConstraints": {**spec["matchConstraints"], "objectSelector": only},
        "validations": [{**validation, **change(validation["expression"])}],
    }


MUTANTS = tuple(_mutants())


def labelled(case: Case) -> Object:
    """The object of a case, for the mutants of its rule alone."""
    metadata = case.manifest["metadata"]
    labels = {**metadata.get("labels", {}), LABEL: _label(case.rule)}
    return {**case.manifest, "metadata": {**metadata, "labels": labels}}


def some(rule: Rule) -> list[Case]:
    """One object that keeps a rule and one that breaks it."""
    cases = of(rule.id)
    return [next(each for each in cases if each.good), next(each for each in cases if each.bad)]


@pytest.fixture(scope="module")
def told(server: Server) -> Mapping[str, Mapping[str, str]]:
    """By case: what each mutant of its rule says of it, by the name of the policy."""
    objects = [each for mutant in MUTANTS for each in (mutant.policy, mutant.binding)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda each: server.install([each]), objects))
    cases = [case for rule in ADMITTED for case in some(rule)]
    for rule in ADMITTED:
        good, bad = some(rule)
        server.wait_for(f"the inverted {rule.id}", partial(_speaks, server, good, 1))
        server.wait_for(f"the other {rule.id}", partial(_speaks, server, bad, 2))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda case: server.try_out(labelled(case)), cases))
    return {case.id: dict(answer.told) for case, answer in zip(cases, answers, strict=True)}


def _speaks(server: Server, case: Case, number: int) -> bool:
    return f"{_label(case.rule)}-{number}" in dict(server.try_out(labelled(case)).told)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: f"{each.rule.id}: {each.what}")
def test_a_policy_that_is_made_wrong_is_noticed(
    told: Mapping[str, Mapping[str, str]], mutant: Mutant
) -> None:
    noticed = []
    for case in some(mutant.rule):
        said = told[case.id].get(mutant.policy["metadata"]["name"])
        right = planned(case.manifest).get(mutant.rule.id, ())
        noticed.append(said not in right if right else said is not None)

    assert any(noticed)
