"""The commit that a rehearsal comes from: found, checked, written out."""

import subprocess
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from policies.environment import load
from rehearsal.errors import NoBeginningError, RehearsalError
from rehearsal.moves import change
from rehearsal.moves.change import Asked, Change, asked, check_ranges
from rehearsal.moves.commit import Commit, remove
from rehearsal.moves.deployed import head_of, unreadable
from rehearsal.progress import Progress
from rehearsal.workspace import Workspace
from settings import parse, stack_file
from tests.conftest import ROOT
from tests.support.stack_settings import with_value
from toolchain.build import Tools

FILES = {
    "Pulumi.yaml": "name: gpu-fleet\n",
    "stacks/__main__.py": "before = True\n",
    "stacks/Pulumi.dev.yaml": "config: {}\n",
    "requirements.lock": "pulumi==1\n",
}


def git(root: Path, *words: str) -> str:
    own = ("-c", "user.name=test", "-c", "user.email=test@fleet.example")
    command = ("git", *own, *words)
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(root: Path, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
    git(root, "add", "--all", ".")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "A change")


@pytest.fixture(params=["", "fleet"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A checkout, or a project in a folder of one."""
    folder = tmp_path / "repository" / str(request.param)
    folder.mkdir(parents=True)
    git(tmp_path / "repository", "init", "--quiet")
    commit(folder, dict(FILES))
    return folder


def test_the_files_are_those_of_the_commit_and_the_repository_learns_nothing(
    root: Path, tmp_path: Path
) -> None:
    commit(root, {"stacks/__main__.py": "before = False\n"})
    status, folder = git(root, "status", "--porcelain"), tmp_path / "rehearsal" / "before"
    found = Commit.find(root, "HEAD~1")
    found.check("dev")
    found.write(folder)
    assert {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    } == FILES
    assert git(root, "status", "--porcelain") == status == ""
    assert git(root, "worktree", "list").count("\n") == 0
    remove(folder)
    assert list(folder.parent.iterdir()) == []


def test_a_commit_that_is_not_there_is_refused(root: Path) -> None:
    with pytest.raises(RehearsalError, match="--from nowhere: the repository has no such commit"):
        Commit.find(root, "nowhere")
    with pytest.raises(RehearsalError, match="has no such commit"):
        Commit.find(root, "--all")


def test_a_folder_without_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match="is no checkout of a git repository"):
        Commit.find(tmp_path, "main")


def test_a_commit_with_other_packages_is_refused(root: Path) -> None:
    commit(root, {"requirements.lock": "pulumi==2\n"})
    with pytest.raises(NoBeginningError, match=r"has another requirements\.lock .*without --from"):
        Commit.find(root, "HEAD~1").check("dev")


def test_a_commit_before_the_environment_is_refused(root: Path) -> None:
    sentence = r"has no stacks/Pulumi\.prod\.yaml, so it has no prod to begin with"
    with pytest.raises(NoBeginningError, match=sentence):
        Commit.find(root, "HEAD").check("prod")


def test_options_that_mean_nothing_together_are_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match="--jobs says what runs before a change"):
        asked(root, "dev", None, tmp_path / "jobs.yaml", again=False)
    with pytest.raises(RehearsalError, match="leave one of them out"):
        asked(root, "dev", "HEAD", None, again=True)
    assert asked(root, "dev", None, None, again=True) is None


def test_a_change_of_the_ranges_of_pods_is_no_change_of_a_cluster() -> None:
    before, wanted = (
        parse("dev", with_value("cluster.pod_cidr", each)).cluster
        for each in ("10.14.0.0/16", "10.24.0.0/16")
    )
    with pytest.raises(
        NoBeginningError, match=r"cluster\.pod_cidr is 10\.24\.0\.0/16, and was 10\."
    ):
        check_ranges(before, wanted)
    check_ranges(before, before)


def test_a_stack_file_that_todays_settings_refuse_is_named_as_git_shows_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(root, {"stacks/Pulumi.dev.yaml": "config:\n  gpu-fleet:pols: {}\n"})
    monkeypatch.chdir(root)
    workspace = Workspace(root=root, environment="dev")
    found = Asked(commit=Commit.find(root, "HEAD"), snapshot=None)
    tracked = stack_file(ROOT, "dev")
    change = Change(workspace, load(tracked), tracked, found)
    with pytest.raises(NoBeginningError) as refused:
        change.bring_up(cast("Tools", None), Progress(Console()), lambda _twin: pytest.fail("up"))
    short = found.commit.short
    assert f"The stack file of commit {short} is not one for" in str(refused.value)
    assert f"{short}:stacks/Pulumi.dev.yaml:2: gpu-fleet:pols is not a known key" in str(
        refused.value
    )
    assert not workspace.before.exists()


def entry(kind: str = "update", result: str = "succeeded", **environment: str) -> dict[str, object]:
    return {"kind": kind, "environment": environment, "result": result}


CLEAN = {"git.head": "a" * 40, "git.dirty": "false"}


def test_what_is_deployed_is_the_commit_of_the_last_update() -> None:
    older = entry(**{"git.head": "b" * 40, "git.dirty": "true"})
    history = [entry("refresh"), entry("preview"), entry(**CLEAN), older]
    assert head_of("prod", history) == "a" * 40


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ([entry(**{**CLEAN, "git.dirty": "true"})], r"had changes beside its commit aaaaaaaaaaaa"),
        (
            [entry(result="failed", **CLEAN), entry(**CLEAN)],
            r'has the result "failed", so no commit is what is deployed; allowed: "succeeded"',
        ),
        ([entry(result="in-progress", **CLEAN)], 'has the result "in-progress"'),
        ([entry(result="", **CLEAN)], 'has the result "none"'),
        ([entry()], "was made outside a git repository"),
        ([], "the stack prod has no update in its history"),
        ([entry("destroy"), entry(**CLEAN)], "the stack prod was destroyed"),
    ],
)
def test_what_no_commit_is_is_refused(history: list[dict[str, object]], says: str) -> None:
    with pytest.raises(RehearsalError, match=f"--from deployed: .*{says}"):
        head_of("prod", history)


@pytest.mark.parametrize(
    ("said", "helps"),
    [
        (
            "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions",
            (
                "You are not logged in to the backend with the state of prod: run `pulumi login "
                "ADDRESS`, or set PULUMI_BACKEND_URL."
            ),
        ),
        (
            "error: failed to load checkpoint: place 1: invalid character in string literal",
            "The state of prod or its lock is damaged (failed to load checkpoint: place 1: ",
        ),
        (
            "error: read .pulumi/meta.yaml: MissingRegion: could not find region configuration",
            "The bucket of the backend has no region (read .pulumi/meta.yaml: MissingRegion: ",
        ),
        ("error: no stack named 'prod' found", "The backend has no stack prod: run `pulumi stack"),
        ("error: something else", "something else"),
        ("", "it said nothing"),
    ],
)
def test_a_history_that_cannot_be_read_says_what_helps(said: str, helps: str) -> None:
    told = unreadable("prod", f"warning: a new version\n{said}\n" if said else "")
    beginning = "--from deployed: the history of the stack prod cannot be read. "
    assert told.startswith(f"{beginning}{helps}")


def test_a_deployed_commit_that_is_not_here_is_told_with_how_to_get_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = "0123456789" * 4
    monkeypatch.setattr(change, "deployed_commit", lambda _root, _environment: sha)
    with pytest.raises(RehearsalError) as refused:
        asked(root, "dev", "deployed", None, again=False)
    assert str(refused.value) == (
        f"--from deployed: dev was last updated from commit {sha}, which is not here: bring it by "
        "`git fetch`, in a shallow clone by `git fetch --unshallow`."
    )
