"""The workflows of GitHub Actions: what actionlint says, and that what they name exists."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from fleet.cli.main import app
from fleet.preview.markdown import mark
from rehearsal.cli import NO_BEGINNING
from tests.conftest import ROOT
from tests.support.judges.shell_scripts import shellcheck
from toolchain.build import ensure, versions
from toolchain.programs import PROGRAMS

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
ENVIRONMENTS = {path.name.split(".")[1] for path in (ROOT / "stacks").glob("Pulumi.*.yaml")}
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


@cache
def workflow(name: str) -> dict[str, Any]:
    found: dict[Any, Any] = yaml.safe_load((FOLDER / f"{name}.yml").read_text())
    return {
        "on" if key is True else key: value for key, value in found.items()
    }  # as YAML 1.1 has it


def jobs(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from workflow(path.stem)["jobs"].items()


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for _, job in jobs(path):
        yield from job.get("steps", [])


def use(step: dict[str, Any]) -> str:
    """The action of a step, without its version."""
    return str(step.get("uses", "")).partition("@")[0]


def commands(path: Path) -> str:
    return "\n".join(step.get("run", "") for step in steps(path))


@each_workflow
def test_actionlint_finds_nothing(path: Path) -> None:
    actionlint = ensure(("actionlint",), console=None).path("actionlint")
    # pyflakes is whatever a machine has, so it would not judge alike everywhere
    found = subprocess.run(
        [actionlint, "-no-color", "-shellcheck", shellcheck(), "-pyflakes=", path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout + found.stderr == ""
    assert found.returncode == 0


@each_workflow
def test_every_action_is_pinned_by_commit_and_says_its_version(path: Path) -> None:
    named = re.findall(r"uses: (\S+@\S+.*)$", path.read_text(), re.MULTILINE)
    loose = [use for use in named if not re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", use)]
    assert loose == []


@each_workflow
def test_every_make_target_of_a_workflow_is_in_the_makefile(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    patterns = [
        line.split(":")[0] for line in makefile.splitlines() if re.match(r"[a-z.]\S*:", line)
    ]
    for target in re.findall(r"\bmake +\"?([\w./$%-]+)", commands(path)):
        plain = target.replace("$ENVIRONMENT", "%")
        assert plain in patterns, f"{path.name} makes {target}, which the Makefile does not know"


@each_workflow
def test_a_job_may_do_no_more_than_it_says(path: Path) -> None:
    assert workflow(path.stem)["permissions"] == {}
    for name, job in jobs(path):
        publishes = (path.stem, name) == ("release", "publish")
        assert job["permissions"]["contents"] == ("write" if publishes else "read"), name


def test_what_publishes_a_release_runs_none_of_the_repository_and_keeps_what_was_built() -> None:
    build, publish = (job["steps"] for _, job in jobs(FOLDER / "release.yml"))
    assert [use(step) for step in publish] == ["actions/download-artifact", ""]
    assert "actions/cache" not in {use(step).removesuffix("/restore") for step in build}
    order = [use(step) or step["name"] for step in build]
    assert order[-3:] == ["Build and pack", "actions/attest", "actions/upload-artifact"]
    assert "SHA256SUMS" in publish[1]["run"]


def test_a_release_is_built_for_both_kinds_of_machines_by_the_command_that_takes_it() -> None:
    matrix = workflow("release")["jobs"]["toolchain"]["strategy"]["matrix"]["include"]
    assert {each["architecture"] for each in matrix} == {"amd64", "arm64"}
    assert 'python -m toolchain pack "$ARCHIVE"' in commands(FOLDER / "release.yml")
    (take,) = re.findall(r"if \$\(ARCHIVE\),(.*)\)", (ROOT / "Makefile").read_text())
    assert take == 'take "$(ARCHIVE)" "$(SHA256)"'


def test_every_environment_is_rehearsed_and_previewed() -> None:
    for name, job in jobs(FOLDER / "preview.yml"):
        assert set(job["strategy"]["matrix"]["environment"]) == ENVIRONMENTS, name


def test_environments_are_updated_one_after_the_other() -> None:
    updates = dict(jobs(FOLDER / "up.yml"))
    assert {job["with"]["environment"] for job in updates.values()} == ENVIRONMENTS
    assert all(job["with"]["environment"] == name for name, job in updates.items())
    order = {name: job.get("needs") for name, job in updates.items()}
    assert order == {"dev": None, "research": "dev", "prod": "research"}


@pytest.mark.parametrize("name", ["preview", "up-environment"])
def test_the_rehearsal_gets_no_secret_and_no_token(name: str) -> None:
    rehearse = workflow(name)["jobs"]["rehearse"]
    assert "secrets." not in yaml.safe_dump(rehearse)
    assert rehearse["permissions"] == {"contents": "read"}
    assert "environment" not in rehearse


def test_an_update_needs_the_statement_of_its_own_run_or_a_signed_one_of_its_commit() -> None:
    rehearse, up = (workflow("up-environment")["jobs"][name] for name in ("rehearse", "up"))
    assert up["needs"] == "rehearse"
    (given,) = (step for step in rehearse["steps"] if use(step) == "actions/upload-artifact")
    (taken,) = (step for step in up["steps"] if use(step) == "actions/download-artifact")
    assert given["with"]["name"] == taken["with"]["name"]
    assert set(taken["with"]) == {"name", "path"}, "it is of no other run"
    order = [use(step) or step["name"] for step in up["steps"]]
    demand = order.index("Demand that this commit was rehearsed")
    assert order.index("actions/download-artifact") < demand
    assert demand < order.index("aws-actions/configure-aws-credentials")
    assert demand < order.index("pulumi/actions")
    command = up["steps"][demand]["run"]
    assert 'fleet statement verify "$ENVIRONMENT"' in command
    assert '--commit "$GITHUB_SHA"' in command
    assert "if" not in up["steps"][demand]
    assert "continue-on-error" not in up["steps"][demand]


def taken_note(tmp_path: Path, *, of: str, folders: int, holds: bool) -> str:
    """Runs the workflow's step for the commit 1f… with a note `of` one; returns what it prints."""
    parts = [of[2 * n : 2 * n + 2] for n in range(folders)] + [of[2 * folders :]]
    note = tmp_path.joinpath(".preview", "notes", *parts)
    note.parent.mkdir(parents=True)
    note.write_text("signed")
    (tmp_path / "temporary").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    told = f'#!/bin/sh\necho "$0 $@"\nexit {int(not holds)}\n'
    stand_ins = {tmp_path / "make": "#!/bin/sh\n", tmp_path / ".venv" / "bin" / "fleet": told}
    for path, text in stand_ins.items():
        path.write_text(text)
        path.chmod(0o755)
    steps = workflow("up-environment")["jobs"]["rehearse"]["steps"]
    (script,) = (step["run"] for step in steps if step.get("id") == "note")
    variables = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "ENVIRONMENT": "prod",
        "GITHUB_SHA": "1f" * 20,
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "RUNNER_TEMP": str(tmp_path / "temporary"),
    }
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],  # noqa: S607  # as a runner does
        cwd=tmp_path,
        env=variables,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def is_taken(tmp_path: Path) -> bool:
    """Whether the note goes on to the update; else the environment is rehearsed."""
    taken = (tmp_path / "temporary" / "statement.json").exists()
    assert (tmp_path / "output").read_text() == f"signed={str(taken).lower()}\n"
    return taken


@pytest.mark.parametrize("folders", [0, 1, 2])
@pytest.mark.parametrize("signed", [True, False])
def test_the_note_of_a_commit_is_found_wherever_git_keeps_it(
    tmp_path: Path, folders: int, signed: bool
) -> None:
    """Git spreads notes over folders when they are many."""
    of = "1f" * 20 if signed else "2e" * 20
    taken_note(tmp_path, of=of, folders=folders, holds=True)
    assert is_taken(tmp_path) is signed


def test_a_note_that_does_not_hold_is_left_and_the_environment_rehearsed(tmp_path: Path) -> None:
    said = taken_note(tmp_path, of="1f" * 20, folders=1, holds=False)
    assert not is_taken(tmp_path)
    asked, warning = said.splitlines()
    assert asked.startswith(".venv/bin/fleet statement verify prod ")
    assert asked.endswith(f"note.json --commit {'1f' * 20}")
    assert warning.startswith("::warning::The signed statement of prod does not hold")


def test_every_check_runs_on_pull_requests_and_on_what_was_merged() -> None:
    assert workflow("test")["on"] == {"push": {"branches": ["main"]}, "pull_request": None}
    assert "make test" in commands(FOLDER / "test.yml").splitlines()
    assert workflow("test")["jobs"]["test"]["timeout-minutes"] <= 60


def test_the_slow_tests_run_every_night_and_show_their_result() -> None:
    (schedule,) = workflow("nightly")["on"]["schedule"]
    assert re.fullmatch(r"\d+ \d+ \* \* \*", schedule["cron"])
    build, run, show = (step["run"] for step in steps(FOLDER / "nightly.yml") if "run" in step)
    (page,) = re.findall(r"--result=(\S+)", (ROOT / "Makefile").read_text())
    on_demand = {name for name, program in PROGRAMS.items() if program.on_demand}
    usual, more = build.splitlines()
    assert usual == "make toolchain"
    command, _, names = more.partition(" -m toolchain ")
    assert (command, {*names.split()}) == (".venv/bin/python", on_demand), "tests build none"
    assert run == f"rm {page} && make test-slow", "an old result is not shown as this run's"
    assert show == f'cat {page} >> "$GITHUB_STEP_SUMMARY"'


def test_pytest_takes_the_command_line_of_the_slow_tests() -> None:
    (words,) = re.findall(r"pytest (.*-m slow.*)", (ROOT / "Makefile").read_text())
    command = (
        sys.executable,
        "-m",
        "pytest",
        *words.split(),
        "--markers",
    )  # reads it, runs nothing
    read = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr


@pytest.mark.parametrize("name", ["test", "nightly"])
def test_the_tests_get_no_secret_and_no_token(name: str) -> None:
    assert "secrets." not in yaml.safe_dump(workflow(name))
    assert [job["permissions"] for _, job in jobs(FOLDER / f"{name}.yml")] == [{"contents": "read"}]


def test_the_toolchain_is_built_anew_only_where_its_sources_or_the_lock_changed() -> None:
    keys = {
        path.stem: step["with"]["key"]
        for path in WORKFLOWS
        for step in steps(path)
        if use(step) in ("actions/cache", "actions/cache/restore")
        and step["with"]["path"] == ".toolchain"
    }
    sources = "${{ hashFiles('toolchain/**', 'requirements.lock') }}"
    assert all(key.endswith(f"-{sources}") for key in keys.values())
    assert keys.keys() == {"preview", "test", "nightly", "up-environment"}
    different = {keys["preview"], keys["test"], keys["nightly"]}
    assert len(different) == 3, "a rehearsal builds fewer programs, the slow tests build more"


@pytest.mark.parametrize("name", ["test", "nightly"])
def test_a_toolchain_that_was_built_is_saved_before_a_test_can_fail(name: str) -> None:
    order = [use(step) or step.get("run", "") for step in steps(FOLDER / f"{name}.yml")]
    saved = order.index("actions/cache/save")
    (built,) = [at for at, run in enumerate(order) if "make toolchain" in run.splitlines()]
    assert built < saved
    assert all("make test" not in run for run in order[:saved])


def test_an_update_needs_the_approval_of_its_environment_and_is_never_broken_off() -> None:
    update = workflow("up-environment")["jobs"]["up"]
    assert update["environment"] == "${{ inputs.environment }}"
    assert update["concurrency"]["cancel-in-progress"] is False
    action = next(step["with"] for step in update["steps"] if "pulumi" in step.get("uses", ""))
    assert action["policyPacks"] == "policies"
    assert (ROOT / "policies" / "PulumiPolicy.yaml").is_file()


def test_the_engine_of_the_workflows_is_one_that_the_toolchain_takes() -> None:
    wanted = {
        step["with"]["pulumi-version"]
        for path in WORKFLOWS
        for step in steps(path)
        if step.get("uses", "").startswith("pulumi/actions@")
    }
    assert wanted == {f"^{versions['pulumi']}"}


def test_the_makefile_previews_with_a_command_that_writes_markdown() -> None:
    assert "fleet preview $(ENV) " in (ROOT / "Makefile").read_text()
    told = CliRunner().invoke(app, ["preview", "--help"], env={"COLUMNS": "120", "TERM": "dumb"})
    assert told.exit_code == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", told.output)
    assert all(option in plain for option in ("--markdown", "--sarif", "--rehearsal", "--docs"))


def test_the_preview_gets_what_the_rehearsal_of_its_environment_found() -> None:
    kept, taken = (
        next(s["with"]["name"] for s in workflow("preview")["jobs"][job]["steps"] if use(s) == name)
        for job, name in (
            ("rehearse", "actions/upload-artifact"),
            ("preview", "actions/download-artifact"),
        )
    )
    assert kept == taken == "rehearsal-${{ matrix.environment }}"
    preview = workflow("preview")["jobs"]["preview"]
    assert preview["needs"] == "rehearse"
    assert preview["if"] == "${{ !cancelled() }}", "a failed rehearsal is told, too"


def test_the_report_of_a_rehearsal_is_kept_as_a_page() -> None:
    steps = workflow("preview")["jobs"]["rehearse"]["steps"]
    (write,) = [step for step in steps if "fleet report" in step.get("run", "")]
    (keep,) = [step for step in steps if use(step) == "actions/upload-artifact"]
    (page,) = re.findall(r'--html "(\S+)"', write["run"])
    assert page.replace("$ENVIRONMENT", "${{ matrix.environment }}") in keep["with"]["path"].split(
        "\n"
    )
    assert steps.index(write) < steps.index(keep)
    assert write["if"] == keep["if"] == "${{ !cancelled() }}", "of a failed rehearsal above all"


def test_a_pull_request_is_rehearsed_from_the_commit_that_it_is_merged_into() -> None:
    steps = workflow("preview")["jobs"]["rehearse"]["steps"]
    checkout = next(s for s in steps if use(s) == "actions/checkout")
    assert checkout["with"]["fetch-depth"] == 2, "HEAD is the merge, HEAD^1 what it is merged into"


def rehearsed_change(
    tmp_path: Path, codes: tuple[int, ...]
) -> tuple[int, list[str], str, dict[str, Any]]:
    """Runs the workflow's step where `fleet rehearse` ends so, each time.

    Returns its exit code, what was run, what it prints and the report that it leaves.
    """
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    fleet = f"""#!/bin/sh
echo "$@" >> asked
number=$(wc -l < asked)
echo "{{\\"problems\\": [\\"reason $number\\"]}}"
exit "$(echo {" ".join(map(str, codes))} | cut -d ' ' -f "$number")"
"""
    for path, text in ((".venv/bin/fleet", fleet), ("make", "#!/bin/sh\n")):
        (tmp_path / path).write_text(text)
        (tmp_path / path).chmod(0o755)
    steps = workflow("preview")["jobs"]["rehearse"]["steps"]
    (script,) = (step["run"] for step in steps if "fleet rehearse" in step.get("run", ""))
    variables = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "ENVIRONMENT": "prod",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],  # noqa: S607  # as a runner does
        cwd=tmp_path,
        env=variables,
        check=False,
        capture_output=True,
        text=True,
    )
    report = json.loads((tmp_path / "rehearsal-prod.json").read_text())
    return done.returncode, (tmp_path / "asked").read_text().splitlines(), done.stdout, report


FROM, FROM_NOTHING = "rehearse prod --json --from HEAD^1", "rehearse prod --json"


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_rehearsed_change_ends_the_step_as_it_ends(tmp_path: Path, code: int) -> None:
    assert rehearsed_change(tmp_path, (code,)) == (code, [FROM], "", {"problems": ["reason 1"]})


@pytest.mark.parametrize("code", [0, 1])
def test_what_cannot_come_from_its_commit_is_rehearsed_from_nothing_with_a_notice(
    tmp_path: Path, code: int
) -> None:
    ended, asked, said, report = rehearsed_change(tmp_path, (NO_BEGINNING, code))
    assert (ended, asked) == (code, [FROM, FROM_NOTHING])
    told = "prod is rehearsed from nothing, and not the change: reason 1"
    assert said == f"::notice::{told}\n"
    assert (tmp_path / "summary").read_text() == f"{told}\n"
    assert report == {"problems": ["reason 2"]}


def test_a_comment_is_found_again_by_the_mark_that_the_preview_writes() -> None:
    steps = workflow("preview")["jobs"]["preview"]["steps"]
    fallback = next(step["run"] for step in steps if "it did not begin" in step.get("run", ""))
    assert f'echo "{mark("$ENVIRONMENT")}" > preview.md' in fallback
    script = next(step["with"]["script"] for step in steps if "script" in step.get("with", {}))
    assert "body.startsWith(mark)" in script
    assert "updateComment" in script


def test_code_scanning_gets_the_file_that_the_preview_writes() -> None:
    steps = workflow("preview")["jobs"]["preview"]["steps"]
    upload = next(s for s in steps if use(s) == "github/codeql-action/upload-sarif")
    assert f"SARIF={upload['with']['sarif_file']} " in commands(FOLDER / "preview.yml")
    assert "matrix.environment" in upload["with"]["category"], "else one would close the others'"
