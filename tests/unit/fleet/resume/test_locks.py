"""Who has the lock of a stack."""

import os
import socket
from datetime import UTC, datetime, timedelta

import psutil

from fleet.resume.locks import SILENT_S, Lock, fresh, locks_in, running, silent_s
from tests.unit.fleet.resume.conftest import at

NOW = datetime(2026, 11, 24, 0, 41, 3, tzinfo=UTC)
SECOND = timedelta(seconds=1)
WORDS = """error: the stack is currently locked by 2 lock(s). Either wait for the other \
process(es) to end or delete the lock file with `pulumi cancel`.
  s3://state/.pulumi/locks/organization/gpu-fleet/dev/a.json: created by ada@runner-7 (pid 77) \
at 2026-11-24T02:41:00+02:00
  s3://state/.pulumi/locks/organization/gpu-fleet/dev/b.json: created by CORP\\ada l@desk (pid 8) \
at 2026-11-24T00:11:00Z"""
CLOUD = "Update in progress:\n\tStarted: 3 minutes ago\n\tRequested By: ada"


def here(pid: int, since: datetime) -> Lock:
    (lock,) = locks_in(f"created by me@{socket.gethostname()} (pid {pid}) at {at(since)}")
    return lock


def test_the_engine_tells_of_each_holder_in_the_time_of_its_own_machine() -> None:
    assert [each.told(NOW) for each in locks_in(WORDS)] == [
        "Locked by ada@runner-7, process 77, since 2026-11-24 00:41 UTC, 3 s ago.",
        "Locked by CORP\\ada l@desk, process 8, since 2026-11-24 00:11 UTC, 30 min ago.",
    ]


def test_pulumi_cloud_tells_who_began_it_and_later_only_that_it_runs() -> None:
    told, unknown = locks_in(CLOUD), locks_in("Another update is currently in progress.")
    assert told[0].told(NOW) == "Locked by ada, 3 minutes ago."
    assert told == unknown, "no other one"


def test_the_process_of_an_engine_that_took_the_lock_has_it(engine: psutil.Process) -> None:
    began = datetime.fromtimestamp(engine.create_time(), UTC)
    lock = here(engine.pid, began + SECOND)
    assert running([here(2**22, began), lock]) == lock


def test_a_process_that_began_after_the_lock_does_not_have_it(engine: psutil.Process) -> None:
    """Its pid was that of the engine before the machine was started again."""
    began = datetime.fromtimestamp(engine.create_time(), UTC)
    assert running([here(engine.pid, began - 60 * SECOND)]) is None


def test_a_process_that_is_no_engine_does_not_have_it() -> None:
    assert psutil.Process(os.getpid()).name() != "pulumi"
    assert running([here(os.getpid(), datetime.now(UTC))]) is None


def test_a_process_of_another_machine_says_nothing_about_this_one(engine: psutil.Process) -> None:
    words = f"created by me@another (pid {engine.pid}) at {at(datetime.now(UTC))}"
    assert running(locks_in(words)) is None


def test_a_lock_of_another_machine_is_fresh_until_lock_and_state_are_old() -> None:
    (lock, _) = locks_in(WORDS)
    silent = timedelta(seconds=SILENT_S)
    long_ago, just_now = NOW - timedelta(days=1), NOW - 10 * SECOND
    assert lock.since == NOW - 3 * SECOND
    assert fresh([lock], long_ago, NOW) == (lock, lock.since + silent)
    later = NOW + silent
    assert fresh([lock], long_ago, later) is None
    assert fresh([lock], just_now + silent, later) == (lock, just_now + 2 * silent)


def test_of_an_update_in_pulumi_cloud_the_state_tells_how_old_it_is() -> None:
    (lock,) = locks_in(CLOUD)
    assert fresh([lock], NOW, NOW + SECOND)
    assert fresh([lock], NOW, NOW + timedelta(seconds=SILENT_S)) is None


def test_an_update_that_waits_for_jobs_on_rented_machines_is_silent_for_as_long() -> None:
    waits = {"type": "deleting", "resource": {"inputs": {"timeout_s": 90000}}}
    other = {"type": "creating", "resource": {"inputs": {"timeout_s": "never"}}}
    assert silent_s({"deployment": {"pending_operations": [waits, other]}}) == 90000
    assert silent_s({"deployment": {"pending_operations": [other, {}]}}) == SILENT_S
    assert silent_s({"deployment": {}}) == SILENT_S


def test_a_lock_of_this_machine_whose_process_has_ended_is_not_fresh() -> None:
    assert fresh([here(2**22, NOW)], NOW, NOW) is None
