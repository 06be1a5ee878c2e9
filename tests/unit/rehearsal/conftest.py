"""The report of a rehearsal of dev that holds."""

from dataclasses import replace

import pytest

from policies.environment import Environment, load
from rehearsal import report_builder
from rehearsal.progress import Phase
from rehearsal.report import Report
from rehearsal.smoke.results import Smoke, SmokeRun
from settings import stack_file
from tests.conftest import ROOT
from tests.support.rehearsal import fleets
from tests.support.rehearsal.reports import UP, VOLCANO


@pytest.fixture(scope="module")
def environment() -> Environment:
    return load(stack_file(ROOT, "dev"))


@pytest.fixture
def whole(environment: Environment) -> Report:
    pinned = {"kubernetes": "1.36.3"}
    found = report_builder.with_up(
        report_builder.planned(environment), environment, UP, [VOLCANO], pinned
    )
    found = report_builder.with_verdicts(found, environment, [])
    found = report_builder.with_fleet(found, environment.settings, fleets.dev())
    run = SmokeRun(
        kind="one GPU",
        name="research/smoke-one-gpu",
        pool="dgx",
        queue="research",
        gpus=1,
        outcome="ended",
        as_it_must=True,
        nodes=("dgx-1",),
        starts_after_s=1.0,
        ends_after_s=3.1,
    )
    phases = (Phase(name="preview", seconds=9.2), Phase(name="up", seconds=20.5))
    return replace(found, passed=True, smoke=Smoke(runs=(run,)), phases=phases)
