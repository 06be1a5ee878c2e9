"""What a killed engine leaves in the state, and how `fleet resume` goes on, on the real engine."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fleet.deployed_stack import DeployedStack, StackError
from fleet.resume.clouds import Clouds
from fleet.resume.pending import OPERATIONS, settled
from fleet.resume.run import Resume, Settled
from rehearsal.cloud_apis import served
from rehearsal.engine import EngineError
from rehearsal.providers import cloud
from tests.conftest import ROOT
from tests.engine.conftest import Change, Trial
from tests.support.engine_process import engine_process
from tests.support.hetzner import project

PROGRAM = """
import pulumi, pulumi_hcloud as hcloud, pulumi_kubernetes as kubernetes
from pulumi_kubernetes.core.v1 import ConfigMap
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs
config = pulumi.Config("gpu-fleet")
cluster = kubernetes.Provider("cluster", kubeconfig=config.require_secret("kubeconfig"))
opts = pulumi.ResourceOptions(provider=cluster)
for name in ("first", "second"):
    ConfigMap(name, metadata={"name": name, "namespace": "default"}, data={"a": "b"}, opts=opts)
Release(
    "kured",
    name="kured",
    namespace="default",
    chart="kured",
    version="5.6.1",
    repository_opts=RepositoryOptsArgs(repo="https://kubereboot.github.io/charts"),
    values={"podAnnotations": {"digest": pulumi.Output.secret("9f86d081")}},
    opts=opts,
)
hetzner = pulumi.ResourceOptions(provider=hcloud.Provider("hetzner", token="x" * 64))
hcloud.Network("hall", name="hall", ip_range="10.0.0.0/8", opts=hetzner)
"""
COMMAND = """
import sys
from pathlib import Path
from fleet.resume.command import Wanted, command
root, environment, yes = sys.argv[1:]
sys.exit(command(Path(root), environment, Wanted(yes=yes == "True")))
"""
RUNBOOK = (ROOT / "docs" / "runbooks" / "killed-update.md").read_text()
KEPT = "/api/v1/namespaces/default/secrets/sh.helm.release.v1.kured.v1"
SECOND = "/api/v1/namespaces/default/configmaps/second"


@pytest.fixture
def trial(twin_of_dev: Callable[[Change], Trial], tmp_path: Path) -> Trial:
    """Two objects, a release of a chart and a network, all made."""
    (tmp_path / "Pulumi.yaml").write_text("name: gpu-fleet\nruntime: python\n")
    (tmp_path / "__main__.py").write_text(PROGRAM)
    trial = twin_of_dev(lambda _config: None).running(tmp_path)
    trial.up()
    return trial


def test_what_a_killed_update_had_made_is_found_by_the_command_of_the_runbook(
    trial: Trial,
) -> None:
    """Pulumi's own way, a refresh with the id, forgets it: the API server has it, no state does."""
    whole = written(trial)
    (second,) = killed_while_making(trial, "second")
    ids = (f"--import-pending-creates={second}", "--import-pending-creates=default/second")
    told = pulumi(trial, "refresh", "--yes", "--skip-preview", *ids)
    assert told.returncode == 0, told.stdout + told.stderr
    assert second not in {each["urn"] for each in trial.state()}
    assert not written(trial).get(OPERATIONS)
    assert trial.api().get(SECOND)

    write(trial, whole)
    killed_while_making(trial, "second", "hall", "kured")
    lock(trial)
    empty_metadata(trial)
    helm_says(trial, "pending-install")
    half = command(trial, yes=True)
    assert (half.returncode, len(written(trial)[OPERATIONS])) == (2, 3)
    assert "`helm --namespace default uninstall kured`" in " ".join(half.stderr.split())
    helm_says(trial, "deployed")
    before = state_file(trial).read_bytes()
    no = command(trial, yes=False, answer="n\n")
    assert no.returncode == 2, no.stderr
    assert f"Locked by me@{socket.gethostname()}, process {2**22}, since 2026-11-23 18:00 UTC" in (
        no.stderr
    )
    theirs = lock(trial, host="runner-7", since=datetime.now(UTC))
    fresh = command(trial, yes=True)
    assert (fresh.returncode, theirs.exists()) == (2, True), fresh.stderr
    assert "Locked by me@runner-7" in fresh.stderr
    assert state_file(trial).read_bytes() == before
    lock(trial)
    done = command(trial, yes=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 in the state now: " in done.stderr
    assert "updated" not in done.stdout.partition("Resources:")[2], "the provider knows its inputs"
    assert "9f86d081" not in state_file(trial).read_text()
    assert trial.up().changes == []
    assert not written(trial).get(OPERATIONS)
    assert len(cloud.read(trial.engine.directory)) == 2
    nothing = command(trial, yes=True)
    assert (nothing.returncode, nothing.stdout) == (0, ""), "no update"
    assert "Nothing is pending and nobody has its lock: `make up ENV=" in nothing.stderr


@pytest.mark.slow
def test_what_was_not_made_is_made_and_what_is_too_many_goes(trial: Trial) -> None:
    whole = written(trial)
    for scenario in (
        what_was_not_made_is_forgotten,
        what_was_made_beside_another_is_deleted,
        what_two_killed_updates_have_made_is_there_once,
        an_update_that_still_runs_is_not_disturbed,
        what_was_not_read_and_is_gone_is_refused_by_an_update,
        what_was_not_read_and_is_there_is_updated,
    ):
        write(trial, whole)
        scenario(trial)


def helm_says(trial: Trial, status: str) -> None:
    """The status of the release's first revision, in the Secret that Helm keeps of it."""
    body = {"metadata": {"labels": {"status": status}}}
    headers = {"Content-Type": "application/merge-patch+json"}
    trial.api().request("PATCH", KEPT, body, headers=headers)


def empty_metadata(trial: Trial) -> None:
    """As an engine that was killed while it wrote them leaves the metadata of the state's file."""
    (path,) = (trial.engine.directory / "state").glob(".pulumi/stacks/*/*.json.attrs")
    path.write_bytes(b"")


def what_was_not_made_is_forgotten(trial: Trial) -> None:
    killed_while_making(trial, "second", "hall")
    trial.api().delete(SECOND)
    with project({}) as api:
        done = settle(trial, api)
    assert (done.found, {*done.not_there}) == ((), {"ConfigMap second", "Network hall"})
    with pytest.raises(EngineError, match="which another Network of the account already has"):
        trial.up()  # the API that was asked knew of none: a doubled name is refused
    assert trial.api().get(SECOND)


def what_was_made_beside_another_is_deleted(trial: Trial) -> None:
    """An update was run by hand in between: the state has one, and the other is too many."""
    killed_while_making(trial, "second", keep=True, name="other")
    other = {"metadata": {"name": "other"}, "apiVersion": "v1", "kind": "ConfigMap"}
    assert trial.api().create("/api/v1/namespaces/default/configmaps", other)
    settle(trial)
    trial.up()
    assert trial.api().get(SECOND)
    assert trial.api().get(SECOND.replace("second", "other")) is None


def what_two_killed_updates_have_made_is_there_once(trial: Trial) -> None:
    """An update takes over the pending creates of the one that was killed before it."""
    killed_while_making(trial, "second", name="other")
    (earlier,) = written(trial)[OPERATIONS]
    other = {"metadata": {"name": "other"}, "apiVersion": "v1", "kind": "ConfigMap"}
    assert trial.api().create("/api/v1/namespaces/default/configmaps", other)
    latest = written(trial)
    now = json.loads(json.dumps(earlier).replace('"name": "other"', '"name": "second"'))
    write(trial, {**latest, OPERATIONS: [now, earlier]})
    done = settle(trial)
    assert (done.found, done.useless) == (("ConfigMap second",), ("ConfigMap second",))
    trial.up()
    assert trial.up().changes == []
    assert trial.api().get(SECOND)
    assert trial.api().get(SECOND.replace("second", "other")) is None


def an_update_that_still_runs_is_not_disturbed(trial: Trial) -> None:
    killed_while_making(trial, "second")
    with engine_process(trial.engine.directory) as running:
        lock(trial, pid=running.pid, since=datetime.now(UTC))
        with pytest.raises(StackError, match=f"still runs.*process {running.pid}"):
            settle(trial)
    assert written(trial).get(OPERATIONS)
    settle(trial)
    assert not written(trial).get(OPERATIONS), "the lock of a process that has ended"


def what_was_not_read_and_is_gone_is_refused_by_an_update(trial: Trial) -> None:
    put_back_and_killed(trial, "second")
    trial.api().delete(SECOND)
    with pytest.raises(EngineError, match="it is gone"):
        trial.up()
    assert resuming(trial).plan().unseen
    settle(trial)
    trial.up()
    assert trial.api().get(SECOND)


def what_was_not_read_and_is_there_is_updated(trial: Trial) -> None:
    """Its provider finds it, and the engine takes the mark off."""
    put_back_and_killed(trial, "second")
    trial.up()
    assert not resuming(trial).plan().unseen
    assert trial.up().changes == []


def put_back_and_killed(trial: Trial, name: str) -> None:
    """A resume that is killed before its refresh leaves the resource marked in the state."""
    killed_while_making(trial, name)
    resume = resuming(trial)
    resume.stack.open()
    resume.stack.put_back(settled(resume.plan().state, resume.plan().answers))
    assert resuming(trial).plan().unseen


def command(trial: Trial, *, yes: bool, answer: str = "") -> subprocess.CompletedProcess[str]:
    """The command of the runbook, in the checkout and with the login of the twin."""
    assert "\nfleet resume dev\n" in RUNBOOK
    engine = trial.engine
    stacks = engine.root / "stacks"
    stacks.mkdir(exist_ok=True)
    tracked = stacks / engine.stack_file.name
    if not tracked.exists():
        tracked.symlink_to(engine.stack_file)
    with served(engine.directory) as hetzner:
        return subprocess.run(
            [sys.executable, "-c", COMMAND, str(engine.root), engine.environment_name, str(yes)],
            input=answer,
            env={**engine.environment, "HCLOUD_ENDPOINT": hetzner, "HTTPS_PROXY": "127.0.0.1:9"},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )


def killed_while_making(
    trial: Trial, *names: str, keep: bool = False, name: str | None = None
) -> list[str]:
    """The state as a killed engine leaves it: resources that were being made, not in it yet.

    With `keep` they are in it, too; `name` is another name of the object in the cluster.
    """
    latest = written(trial)
    found = [each for each in latest["resources"] if each["urn"].rpartition("::")[2] in names]
    begun = [{k: v for k, v in each.items() if k not in ("id", "outputs")} for each in found]
    if name:
        begun = json.loads(json.dumps(begun).replace('"name": "second"', f'"name": "{name}"'))
    latest["manifest"]["time"] = "2026-11-23T18:00:00Z"  # nothing is on its way any more
    latest[OPERATIONS] = [{"type": "creating", "resource": each} for each in begun]
    if not keep:
        latest["resources"] = [each for each in latest["resources"] if each not in found]
    write(trial, latest)
    return [each["urn"] for each in found]


def written(trial: Trial) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(state_file(trial).read_text())["checkpoint"]["latest"]
    return found


def write(trial: Trial, latest: dict[str, Any]) -> None:
    document = json.loads(state_file(trial).read_text())
    document["checkpoint"]["latest"] = latest
    state_file(trial).write_text(json.dumps(document))


def state_file(trial: Trial) -> Path:
    (path,) = (trial.engine.directory / "state").glob(".pulumi/stacks/*/*.json")
    return path


def lock(
    trial: Trial,
    pid: int = 2**22,
    host: str | None = None,
    since: datetime = datetime(2026, 11, 23, 18, tzinfo=UTC),
) -> Path:
    """The lock of an engine; without `pid` of one that is gone, on this machine."""
    name = trial.engine.environment_name
    folder = state_file(trial).parents[2] / "locks" / "organization" / "gpu-fleet" / name
    folder.mkdir(parents=True, exist_ok=True)
    content = {"pid": pid, "username": "me", "hostname": host or socket.gethostname()}
    told = json.dumps(content | {"timestamp": since.isoformat()})
    path = folder / "4b1a.json"
    path.write_text(told)
    return path


def pulumi(trial: Trial, *words: str) -> subprocess.CompletedProcess[str]:
    engine = trial.engine
    return subprocess.run(
        [engine.pulumi, *words, "--non-interactive", *engine.arguments],
        cwd=engine.root,
        env=dict(engine.environment),
        capture_output=True,
        text=True,
        check=False,
    )


def resuming(trial: Trial, hetzner: str = "") -> Resume:
    engine = trial.engine
    stack = DeployedStack(
        root=engine.root,
        environment=engine.environment_name,
        pulumi=engine.pulumi,
        variables=engine.environment,
        arguments=engine.arguments,
    )
    return Resume(
        stack=stack,
        clouds=lambda there: Clouds(
            resources=there,
            token=lambda: "token",
            kubeconfig=lambda: stack.secret("kubeconfig"),
            hetzner=hetzner,
        ),
    )


def settle(trial: Trial, hetzner: str | None = None) -> Settled:
    """What `fleet resume` does before its update."""
    with nullcontext(hetzner) if hetzner else served(trial.engine.directory) as address:
        resume = resuming(trial, address)
        return resume.settle(resume.plan(), lambda _outcome: None)
