"""The runbook of the first update: its command for networks and addresses, on an empty stack."""

import re
import shlex
import subprocess
from collections.abc import Callable

from tests.conftest import ROOT
from tests.engine.conftest import Change, Trial

RUNBOOK = (ROOT / "docs" / "runbooks" / "first-up.md").read_text()


def test_networks_and_addresses_come_before_everything_that_needs_the_cluster(
    twin_of: Callable[[str, Change], Trial],
) -> None:
    trial = twin_of("research", lambda _config: None)
    engine = trial.engine
    (line,) = re.findall(r"^pulumi up --stack research (.*)$", RUNBOOK, re.MULTILINE)
    options = ("--yes", "--skip-preview", "--non-interactive", *engine.arguments)

    ended = subprocess.run(
        [engine.pulumi, "up", *shlex.split(line), *options],
        cwd=engine.root,
        env=dict(engine.environment),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    made = {call["type"].rpartition(":")[2] for call in trial.created()}
    assert made == {"Network", "NetworkSubnet", "Firewall", "PrimaryIp"}
    assert "198.18." in ended.stdout, "the address for the DNS record is shown"
