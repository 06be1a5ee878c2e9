"""The machines that Karpenter rents for a gang: their time is set back, their price told."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from rehearsal.api import Api
from rehearsal.karpenter import instances
from rehearsal.karpenter.instances import Instance
from rehearsal.smoke import rented
from rehearsal.smoke.rented import RentedMachines

MACHINE = Instance(
    id="i-1",
    type="p5e.48xlarge",
    zone="us-east-1b",
    subnet="subnet-1",
    address="10.11.0.10",
    image="ami-1",
    capacity="reserved",
    token="t",
    template="t",
    profile="p",
    user_data="d",
    launched=1_000.0,
)
NOW = datetime(2026, 11, 23, 12, 0, 0, tzinfo=UTC)


class FakeApi:
    """The NodeClaims of a cluster, and what was written into their status."""

    def __init__(self) -> None:
        self.claims: list[dict[str, Any]] = []
        self.written: list[tuple[str, Any]] = []

    def items(self, _path: str) -> list[dict[str, Any]]:
        return self.claims

    def request(self, _method: str, path: str, body: Any, **_how: object) -> None:
        self.written.append((path, body["status"]["lastPodEventTime"]))


def claim(last: datetime | None = None) -> dict[str, Any]:
    status: dict[str, Any] = {
        "providerID": "aws:///us-east-1b/i-1",
        "conditions": [{"type": "Initialized", "status": "True"}],
    }
    if last:
        status["lastPodEventTime"] = last.strftime("%Y-%m-%dT%H:%M:%SZ")
    made = "1970-01-01T00:16:00Z"  # 960 s after the beginning of time
    return {"metadata": {"name": "burst-x", "creationTimestamp": made}, "status": status}


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def machines(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RentedMachines:
    """One machine of ten minutes of consolidateAfter, seen at a time that stands still."""

    class Clock(datetime):
        @classmethod
        def now(cls, _zone: object = None) -> "Clock":
            return cast("Clock", NOW)

    monkeypatch.setattr(rented, "datetime", Clock)
    monkeypatch.setattr(instances, "read", lambda _directory: [MACHINE])
    monkeypatch.setattr(instances, "alive", lambda _directory: [MACHINE] if api.claims else [])
    return RentedMachines(
        api=cast("Api", api), directory=tmp_path, consolidate_after_s=600, since=900.0
    )


def test_nothing_is_set_back_while_the_gang_runs(api: FakeApi, machines: RentedMachines) -> None:
    api.claims = [claim(NOW)]
    machines.look(gang_over=False)
    assert api.written == []
    assert machines.gone is None


def test_after_the_gang_the_last_event_is_as_long_ago_as_karpenter_waits(
    api: FakeApi, machines: RentedMachines
) -> None:
    api.claims = [claim(NOW - timedelta(seconds=2))]
    machines.look(gang_over=True)
    ((path, time),) = api.written
    assert path == "/apis/karpenter.sh/v1/nodeclaims/burst-x/status"
    assert datetime.fromisoformat(time) <= NOW - timedelta(seconds=600)
    api.claims = [claim(datetime.fromisoformat(time))]
    machines.look(gang_over=True)
    assert len(api.written) == 1, "it is far enough back"
    api.claims = [claim(NOW)]
    machines.look(gang_over=True)
    assert len(api.written) == 2, "Karpenter has counted an event anew"


def test_machines_are_gone_when_neither_karpenter_nor_ec2_has_any(
    api: FakeApi, machines: RentedMachines
) -> None:
    api.claims = [claim()]
    machines.look(gang_over=True)
    assert machines.gone_after_s is None
    api.claims = []
    machines.look(gang_over=True)
    assert machines.gone_after_s is not None


def test_machines_of_somebody_else_are_left_alone_and_not_waited_for(
    api: FakeApi, machines: RentedMachines
) -> None:
    api.claims = [claim(NOW)]
    machines.since = 1_100.0
    machines.look(gang_over=True)
    assert api.written == []
    assert machines.gone_after_s is not None


def test_the_price_is_that_of_a_real_boot_the_work_and_the_real_wait(
    machines: RentedMachines,
) -> None:
    machines.ready, machines.gang_ended = {"i-1": 1_005.0}, 1_025.0
    (found,) = machines.machines()
    assert (found.boot_s, found.usd_per_hour) == (5.0, 39.8)
    assert found.real_usd == round(39.8 * (300 + 20 + 600) / 3600, 2)
    machines.since = 1_100.0
    assert machines.machines() == (), "launched before the smoke set"


def test_rounds_are_what_karpenters_log_says_since_the_beginning(
    api: FakeApi, tmp_path: Path
) -> None:
    line = f'{{"level":"INFO","message":"{rented.CHOSEN}","nodeclaims":2,"pods":2}}\n'
    log = tmp_path / rented.LOG
    log.parent.mkdir()
    log.write_text(line)
    found = RentedMachines(api=cast("Api", api), directory=tmp_path, consolidate_after_s=600)
    assert found.rounds == 0
    log.write_text(line * 3)
    assert found.rounds == 2


def test_a_type_without_a_price_costs_nothing_that_is_known(
    machines: RentedMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(MACHINE, type="x9.metal")
    monkeypatch.setattr(instances, "read", lambda _directory: [other])
    (found,) = machines.machines()
    assert (found.usd_per_hour, found.real_usd, found.boot_s) == (None, None, None)
