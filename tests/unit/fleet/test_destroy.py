"""What `fleet destroy` tells before it begins, about what is left, and of an engine that fails."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from rich.console import Console

from engine.events import Outcome
from fleet.cli.place import ROOT
from fleet.deployed_stack import DeployedStack, StackError
from fleet.destroy import command as destroy
from fleet.destroy.command import GONE, LEFT, tear_down
from fleet.destroy.left import Left, at_hetzner
from fleet.destroy.run import Teardown
from fleet.reinstall.target import ReinstallError, target_of
from kube.waiting import Say
from settings import load
from tests.support.hetzner import project
from tests.support.renames import rename

URN = "urn:pulumi:dev::gpu-fleet::"
ROOT_URN = f"{URN}pulumi:pulumi:Stack::gpu-fleet-dev"
QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"


def component(kind: str, name: str) -> dict[str, Any]:
    return {"urn": f"{URN}{kind}::{name}", "type": kind, "parent": ROOT_URN}


def resource(kind: str, name: str, **more: object) -> dict[str, Any]:
    return {"urn": f"{URN}{kind}::{name}", "type": kind, "custom": True, "parent": ROOT_URN, **more}


def provider(cluster: str) -> dict[str, Any]:
    inputs = {"clusterIdentifier": cluster}
    return resource("pulumi:providers:kubernetes", "cluster", inputs=inputs)


POOL = component("gpu:pools:BareMetalPool", "dgx")
HOST = resource(
    "kubernetes:metal3.io/v1alpha1:BareMetalHost",
    "dgx-dev-dgx-01",
    parent=POOL["urn"],
    protect=True,
)
STACK = {"urn": ROOT_URN, "type": "pulumi:pulumi:Stack"}
DEPLOYED = [STACK, provider("fleet-dev"), POOL, HOST]


@dataclass(frozen=True, kw_only=True)
class Done(Teardown):
    """A teardown that is over."""

    found: tuple[Left, ...]

    def end_rented(self, tell: Say, *, at_most_s: float = 0.0) -> None:
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
        (Left(kind="volumes, perhaps of another cluster", names=("pvc-1",), ours=False), GONE),
    ],
    ids=["nothing", "a server", "AWS was not asked", "a neighbour's volume"],
)
def test_only_what_was_counted_as_nothing_is_gone(found: Left, ends: int, tmp_path: Path) -> None:
    settings = load(ROOT / "stacks/Pulumi.dev.yaml")
    over = Done(settings=settings, stack=holding(tmp_path), lifted=(), found=(found,))
    assert tear_down(Console(stderr=True), over) == ends


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "error: no stack named 'dev' found",
            (
                "The backend has no stack dev, so nothing was deployed to it from there. Where "
                "another backend has it, run `pulumi login ADDRESS` first."
            ),
        ),
        (
            "error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions",
            (
                "`pulumi stack export` failed: You are not logged in to the backend with the state "
                "of dev: run `pulumi login ADDRESS`, or set PULUMI_BACKEND_URL."
            ),
        ),
        (
            "error: the stack is currently locked by 1 lock(s).",
            (
                "Another command has locked the stack dev. Where none runs any more, `pulumi "
                "cancel --stack dev` opens it."
            ),
        ),
        ("error: it broke", "`pulumi stack export` failed: it broke."),
    ],
    ids=["no stack", "no login", "locked", "something else"],
)
def test_what_the_engine_says_is_one_sentence(said: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(StackError) as caught:
        stack(tmp_path, f"import sys; sys.exit({said!r})").resources()
    assert str(caught.value) == told


def test_a_secret_that_is_not_set_is_told_with_its_command(tmp_path: Path) -> None:
    said = "error: configuration key 'kubeconfig' not found for stack 'dev'"
    known = stack(tmp_path, f"import sys; sys.exit({said!r})")
    assert known.secret_if_set("kubeconfig") is None
    with pytest.raises(StackError) as caught:
        known.secret("kubeconfig")
    assert str(caught.value) == (
        "gpu-fleet:kubeconfig is not set; set it with "
        "`pulumi config set --secret gpu-fleet:kubeconfig --stack dev`."
    )


def stack(folder: Path, program: str) -> DeployedStack:
    """A stack whose engine is a line of Python."""
    pulumi = folder / "pulumi"
    pulumi.write_text(f"#!{sys.executable}\n{program}\n")
    pulumi.chmod(0o755)
    return DeployedStack(
        root=folder, environment="dev", pulumi=pulumi, variables={}, arguments=("--stack=dev",)
    )


def holding(folder: Path, *resources: dict[str, Any]) -> DeployedStack:
    """A stack with a state, and without secrets."""
    state = json.dumps({"deployment": {"resources": resources}})
    missing = "configuration key not found for stack"
    return stack(
        folder,
        f"import sys\nsys.exit({missing!r}) if 'config' in sys.argv else print({state!r})",
    )


def test_a_renamed_pool_is_lifted_and_reinstalled_by_its_name_in_the_file(tmp_path: Path) -> None:
    content = yaml.safe_load((ROOT / "stacks/Pulumi.dev.yaml").read_text())
    rename(content["config"])
    (tmp_path / "Pulumi.dev.yaml").write_text(yaml.safe_dump(content))
    settings = load(tmp_path / "Pulumi.dev.yaml")
    known = holding(tmp_path, *DEPLOYED)

    assert [*Teardown(settings=settings, stack=known, lifted=["h200"]).held(DEPLOYED)] == ["h200"]
    with pytest.raises(StackError, match='--lift is "dgx"; allowed: h200'):
        Teardown(settings=settings, stack=known, lifted=["dgx"]).held(DEPLOYED)
    target = target_of(settings, "h200")
    assert (target.namespace, target.command) == ("metal3-dgx", "fleet reinstall dev h200")
    with pytest.raises(ReinstallError, match=r'"dgx" is not a pool .*; allowed: h200'):
        target_of(settings, "dgx")


def test_what_an_ended_run_has_lifted_may_be_lifted_again(tmp_path: Path) -> None:
    """The same command goes on, also when the part is gone."""
    settings = load(ROOT / "stacks/Pulumi.dev.yaml")
    lifted = ["dgx", "teams", "monitoring", "lakefs"]
    down = Teardown(settings=settings, stack=holding(tmp_path), lifted=lifted)
    assert down.held([STACK]) == {}


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Runs `fleet destroy dev` on a state, without an answer; returns exit code and words."""

    def abort(*_words: object, **_more: object) -> None:
        raise typer.Abort

    def destroyed(*resources: dict[str, Any]) -> tuple[int, str]:
        pulumi = holding(tmp_path, *resources).pulumi
        monkeypatch.setattr(destroy, "ensure", lambda *_names, **_more: Tools(pulumi))
        monkeypatch.setattr(typer, "prompt", abort)
        monkeypatch.setattr("shutil.which", lambda _name: None)
        code = destroy.command(ROOT, "dev", destroy.Wanted(lift=(), yes=False))
        printed = capsys.readouterr()
        return code, printed.err + printed.out

    return destroyed


def test_without_an_answer_nothing_is_begun(run: Callable[..., tuple[int, str]]) -> None:
    code, said = run(*DEPLOYED)
    assert code == 2
    assert "Pool dgx: its machines stay as they are." in said
    assert "Nobody typed dev: nothing was done (--yes does not ask)." in said


def test_only_what_is_deployed_is_told_of(run: Callable[..., tuple[int, str]]) -> None:
    old = component("gpu:pools:HetznerPool", "old")
    queue = resource(QUEUE, "teams-desk-night", inputs={"metadata": {"name": "night"}})
    _, said = run(*DEPLOYED, old, queue)
    assert "Pool old: its servers are deleted." in said
    assert "Deployed, and not in the stack file: pool old, queue night." in said
    assert "burst" not in said, "the stack file has it, and nobody ever deployed it"


@pytest.mark.parametrize("resources", [(), (STACK, provider("fleet-dev"))], ids=["new", "gone"])
def test_where_nothing_is_deployed_nobody_is_asked(
    resources: tuple[dict[str, Any], ...], run: Callable[..., tuple[int, str]]
) -> None:
    code, said = run(*resources)
    assert code == GONE
    assert said.startswith("Nothing is deployed: the stack dev has no resources.")
    assert "servers at Hetzner: ask with `hcloud server list" in said, "there is no token to ask by"
    assert "instances in us-east-1: ask with `aws ec2" in said


def test_the_state_of_another_cluster_is_left_alone(run: Callable[..., tuple[int, str]]) -> None:
    code, said = run(STACK, provider("fleet-berlin"), POOL, HOST)
    assert code == 2
    assert said == (
        "The state of stack dev is that of the cluster fleet-berlin, and gpu-fleet:cluster.name is "
        '"fleet-dev": run `pulumi login ADDRESS` with the backend of fleet-dev, or use the stack '
        "file of fleet-berlin.\n"
    )


PROJECT_AT_HETZNER = {
    "servers": {"cpu-1": {"fleet.gpu/cluster": "fleet-dev"}, "web": {}},
    "volumes": {
        "pvc-ours": {"managed-by": "csi-driver", "fleet.gpu/cluster": "fleet-dev"},
        "pvc-theirs": {"managed-by": "csi-driver", "fleet.gpu/cluster": "fleet-berlin"},
        **{f"pvc-{number}": {"managed-by": "csi-driver"} for number in range(60)},
        "by-hand": {},
    },
    "load_balancers": {
        "fleet-dev-ingress": {"hcloud-ccm/service-uid": "1"},
        "a2": {"hcloud-ccm/service-uid": "2"},
        "shop": {},
    },
}


def test_at_hetzner_only_what_says_so_is_of_this_cluster() -> None:
    with project(PROJECT_AT_HETZNER) as api:
        found = {each.kind: each for each in at_hetzner("fleet-dev", "token", api)}
    ours = {kind: each.names for kind, each in found.items() if each.ours}
    assert ours == {
        "servers at Hetzner": ("cpu-1",),
        "volumes at Hetzner": ("pvc-ours",),
        "load balancers at Hetzner": ("fleet-dev-ingress",),
    }
    others = {kind: len(each.names) for kind, each in found.items() if not each.ours}
    assert others == {
        "volumes at Hetzner, perhaps of another cluster": 60,
        "load balancers at Hetzner, perhaps of another cluster": 1,
    }


@dataclass(frozen=True)
class Tools:
    """A toolchain of one program."""

    pulumi: Path

    def path(self, _name: str) -> Path:
        return self.pulumi

    def environment(self) -> dict[str, str]:
        return {}
