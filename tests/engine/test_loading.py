"""What the program loads: a preview must not wait for a library that only an update needs."""

import json
import subprocess
import sys

from tests.conftest import ROOT

PROGRAM = """
import json, sys
from tests.support.recorder import render
from tests.support.environments import program
render(program("prod"), preview=True)
print(json.dumps(sorted(sys.modules)))
"""


def loaded() -> set[str]:
    """The modules that a process has which runs the program of prod."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_a_preview_loads_nothing_that_is_slow_and_that_it_does_not_need() -> None:
    names = loaded()
    assert "lakefs.resources.repository" in names, "it would say nothing otherwise"
    # 0.6 s and 0.3 s, where the rest of the program takes 1.5 s
    assert not names & {"lakefs_sdk", "pulumi_aws.ec2.outputs"}
