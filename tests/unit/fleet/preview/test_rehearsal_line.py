"""What a rehearsal found, beside a preview."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleet.preview.markdown import markdown
from fleet.preview.rehearsal import RehearsalFileError, read
from tests.support.preview.changes import summary

RUN = {
    "kind": "one GPU",
    "name": "research/smoke-one-gpu",
    "pool": "dgx",
    "queue": "research",
    "gpus": 1,
    "outcome": "ended",
    "as_it_must": True,
}


def report(**changed: Any) -> dict[str, Any]:
    told = {
        "environment": "dev",
        "passed": True,
        "problems": [],
        "pools": [{"nodes_wanted": 3, "nodes_ready": 3}, {"nodes_wanted": 2, "nodes_ready": 2}],
        "smoke": {"runs": [RUN, {**RUN, "as_it_must": False}]},
        "phases": [{"name": "up", "seconds": 20}, {"name": "smoke", "seconds": 11.4}],
    }
    return {**told, **changed}


def written(folder: Path, content: object) -> Path:
    path = folder / "rehearsal.json"
    path.write_text(json.dumps(content))
    return path


def test_a_rehearsal_is_one_line(tmp_path: Path) -> None:
    found = replace(summary(), rehearsal=read(written(tmp_path, report()), "dev"))
    jobs = "1 of 2 smoke jobs did what they must"
    line = f"Rehearsal: ✅ passed; 5 of 5 nodes Ready; {jobs}; 31 s in all."
    assert f"\n\n{line}\n" in markdown(found)


def test_a_rehearsal_that_failed_says_why(tmp_path: Path) -> None:
    failed = report(passed=False, problems=["dgx-01 (dgx) did not come up: no kubelet"], smoke=None)
    text = markdown(replace(summary(), rehearsal=read(written(tmp_path, failed), "dev")))
    assert "\nRehearsal: ⛔ failed; 5 of 5 nodes Ready; 31 s in all.\n" in text
    assert "\n- ⛔ dgx-01 (dgx) did not come up: no kubelet\n" in text


def test_a_rehearsed_change_has_its_five_lines(tmp_path: Path) -> None:
    moves: dict[str, Any] = {
        "ref": "HEAD^1",
        "commit": "1" * 40,
        "snapshot": None,
        "jobs": 16,
        "due": [],
    }
    found = read(written(tmp_path, report(moves=moves)), "dev")
    text = markdown(replace(summary(), rehearsal=found))
    (block,) = [each for each in text.split("\n\n") if "Jobs: 0 of 16 ended." in each]
    lines = block.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        *("- Jobs", "- Machines", "- Reinstallation", "- Fields", "- Capacity")
    ]


def test_a_job_that_did_not_run_before_the_change_is_a_warning_with_its_reason(
    tmp_path: Path,
) -> None:
    moves = {"ref": "HEAD^1", "commit": "1" * 40, "snapshot": "jobs.yaml", "jobs": 3}
    left = [f"research/job-{n}: 2 Insufficient GPUs." for n in range(6)]
    found = read(written(tmp_path, report(moves={**moves, "not_running": left})), "dev")
    lines = markdown(replace(summary(), rehearsal=found)).splitlines()
    told = [line for line in lines if line.startswith("- ⚠️ not started: ")]
    assert told[0] == "- ⚠️ not started: research/job-0: 2 Insufficient GPUs."
    assert len(told) == 4
    assert lines[lines.index(told[-1]) + 1] == "- ⚠️ and 2 more in the report"


@pytest.mark.parametrize("content", [[], {"environment": "dev"}, report(pools=3)])
def test_a_file_that_is_no_rehearsal_is_a_sentence(tmp_path: Path, content: object) -> None:
    with pytest.raises(RehearsalFileError, match=r"is no report of a rehearsal .*`fleet rehearse"):
        read(written(tmp_path, content), "dev")


def test_the_advice_writes_over_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("# mine")
    (tmp_path / "rehearsal-dev.json").write_text("{}")
    with pytest.raises(RehearsalFileError) as refused:
        read(Path("README.md"), "dev")
    assert "`fleet rehearse dev --json > rehearsal-dev-2.json` writes one" in str(refused.value)


def test_the_rehearsal_of_another_environment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalFileError, match="of dev; allowed: a rehearsal of prod"):
        read(written(tmp_path, report()), "prod")
