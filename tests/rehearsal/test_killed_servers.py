"""A server that is killed ends the rehearsal, which names it and nothing that followed from it."""

import json

import psutil
import pytest

from tests.rehearsal.conftest import DEADLINE_S, Checkout


def server(checkout: Checkout, name: str) -> psutil.Process:
    records = checkout.workspace().processes.records()
    (found,) = [psutil.Process(record.pid) for record in records if record.name == name]
    return found


@pytest.mark.parametrize(
    "name",
    [
        "etcd",
        "kwok",
        pytest.param("admitter", marks=pytest.mark.slow),
        "provider-server",
        pytest.param("kube-apiserver", marks=pytest.mark.slow),
        pytest.param("machine-loop", marks=pytest.mark.slow),
    ],
)
def test_a_server_that_is_killed_during_up_is_the_one_problem(
    checkout: Checkout, name: str
) -> None:
    rehearsal = checkout.start("rehearse", "dev", "--keep")
    rehearsal.wait_for("… preview")
    server(checkout, "kwok").suspend()  # without it no node becomes Ready, and `up` cannot end
    rehearsal.wait_for("… up")
    server(checkout, name).kill()
    stdout, _ = rehearsal.process.communicate(timeout=DEADLINE_S)

    log = checkout.workspace().processes.log(name).resolve()
    report = json.loads(checkout.workspace().report.read_text())
    assert report["problems"] == [f"{name} was killed by signal 9 (log: {log})."]
    assert stdout.startswith("\ndev failed: 1 problem.\n")
    assert f"✗ {name} was killed by signal 9" in stdout
    assert "Pools as the stack file plans them; the update did not end:" in stdout
    assert {pool["name"] for pool in report["pools"]} == {"burst", "cpu", "dgx"}
    assert rehearsal.process.returncode == 1
    assert checkout.left_running() == []
    assert not checkout.workspace().is_kept
