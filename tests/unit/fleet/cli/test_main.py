"""What all verbs of the command have in common."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.cli.main import app
from tests.conftest import ROOT


@pytest.mark.parametrize("verb", [("plan", "dgx-h200", "--svg"), ("render", "dev", "--out")])
def test_a_place_that_cannot_be_written_is_one_sentence(
    verb: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "out"
    said = CliRunner().invoke(app, [*verb, str(target)])
    assert said.exit_code == 2
    assert said.stdout == ""
    assert said.stderr.startswith(str(target))
    assert said.stderr.endswith("Not a directory.\n")
    assert said.stderr.count("\n") == 1


GROUPS = {str(group.name): group.typer_instance for group in app.registered_groups}
VERBS = [
    *((str(verb.name),) for verb in app.registered_commands),
    *((group,) for group in GROUPS),
    *(
        (group, str(verb.name))
        for group, verbs in GROUPS.items()
        if verbs is not None
        for verb in verbs.registered_commands
    ),
]


def loaded(*words: str) -> set[str]:
    """The modules that `fleet WORDS…` has loaded in a process of its own."""
    script = (
        "import sys\n"
        "from fleet.cli.main import app\n"
        "try:\n"
        f"    app({words!r})\n"
        "except SystemExit as end:\n"
        "    print('exit', end.code)\n"
        "print('modules', *sys.modules)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    *_shown, code, modules = ended.stdout.splitlines()
    assert code == "exit 0"
    return set(modules.split()[1:])


def test_the_help_text_loads_no_heavy_module() -> None:
    heavy = {"pulumi", "grpc", "pydantic", "jinja2", "yaml", "jsonschema", "rich"}
    assert not loaded("--help") & heavy


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "dgx-h200"),
        ("plan", "diff", "dgx-h200", "prod/dgx"),
        ("explain", "isolcpus"),
        ("shape", "prod/dgx"),
        ("hardware", "list"),
        ("render", "prod", "--out", "OUT"),
    ],
)
def test_a_pure_verb_loads_no_pulumi(words: tuple[str, ...], tmp_path: Path) -> None:
    asked = (str(tmp_path) if word == "OUT" else word for word in words)
    assert not loaded(*asked) & {"pulumi", "grpc"}


def test_validate_loads_nothing_of_a_twin_and_no_tables() -> None:
    found = loaded("validate", "dev")
    assert "pulumi_kubernetes" in found
    assert not found & {"cryptography.x509", "rehearsal.stackfile", "rehearsal.twin", "rich"}


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_names_arguments_without_braces_and_flags_without_a_type(
    verb: tuple[str, ...],
) -> None:
    shown = CliRunner().invoke(app, [*verb, "--help"], terminal_width=80).stdout
    usage = shown[: shown.index("\n\n")]
    assert "{" not in usage
    assert "<bool>" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_list_of_verbs_is_not_cut_at_80_columns() -> None:
    assert "..." not in CliRunner().invoke(app, ["--help"], terminal_width=80).stdout.replace(
        "COMMAND [ARGS]...", ""
    )


def test_the_help_of_plan_shows_the_form_with_a_machine() -> None:
    shown = CliRunner().invoke(app, ["plan", "--help"], terminal_width=80).stdout
    assert "Usage: fleet plan MACHINE|ENV/POOL [--purpose PURPOSE]" in " ".join(shown.split())


def test_a_full_disk_is_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", "from fleet.cli.main import app; app()", "envs", "--json"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    told = "Nothing more can be written: No space left on device.\n"
    assert (ended.returncode, ended.stderr) == (2, told)
