"""What the engine is started with, and how its failures read."""

from pathlib import Path

import pytest

from engine.events import Diagnostic, Outcome, Violation
from policies.verdicts import Finding
from rehearsal.engine import EngineError, environment, variables

PORTS = {"hcloud": 1, "aws": 2, "kubernetes": 3}


def test_nothing_of_the_users_accounts_reaches_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PULUMI_ACCESS_TOKEN", "AWS_PROFILE", "HCLOUD_TOKEN", "KUBECONFIG"):
        monkeypatch.setenv(name, "theirs")
    found = environment({"PATH": "/tools"}, Path("/rehearsal"), provider_ports=PORTS)
    assert "theirs" not in found.values()
    assert found["PATH"] == "/tools"


def test_the_stand_ins_take_the_place_of_the_providers() -> None:
    found = variables(Path("/rehearsal"), PORTS)
    assert found["PULUMI_DEBUG_PROVIDERS"] == "hcloud:1,aws:2,kubernetes:3"


def test_a_path_with_a_space_is_a_valid_address_of_the_state() -> None:
    found = variables(Path("/my fleet/.rehearsal"), PORTS)
    assert found["PULUMI_BACKEND_URL"] == "file:///my%20fleet/.rehearsal/state"


def failed(log: Path, *violations: Violation, errors: tuple[str, ...] = ()) -> list[str]:
    outcome = Outcome(
        violations=list(violations),
        diagnostics=[Diagnostic(severity="error", resource="burst", message=e) for e in errors],
    )
    return str(EngineError("preview", outcome, log)).splitlines()


def test_a_broken_rule_is_the_reason_not_what_the_engine_says_of_it(tmp_path: Path) -> None:
    broken = Violation(
        pack="gpu-fleet",
        policy="fleet-resources",
        level="mandatory",
        urn="urn:pulumi:dev::gpu-fleet::x::burst",
        message="idle/gpu-node-pool: NodePool 'burst' must set limits.\nWhy. See https://…",
    )
    (reason,) = failed(tmp_path / "log", broken, errors=("policy violation",))
    assert reason.startswith("pulumi preview: burst: idle/gpu-node-pool: NodePool 'burst' must")
    assert reason.endswith(f"Why. See https://… (log: {tmp_path / 'log'})")


def test_what_the_pack_has_found_stands_for_what_the_engine_says_of_it(tmp_path: Path) -> None:
    said = Violation(
        pack="gpu-fleet", policy="p", level="mandatory", urn="x::burst", message="Rules. All of it."
    )
    found = Finding(
        rule="idle/gpu-node-pool",
        level="mandatory",
        state="violated",
        resource=None,
        sentences=("NodePool 'burst' must set limits.",),
    )
    told = EngineError("preview", Outcome(violations=[said]), tmp_path / "log", [found])
    assert str(told) == "idle/gpu-node-pool: NodePool 'burst' must set limits."


def test_each_error_is_a_line_of_its_own(tmp_path: Path) -> None:
    first, second = failed(tmp_path / "log", errors=("no CIDR", "no name"))
    assert first == "pulumi preview: burst: no CIDR"
    assert second.startswith("pulumi preview: burst: no name (log: ")


def test_an_engine_that_died_without_a_word_shows_the_end_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("starting\nerror: no stack named 'dev' found\n")
    (reason,) = failed(tmp_path / "log")
    assert reason.startswith("pulumi preview: error: no stack named 'dev' found (log: ")
