"""A verb that only reads files loads nothing of Pulumi: the pre-commit hook of others runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NEVER = {"pulumi", "pulumi_policy", "grpc", "google"}
RUN = """\
import sys
from fleet.cli.main import app
code = 0
try:
    app(sys.argv[1:])
except SystemExit as end:
    code = end.code
print({"code": code, "loaded": sorted({name.partition(".")[0] for name in sys.modules})})
"""


@pytest.mark.parametrize(
    "words",
    [
        ("check", "-f", "pod.yaml", "--env", "dev"),
        ("check", "-f", "pod.yaml", "--env", "dev", "--sarif", "found.sarif"),
        ("plan", "dev/dgx"),
        ("shape", "dgx-h200", "--gpus", "2"),
        ("explain", "isolcpus"),
        ("explain", "pools.dgx.sharing"),
        ("explain", "cost/crossover"),
        ("render", "dev", "--out", "out"),
        ("hardware", "list"),
        ("envs",),
        ("policy-config", "dev"),
    ],
    ids=" ".join,
)
def test_a_verb_that_reads_files_loads_no_pulumi(words: tuple[str, ...], tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}
    (tmp_path / "pod.yaml").write_text(json.dumps(pod))

    done = subprocess.run(
        (sys.executable, "-c", RUN, *words),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    told = json.loads(done.stdout.splitlines()[-1].replace("'", '"'))
    assert told["code"] == 0
    assert "policies" in told["loaded"] or words[0] not in ("check", "policy-config")
    assert NEVER.isdisjoint(told["loaded"])
