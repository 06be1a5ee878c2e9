"""The file into which policy packs write their findings: what a reader takes, and what stops it."""

from pathlib import Path

import pytest

from engine.findings_log import VARIABLE, FindingsLogError, entries, recorder


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the start of a pack and one finding of an update."""
    path = tmp_path / "findings.jsonl"
    monkeypatch.setenv(VARIABLE, str(path))
    recorder("numa")({"rule": "numa/share"})
    return path


def test_a_reader_gets_the_start_of_a_pack_and_its_findings(log: Path) -> None:
    found = [(entry.pack, entry.finding) for entry in entries(log, preview=False)]
    assert found == [("numa", None), ("numa", {"rule": "numa/share"})]
    assert list(entries(log, preview=True)) == []


def test_a_last_line_that_a_killed_pack_left_unfinished_is_skipped(log: Path) -> None:
    with log.open("a") as file:
        file.write('{"pack": "numa", "prev')
    assert len(list(entries(log, preview=False))) == 2


@pytest.mark.parametrize("line", ['{"pack": "numa", "prev', '{"pack": "numa"}', "1", ""])
def test_any_other_line_that_no_pack_writes_stops_the_reader_with_a_sentence(
    log: Path, line: str
) -> None:
    log.write_text(f"{line}\n{log.read_text()}")
    with pytest.raises(FindingsLogError, match=r"Line 1 of .* is no finding of a policy pack"):
        list(entries(log, preview=False))
