"""`python -m toolchain`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from toolchain import __main__ as command_line
from toolchain.build import ToolchainError, Tools

HERE = Path("/opt/here")


def test_an_unknown_program_is_refused_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command_line.main(["kowk"]) == 1

    assert "No program is called 'kowk': there are pulumi, control-plane" in capsys.readouterr().err


def test_what_cannot_be_had_is_one_line_and_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object, **_options: object) -> Tools:
        raise ToolchainError("There is no Go: install it.")

    monkeypatch.setattr(command_line, "ensure", fail)

    assert command_line.main([]) == 1
    assert capsys.readouterr().err == "toolchain: There is no Go: install it.\n"


def test_a_program_for_a_real_account_may_download_its_plugins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    became: list[tuple[Path, Sequence[str], Mapping[str, str]]] = []

    def become(path: Path, command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
        became.append((path, command, environment))
        raise SystemExit

    tools = Tools(programs={"pulumi": HERE / "pulumi"}, crds=HERE)
    monkeypatch.setattr(command_line, "ensure", lambda *_names, **_options: tools)
    monkeypatch.setattr(os, "execve", become)

    with pytest.raises(SystemExit):
        command_line.main(["exec", "pulumi", "preview", "--stack", "dev"])

    path, command, environment = became[0]
    assert path == HERE / "pulumi"
    assert command == ["pulumi", "preview", "--stack", "dev"]
    assert "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION" not in environment
    assert environment["PATH"].startswith(f"{HERE}:")
