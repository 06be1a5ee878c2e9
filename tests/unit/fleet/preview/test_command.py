"""The command around the engine: where it writes, and what the engine has written."""

import json
import os
from pathlib import Path

import pytest

from engine.findings_log import VARIABLE
from fleet.preview.command import UNKNOWN, Wanted, preview
from fleet.preview.engine import Preview
from policies.verdicts import as_json
from tests.conftest import ROOT
from tests.support.preview.changes import DEV
from tests.support.preview.engine_events import RULE, found, violation


@pytest.mark.parametrize("place", ["markdown", "sarif"])
@pytest.mark.parametrize("folder", ["gone", "full", "."])
def test_a_file_that_cannot_be_written_is_told_before_the_preview(
    place: str, folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").symlink_to("/proc")  # which takes no file, not even of root
    target = tmp_path / folder / ("" if folder == "." else "file")

    wanted = Wanted(markdown=target) if place == "markdown" else Wanted(sarif=target)
    code = preview(ROOT, "dev", wanted)

    assert code == UNKNOWN
    told = f"{target} cannot be written; allowed: a file in a folder that is there."
    assert capsys.readouterr().err == f"{told}\n"


def test_a_sign_that_python_takes_for_the_end_of_a_line_ends_no_event(tmp_path: Path) -> None:
    sentence = "NodePool 'a\x85b' has 45m."
    said, heard = tmp_path / "said.jsonl", tmp_path / "heard.jsonl"
    said.write_text(json.dumps(violation(sentence, "advisory"), ensure_ascii=False) + "\n")
    finding = as_json(found(sentence, "advisory"))
    entry = {"pack": "gpu-fleet", "preview": True, "finding": finding}
    heard.write_text(json.dumps(entry, ensure_ascii=False) + "\n")
    stack_file = tmp_path / "Pulumi.dev.yaml"
    stack_file.write_text("config: {}\n")
    engine = tmp_path / "pulumi"
    copy = f'for each; do case $each in --event-log=*) cp {said} "${{each#*=}}";; esac; done'
    engine.write_text(f"#!/bin/sh\n{copy}\ncp {heard} ${VARIABLE}\n")
    engine.chmod(0o755)

    summary = Preview(
        root=tmp_path,
        environment=DEV,
        stack_file=stack_file,
        pulumi=engine,
        variables=dict(os.environ),
    ).run()

    assert summary.holds
    (verdict,) = [verdict for verdict in summary.verdicts if verdict.state == "advisory"]
    assert (verdict.rule, verdict.sentences) == (RULE, (sentence,))
