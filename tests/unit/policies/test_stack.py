"""What rules look for in a whole stack is looked for once, so a preview grows with its machines."""

from collections.abc import Sequence
from datetime import date

import pytest

from policies.configuration import configure
from policies.gates.judging import findings
from policies.language.rule import Manifest
from policies.language.stack import Stack, of_kinds, once
from policies.rules import ALL
from policies.rules.cost import change_budget, daily_budget, verified_prices
from policies.verdicts import Resource


def host(number: int) -> Manifest:
    labels = {"fleet.gpu/pool": "dgx", "fleet.gpu/hardware": "dgx-h200"}
    metadata = {"name": f"dgx-{number}", "namespace": "metal3-dgx", "labels": labels}
    return {"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": metadata}


def test_a_search_is_done_once_for_a_stack_and_anew_for_what_may_change() -> None:
    asked = []

    @once
    def kinds(stack: Sequence[Manifest]) -> set[object]:
        asked.append(len(stack))
        return {each.get("kind") for each in stack}

    stack = Stack([host(1)])
    assert kinds(stack) == kinds(stack) == {"BareMetalHost"}
    assert asked == [1]
    changing = [host(1)]
    kinds(changing)
    changing.append({"kind": "Secret"})
    assert kinds(changing) == {"BareMetalHost", "Secret"}


def test_a_stack_knows_its_kinds() -> None:
    secret: Manifest = {"kind": "Secret"}
    assert of_kinds(Stack([host(1), secret, host(2)]), "Secret", "BareMetalHost") == [
        secret,
        host(1),
        host(2),
    ]


def looks(monkeypatch: pytest.MonkeyPatch, count: int) -> int:
    """How many resources the rules on cost look at for a fleet of so many machines."""
    seen = 0
    with monkeypatch.context() as patch:
        for module, name in (
            (daily_budget, "machines"),
            (change_budget, "machines"),
            (verified_prices, "hardware_names"),
        ):
            real = getattr(module, name)

            def counted(manifest: Manifest, real: object = real) -> object:
                nonlocal seen
                seen += 1
                return real(manifest)  # type: ignore[operator]  # one of the three

            patch.setattr(module, name, counted)
        rules = [each for each in configure({}, ALL) if each.rule.across is not None]
        secrets: list[Manifest] = [{"kind": "Secret"} for _ in range(2 * count)]
        stack = Stack([*secrets, *map(host, range(count))])
        for each in stack:
            resource = Resource(kind=str(each["kind"]), name="one")
            findings(each, rules, resource=resource, today=date(2026, 11, 23), stack=stack)
    return seen


def test_ten_times_the_machines_are_looked_at_ten_times_as_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert looks(monkeypatch, 200) == 10 * looks(monkeypatch, 20)
