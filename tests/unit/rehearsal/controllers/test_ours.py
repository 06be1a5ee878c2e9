"""Which programs of ours a twin runs, and which it only makes."""

from typing import Any, cast

from rehearsal.api import Api
from rehearsal.controllers import ours
from settings.names import PROGRAM_LABEL
from tests.support.environments import resources


class FakeApi:
    """The Deployments of a cluster."""

    def __init__(self, deployments: list[dict[str, Any]]) -> None:
        self.deployments = deployments

    def items(self, path: str) -> list[dict[str, Any]]:
        assert path == "/apis/apps/v1/deployments"
        return self.deployments


def deployment(**labels: str) -> dict[str, Any]:
    return {"spec": {"template": {"metadata": {"labels": labels}}}}


def not_run(*deployments: dict[str, Any]) -> tuple[str, ...]:
    return ours.not_run(cast("Api", FakeApi([*deployments])))


def test_what_is_started_or_is_not_ours_is_not_among_those_that_do_not_run() -> None:
    started = [deployment(**{PROGRAM_LABEL: name}) for name in ours.NAMES]
    assert not_run(*started, deployment(app="volcano-scheduler"), deployment()) == ()
    assert not_run(*started, deployment(**{PROGRAM_LABEL: "other"})) == ("other",)


def test_of_what_dev_makes_two_programs_are_not_run() -> None:
    made = [dict(each.inputs) for each in resources("dev") if each.type.endswith(":Deployment")]
    assert not_run(*made) == ("fleet-join-tokens", "fleet-scratch")
