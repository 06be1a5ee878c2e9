"""What the catalogue's machines boot with, as files that a review can read.

After a wanted change, write them anew and look at the difference:

    GOLDEN=write .venv/bin/pytest tests/unit/ignition/test_golden.py && git diff tests/unit/ignition
"""

import base64
import json
import os
from pathlib import Path

import pytest

from ignition.write.render import tuning_butane, tuning_ignition
from tests.support.ignition import roles
from tests.support.ignition.nodes import PURPOSE_OF, node

GOLDEN = Path(__file__).parent / "golden"


ROLES = {
    "control-plane": "control-plane1-disk-amd64",
    "gateway": "gateway",
}


def rendered(name: str) -> dict[str, str]:
    if name in ROLES:
        butane, ignition = roles.rendered()[ROLES[name]]
    else:
        butane, ignition = tuning_butane(node(name)), tuning_ignition(node(name))
    return {"bu": butane, "ign": json.dumps(json.loads(ignition), indent=2) + "\n"}


@pytest.mark.parametrize("ending", ["bu", "ign"])
@pytest.mark.parametrize("name", [*PURPOSE_OF, *ROLES])
def test_a_machine_boots_with_what_was_reviewed(name: str, ending: str) -> None:
    text = rendered(name)[ending]
    path = GOLDEN / f"{name}.{ending}"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


def test_no_golden_file_holds_a_secret() -> None:
    texts = {path.name: path.read_text() for path in GOLDEN.iterdir()}
    encoded = [base64.b64encode(secret.encode()).decode()[:-4] for secret in roles.SECRETS]
    held = [
        name for name, text in texts.items() if any(s in text for s in (*roles.SECRETS, *encoded))
    ]
    assert not held


def test_no_golden_file_is_left_of_a_machine_that_is_gone() -> None:
    assert {path.name.rsplit(".", 1)[0] for path in GOLDEN.iterdir()} == {*PURPOSE_OF, *ROLES}
