"""What `fleet destroy` tells about what is left, and about an engine that fails."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
import yaml
from rich.console import Console

from engine.events import Outcome
from fleet.cli.place import ROOT
from fleet.destroy import command as destroy
from fleet.destroy.command import GONE, LEFT, tear_down
from fleet.destroy.left import Left
from fleet.destroy.run import Teardown
from fleet.destroy.stack import DeployedStack, DestroyError
from fleet.reinstall.target import ReinstallError, target_of
from kube.waiting import Say
from settings import load
from tests.support.renames import rename

ROOT_URN = "urn:pulumi:dev::gpu-fleet::pulumi:pulumi:Stack::gpu-fleet-dev"
POOL_URN = "urn:pulumi:dev::gpu-fleet::gpu:pools:BareMetalPool::dgx"
STATE = {
    "deployment": {
        "resources": [
            {"urn": ROOT_URN, "type": "pulumi:pulumi:Stack"},
            {"urn": POOL_URN, "type": "gpu:pools:BareMetalPool", "parent": ROOT_URN},
            {
                "urn": "urn:pulumi:dev::gpu-fleet::metal3.io::BareMetalHost::dgx-dev-dgx-01",
                "type": "kubernetes:metal3.io/v1alpha1:BareMetalHost",
                "parent": POOL_URN,
                "protect": True,
            },
        ]
    }
}


@dataclass(frozen=True, kw_only=True)
class Done(Teardown):
    """A teardown that is over."""

    found: tuple[Left, ...]

    def end_rented(self, tell: Say) -> None:
        pass

    def destroy(self, progress: Callable[[Outcome], None]) -> None:
        pass

    def left(self) -> Iterator[Left]:
        yield from self.found


@pytest.mark.parametrize(
    ("found", "ends"),
    [
        (Left(kind="servers at Hetzner"), GONE),
        (Left(kind="servers at Hetzner", names=("cpu-1",)), LEFT),
        (Left(kind="instances in us-east-1", ask="aws ec2 describe-instances"), LEFT),
    ],
    ids=["nothing", "a server", "AWS was not asked"],
)
def test_only_what_was_counted_as_nothing_is_gone(found: Left, ends: int, tmp_path: Path) -> None:
    settings = load(ROOT / "stacks/Pulumi.dev.yaml")
    over = Done(settings=settings, stack=stack(tmp_path), lifted=(), found=(found,))
    assert tear_down(Console(stderr=True), over) == ends


def test_what_the_engine_says_is_told_without_brackets(tmp_path: Path) -> None:
    with pytest.raises(DestroyError) as caught:
        stack(tmp_path).resources()
    assert str(caught.value) == "`pulumi stack export` failed: no stack named 'dev' found."


def stack(folder: Path) -> DeployedStack:
    """A stack whose engine knows no stack."""
    pulumi = folder / "pulumi"
    pulumi.write_text(
        f"#!{sys.executable}\nimport sys\nsys.exit(\"error: no stack named 'dev' found\")\n"
    )
    pulumi.chmod(0o755)
    return DeployedStack(
        root=folder, environment="dev", pulumi=pulumi, variables={}, arguments=("--stack=dev",)
    )


def test_a_renamed_pool_is_lifted_and_reinstalled_by_its_name_in_the_file(tmp_path: Path) -> None:
    content = yaml.safe_load((ROOT / "stacks/Pulumi.dev.yaml").read_text())
    rename(content["config"])
    (tmp_path / "Pulumi.dev.yaml").write_text(yaml.safe_dump(content))
    settings = load(tmp_path / "Pulumi.dev.yaml")
    known = stack(tmp_path)
    known.pulumi.write_text(f"#!/bin/sh\necho '{json.dumps(STATE)}'\n")

    assert [*Teardown(settings=settings, stack=known, lifted=["h200"]).held()] == ["h200"]
    with pytest.raises(DestroyError, match='--lift is "dgx"; allowed: h200'):
        Teardown(settings=settings, stack=known, lifted=["dgx"]).held()
    target = target_of(settings, "h200")
    assert (target.namespace, target.command) == ("metal3-dgx", "fleet reinstall dev h200")
    with pytest.raises(ReinstallError, match=r'"dgx" is not a pool .*; allowed: h200'):
        target_of(settings, "dgx")


def test_without_an_answer_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def abort(*_words: object, **_more: object) -> None:
        raise typer.Abort

    empty = stack(tmp_path)
    empty.pulumi.write_text("#!/bin/sh\necho '{}'\n")
    monkeypatch.setattr(destroy, "ensure", lambda *_names, **_more: Tools(empty.pulumi))
    monkeypatch.setattr(typer, "prompt", abort)
    assert destroy.command(ROOT, "dev", destroy.Wanted(lift=(), yes=False)) == 2
    assert "Nobody typed dev: nothing was done (--yes does not ask)." in capsys.readouterr().err


@dataclass(frozen=True)
class Tools:
    """A toolchain of one program."""

    pulumi: Path

    def path(self, _name: str) -> Path:
        return self.pulumi

    def environment(self) -> dict[str, str]:
        return {}
