"""What the command makes of a scheduler that it cannot build or start."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from rich.console import Console

from benchmarks.gangs import __main__ as command
from benchmarks.gangs.scenarios import SCENARIOS
from benchmarks.gangs.schedulers import SCHEDULERS
from rehearsal.errors import RehearsalError
from toolchain.build import ToolchainError
from toolchain.programs import PROGRAMS

KUEUE = SCHEDULERS["kueue"]


def test_what_the_matrix_alone_needs_is_built_on_demand() -> None:
    usual = {name for name, program in PROGRAMS.items() if not program.on_demand}
    assert not usual & {"kueue", "control-plane-next"}


def test_a_scheduler_that_cannot_be_built_is_a_result_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ensure(*_: object, **__: object) -> None:
        raise ToolchainError("kueue 0.19.2 was not built: the disk is full.")

    monkeypatch.setattr(command, "ensure", ensure)
    (found,) = command.measure(KUEUE, SCENARIOS, Console(stderr=True))
    assert found.missing == "not built: kueue 0.19.2 was not built: the disk is full."
    assert (found.title, found.kubernetes, found.rows) == (KUEUE.title, "1.36.3", ())


def test_a_scheduler_that_does_not_start_is_a_result_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[None]:
        raise RehearsalError("etcd was not ready after 90 s")
        yield

    monkeypatch.setattr(command, "ensure", lambda *_, **__: None)
    monkeypatch.setattr(command, "opened", opened)
    (found,) = command.measure(KUEUE, SCENARIOS, Console(stderr=True))
    assert found.missing == "not started: etcd was not ready after 90 s"
    assert not found.rows


def test_gates_and_versions_of_native_gangs_are_told_by_name() -> None:
    assert SCHEDULERS["native"].on == (
        "gate GenericWorkload",
        "gate WorkloadWithJob",
        "API scheduling.k8s.io/v1beta1",
        "a ResourceQuota as the queue",
    )
