"""Commands that run in a kept twin: what they are given, and which are refused."""

from pathlib import Path

import pytest
from rich.console import Console

from rehearsal.engine import Engine
from rehearsal.errors import RehearsalError
from rehearsal.processes import Processes
from rehearsal.twin_command import of_pulumi, run_in_twin
from rehearsal.workspace import Workspace


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(
        root=Path("/fleet"),
        environment_name="dev",
        directory=tmp_path,
        processes=Processes(tmp_path),
        pulumi=Path("/tools/pulumi"),
        environment={},
    )


@pytest.mark.parametrize("verb", ["up", "preview"])
def test_an_update_uses_the_twins_stack_file_and_holds_the_rules(engine: Engine, verb: str) -> None:
    given = of_pulumi(engine, (verb, "--diff"))
    assert given == (
        verb,
        "--stack=dev",
        f"--config-file={engine.directory}/Pulumi.dev.yaml",
        "--policy-pack=/fleet/policies",
        f"--policy-pack-config={engine.directory}/policy-config.json",
        "--diff",
    )


def test_the_configuration_is_the_twins_too(engine: Engine) -> None:
    assert of_pulumi(engine, ("config", "get", "x"))[:3] == ("config", *engine.arguments)


def test_other_commands_stay_as_they_were_typed(engine: Engine) -> None:
    assert of_pulumi(engine, ("stack", "output", "--json")) == ("stack", "output", "--json")
    assert of_pulumi(engine, ()) == ()


@pytest.mark.parametrize(
    "words", [("stack", "rm"), ("stack", "rename", "x"), ("destroy", "--remove")]
)
def test_what_would_change_the_tracked_stack_file_is_refused(
    engine: Engine, words: tuple[str, ...]
) -> None:
    with pytest.raises(RehearsalError, match=r"would change the tracked stack file; `fleet rehe"):
        of_pulumi(engine, words)


@pytest.mark.parametrize("words", [("-t", "urn"), ("--target-replace=urn",), ("--exclude", "urn")])
def test_an_update_of_a_part_is_refused_as_rules_judge_the_whole(
    engine: Engine, words: tuple[str, ...]
) -> None:
    with pytest.raises(RehearsalError, match=r"`fleet twin dev pulumi up` without it changes only"):
        of_pulumi(engine, ("up", "--yes", *words))


def test_what_no_rule_judges_may_name_a_part(engine: Engine) -> None:
    given = of_pulumi(engine, ("refresh", "--target", "urn"))
    assert given == ("refresh", *engine.arguments, "--target", "urn")


def test_without_a_kept_twin_the_way_to_one_is_told(tmp_path: Path) -> None:
    workspace = Workspace(root=tmp_path, environment="dev")
    with pytest.raises(
        RehearsalError, match=r"^No rehearsal of dev is kept: `fleet rehearse dev -"
    ):
        run_in_twin(workspace, "kubectl", ("get", "nodes"), Console())


def test_another_program_is_refused_with_those_that_run(tmp_path: Path) -> None:
    workspace = Workspace(root=tmp_path, environment="dev")
    with pytest.raises(
        RehearsalError, match=r'^"helm" does not run in a twin; allowed: kubectl, p'
    ):
        run_in_twin(workspace, "helm", (), Console())
