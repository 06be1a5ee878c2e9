"""Plans and rules are made once for an environment, for all parts of the program."""

from typing import Any

import pulumi
import pytest

from ignition.plan import numa_plan
from policies import configuration
from policies.environment import load
from policies.rules import ALL
from settings import stack_file
from stacks.compose import compose
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS, SECRETS
from tests.support.recorder import render


def counted(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> list[Any]:
    """Return a list that gets the first argument of each call from the module."""
    calls: list[Any] = []
    real = getattr(module, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(args[0] if args else kwargs)
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, call)
    return calls


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_each_pool_is_planned_and_each_rule_configured_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = counted(monkeypatch, numa_plan, "NumaPlan")
    rules = counted(monkeypatch, configuration, "_configured")

    environment = load(stack_file(ROOT, name))
    render(
        lambda: compose(
            environment, {key: pulumi.Output.secret(text) for key, text in SECRETS.items()}
        )
    )

    assert len(plans) == len(environment.settings.pools)
    assert [rule.id for rule in rules] == [rule.id for rule in ALL]
