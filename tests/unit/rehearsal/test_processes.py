"""Records of processes: a pid alone is never enough to be ended."""

import os
from pathlib import Path

import psutil

from rehearsal.processes import Processes, Record


def test_a_record_finds_its_process() -> None:
    record = Record(name="here", pid=os.getpid(), started=psutil.Process().create_time())
    assert record.leader() == psutil.Process()


def test_a_pid_that_was_given_away_is_not_the_process_on_record() -> None:
    record = Record(name="gone", pid=os.getpid(), started=psutil.Process().create_time() - 60)
    assert record.leader() is None


def test_a_record_that_was_cut_short_is_thrown_away(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    processes.records_directory.mkdir()
    broken = processes.records_directory / "etcd-1.json"
    broken.write_text('{"name": "etc')

    assert processes.records() == ()
    assert not broken.exists()
