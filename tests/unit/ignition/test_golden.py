"""What the catalogue's machines boot with, as files that a review can read.

After a wanted change, write them anew and look at the difference:

    GOLDEN=write .venv/bin/pytest tests/unit/ignition/test_golden.py && git diff tests/unit/ignition
"""

import json
import os
from pathlib import Path

import pytest

from ignition.render import NodeBoot, tuning_butane, tuning_ignition
from tests.unit.ignition.nodes import PURPOSE_OF, TOKEN, node

GOLDEN = Path(__file__).parent / "golden"


def rendered(boot: NodeBoot) -> dict[str, str]:
    return {
        "bu": tuning_butane(boot),
        "ign": json.dumps(json.loads(tuning_ignition(boot)), indent=2) + "\n",
    }


@pytest.mark.parametrize("ending", ["bu", "ign"])
@pytest.mark.parametrize("name", PURPOSE_OF)
def test_a_machine_boots_with_what_was_reviewed(name: str, ending: str) -> None:
    text = rendered(node(name))[ending]
    path = GOLDEN / f"{name}.{ending}"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


def test_no_golden_file_holds_a_token() -> None:
    assert not [path.name for path in GOLDEN.iterdir() if TOKEN in path.read_text()]


def test_no_golden_file_is_left_of_a_machine_that_is_gone() -> None:
    assert {path.name.rsplit(".", 1)[0] for path in GOLDEN.iterdir()} == set(PURPOSE_OF)
