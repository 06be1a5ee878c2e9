"""What a pack writes beside the engine's event log, and what is read of it."""

import json
import os
from pathlib import Path

import pytest

from engine.findings_log import DRY_RUN, VARIABLE, recorder
from policies.gates.pack_config import POLICY, pack_config
from policies.gates.plan import policies
from policies.rules import ALL
from policies.verdicts import Finding, Resource, as_json, read_log
from tests.support.policies.engine_calls import AFTER, RULE, TODAY, heard
from tests.support.policies.node_pools import node_pool

PACK = "gpu-fleet"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the environment names, as in a preview."""
    path = tmp_path / "findings.jsonl"
    monkeypatch.setenv(VARIABLE, str(path))
    monkeypatch.setenv(DRY_RUN, "true")
    return path


def finding(name: str) -> Finding:
    about = Resource(kind="Job", name=name, urn=f"urn:{name}")
    return Finding(
        rule=RULE, level="mandatory", state="violated", resource=about, sentences=(f"{name}.",)
    )


def test_each_finding_is_written_once_whether_it_stops_or_not(log: Path) -> None:
    record = recorder(PACK)
    for level in ("mandatory", "advisory"):
        config = pack_config({RULE: {"level": level}})[POLICY]
        pack = policies(ALL, record=lambda one: record(as_json(one)), today=lambda: TODAY)
        for policy in pack[:2]:
            heard(policy, node_pool(AFTER, "60m"), config, urn=f"urn:{level}")  # type: ignore[arg-type]  # a mapping

    found = [one for one in read_log(log, preview=True).findings if one.rule == RULE]

    assert [(one.state, one.resource and one.resource.urn) for one in found] == [
        ("violated", "urn:mandatory"),
        ("advisory", "urn:advisory"),
    ]
    assert len(log.read_text().splitlines()) == 1 + len(read_log(log, preview=True).findings)


def test_a_pack_is_heard_that_has_found_nothing(log: Path) -> None:
    assert read_log(log, preview=True).packs == frozenset()
    recorder(PACK)
    assert read_log(log, preview=True).packs == {PACK}


def test_a_preview_and_an_update_in_one_file_are_read_apart(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder(PACK)(as_json(finding("before")))
    monkeypatch.setenv(DRY_RUN, "false")
    recorder(PACK)(as_json(finding("after")))

    assert read_log(log, preview=True).findings == (finding("before"),)
    assert read_log(log, preview=False).findings == (finding("after"),)


def test_what_two_packs_find_alike_is_one_finding(log: Path) -> None:
    for pack in (PACK, "gpu-fleet-idle"):
        recorder(pack)(as_json(finding("x")))

    found = read_log(log, preview=True)

    assert found.packs == {PACK, "gpu-fleet-idle"}
    assert found.findings == (finding("x"),)


def test_a_line_is_appended_in_one_write_so_that_no_other_pack_tears_it(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[bytes] = []
    really_write = os.write

    def write(file: int, data: bytes) -> int:
        writes.append(data)
        return really_write(file, data)

    monkeypatch.setattr(os, "write", write)

    ours, theirs = recorder(PACK), recorder("gpu-fleet-idle")
    for name in ("a", "b" * 100_000, "c"):
        ours(as_json(finding(name)))
        theirs(as_json(finding(f"{name}2")))

    assert writes == log.read_bytes().splitlines(keepends=True)
    assert len(read_log(log, preview=True).findings) == 6


def test_a_line_of_which_a_part_is_written_ends_the_pack(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = recorder(PACK)
    monkeypatch.setattr(os, "write", lambda _file, data: len(data) - 1)  # the disk is full
    with pytest.raises(OSError, match="a part of a line"):
        record(as_json(finding("x")))


def test_a_line_that_a_killed_pack_left_unfinished_is_skipped(log: Path) -> None:
    recorder(PACK)(as_json(finding("whole")))
    entry = json.dumps({"pack": PACK, "preview": True, "finding": as_json(finding("torn"))})
    with log.open("a") as file:
        file.write(entry[:50])

    assert read_log(log, preview=True).findings == (finding("whole"),)


def test_a_pack_for_others_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    recorder(PACK)(as_json(finding("x")))
    assert os.listdir(tmp_path) == []


def test_a_pack_that_cannot_write_its_findings_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gone" / "findings.jsonl"))
    with pytest.raises(FileNotFoundError):
        recorder(PACK)
