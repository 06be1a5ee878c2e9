"""The steps of `fleet resume` before its update, and what it tells."""

import json
import socket
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.events import Outcome
from fleet.deployed_stack import DeployedStack, StackError
from fleet.resume.clouds import Clouds
from fleet.resume.command import outcome, question, told
from fleet.resume.known import Known
from fleet.resume.locks import SILENT_S
from fleet.resume.pending import OPERATIONS, SECRET
from fleet.resume.run import NothingDoneError, Resume, Settled, UnfinishedError
from settings.names import RELEASE
from tests.support.hetzner import project
from tests.support.kube_server import serving
from tests.unit.fleet.resume.conftest import at

URN = "urn:pulumi:dev::gpu-fleet::"


def being_made(type_: str, title: str, /, **inputs: Any) -> dict[str, Any]:
    resource = {"urn": f"{URN}{type_}::{title}", "type": type_, "custom": True, "inputs": inputs}
    return {"type": "creating", "resource": resource}


SERVER = being_made("hcloud:index/server:Server", "cpu-1", name="cpu-1")
BUCKET = being_made("aws:s3/bucket:Bucket", "boot", bucket="boot")
KEY = being_made("aws:iam/accessKey:AccessKey", "key", user="fleet-dev-lakefs")
VPC = being_made("aws:ec2/vpc:Vpc", "vpc")
VALUES = {**SECRET, "plaintext": '{"a": 1}'}
CILIUM = being_made(RELEASE, "cilium", name="cilium", namespace="kube-system", values=VALUES)
READY = being_made("pulumi-python:dynamic/kube:NodeReady", "ready")


@dataclass(frozen=True, kw_only=True)
class FakeStack(DeployedStack):
    """A stack whose clouds have what is `there`, by name; `locks` are what the engine says."""

    held: dict[str, Any]
    there: tuple[str, ...] = ()
    locks: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    def exported(self, *, secrets: bool = False) -> dict[str, Any]:
        self.done.extend(["export secrets"] if secrets else [])
        return deepcopy(self.held)

    def lock(self) -> str | None:
        return self.locks[0] if self.locks else None

    def put_back(self, state: Mapping[str, Any]) -> None:
        assert not self.locks, "the engine refuses"
        self.done.append("put back")
        self.held["deployment"] = state["deployment"]

    def open(self) -> None:
        self.done.append("open")
        self.locks.clear()

    def refresh(self, urns: Sequence[str], progress: Callable[[Outcome], None]) -> None:
        self.done.append("refresh " + ", ".join(urn.rpartition("::")[2] for urn in urns))
        resources = self.held["deployment"]["resources"]
        resources[:] = [each for each in resources if each["urn"].rpartition("::")[2] in self.there]


def stack(folder: Path, *begun: dict[str, Any], **given: Any) -> FakeStack:
    manifest = {"time": "2026-11-23T18:00:00Z"}
    held = {"deployment": {"resources": [], OPERATIONS: [*begun], "manifest": manifest}}
    arguments = ("--stack=dev",)
    return FakeStack(
        root=folder,
        environment="dev",
        pulumi=folder / "pulumi",
        variables={},
        arguments=arguments,
        held=held,
        **given,
    )


def resume(
    stack: FakeStack,
    known: Known | None = None,
    hetzner: str = "",
    kubeconfig: str = "",
    *,
    asks: bool = True,
) -> Resume:
    def clouds(there: Sequence[Mapping[str, Any]]) -> Clouds:
        return Clouds(
            resources=there,
            token=lambda: "token",
            kubeconfig=lambda: kubeconfig,
            hetzner=hetzner,
        )

    return Resume(stack=stack, clouds=clouds, known=known or Known(), asks=asks)


HERE_GONE = f"created by me@{socket.gethostname()} (pid {2**22}) at 2026-11-23T18:00:00Z"


def elsewhere(since: datetime) -> str:
    return f"created by ada@runner-7 (pid 77) at {at(since)}"


def silent(_outcome: Outcome) -> None:
    pass


def test_what_is_there_is_put_into_the_state_and_read(tmp_path: Path) -> None:
    known = stack(tmp_path, SERVER, BUCKET, READY, there=("cpu-1",))
    with project({"servers": {"cpu-1": {}}}) as api:
        plan = resume(known, hetzner=api).plan()
    assert [*told(plan, "dev")] == [
        "Server cpu-1: it may be there as 1.",
        "Bucket boot: it may be there as boot.",
        "NodeReady ready: it is made again.",
    ]

    done = resume(known).settle(plan, silent)

    assert known.done == ["put back", "refresh cpu-1, boot"]
    assert done == Settled(found=("Server cpu-1",), not_there=("Bucket boot", "NodeReady ready"))
    assert [*outcome(done)] == [
        "1 in the state now: Server cpu-1.",
        "2 not there: Bucket boot, NodeReady ready.",
    ]


def test_where_nothing_is_pending_and_nobody_has_the_lock_there_is_nothing_to_do(
    tmp_path: Path,
) -> None:
    plan = resume(stack(tmp_path)).plan()
    assert plan.empty
    assert [*told(plan, "dev")] == [
        "Nothing is pending and nobody has its lock: `make up ENV=dev` updates it."
    ]


def test_what_was_changed_and_not_read_is_forgotten_and_read(tmp_path: Path) -> None:
    known = stack(tmp_path, {**BUCKET, "type": "updating"}, there=("boot",))
    known.held["deployment"]["resources"] = [{**BUCKET["resource"], "id": "boot"}]
    plan = resume(known).plan()
    assert [*told(plan, "dev")] == ["Bucket boot: updating was not ended."]
    assert resume(known).settle(plan, silent) == Settled()
    assert known.done == ["put back", "refresh boot"]


def test_a_lock_that_was_left_is_told_of_before_it_is_opened(tmp_path: Path) -> None:
    known = stack(tmp_path, BUCKET, locks=[HERE_GONE])
    plan = resume(known, asks=False).plan()
    told_of, step = told(plan, "dev")
    assert told_of.startswith(
        f"Locked by me@{socket.gethostname()}, process {2**22}, since 2026-11-23 18:00 UTC, "
    )
    assert (told_of[-16:], step) == (", and has ended.", "Bucket boot: it may be there as boot.")
    assert question(plan, "dev") == (
        "Open the lock, put what is there into the state of dev, and update it? No other update of "
        "it may run now."
    )
    assert known.done == []
    resume(known).settle(plan, silent)
    assert known.done == ["open", "put back", "refresh boot"]


def test_a_lock_that_is_not_there_is_not_spoken_of(tmp_path: Path) -> None:
    plan = resume(stack(tmp_path, BUCKET)).plan()
    assert [*told(plan, "dev")] == ["Bucket boot: it may be there as boot."]
    assert question(plan, "dev").startswith("Put what is there into the state of dev, and update")


def test_a_lock_alone_is_opened(tmp_path: Path) -> None:
    known = stack(tmp_path, locks=[HERE_GONE])
    plan = resume(known).plan()
    assert question(plan, "dev").startswith("Open the lock of dev, and update it?")
    resume(known).settle(plan, silent)
    assert known.done == ["open"]


def test_a_fresh_lock_of_another_machine_is_opened_only_where_a_person_is_asked(
    tmp_path: Path,
) -> None:
    known = stack(tmp_path, BUCKET, locks=[elsewhere(datetime.now(UTC))])
    with pytest.raises(StackError, match=r"^Locked by ada@runner-7, process 77, .* ago\. "):
        resume(known, asks=False).plan()
    plan = resume(known, asks=True).plan()
    assert next(told(plan, "dev")).startswith("Locked by ada@runner-7, process 77, since ")
    resume(known).settle(plan, silent)
    assert known.done == ["open", "put back", "refresh boot"]


def test_an_update_of_another_machine_that_has_just_written_the_state_keeps_its_lock(
    tmp_path: Path,
) -> None:
    known = stack(tmp_path, locks=[elsewhere(datetime.now(UTC) - timedelta(days=1))])
    assert resume(known, asks=False).plan().locks
    now = datetime.now(UTC)
    known.held["deployment"]["manifest"]["time"] = now.isoformat()
    later = now + timedelta(seconds=SILENT_S)
    with pytest.raises(StackError, match=f"30 min, from {later:%Y-%m-%d %H:%M} UTC on"):
        resume(known, asks=False).plan()


def test_an_update_that_still_runs_keeps_its_lock(tmp_path: Path, engine: psutil.Process) -> None:
    words = f"created by me@{socket.gethostname()} (pid {engine.pid}) at {at(datetime.now(UTC))}"
    known = stack(tmp_path, BUCKET, locks=[words])
    with pytest.raises(StackError, match=f"end it with `kill -INT {engine.pid}`"):
        resume(known).plan()


def test_an_update_that_began_since_the_plan_keeps_its_lock(tmp_path: Path) -> None:
    known = stack(tmp_path, BUCKET, locks=[HERE_GONE])
    plan = resume(known).plan()
    known.locks[:] = [elsewhere(datetime.now(UTC))]
    with pytest.raises(NothingDoneError, match=r"begun meanwhile\. Locked by ada@runner-7"):
        resume(known).settle(plan, silent)
    assert known.done == []


def test_an_update_that_ended_since_the_plan_is_not_overwritten(tmp_path: Path) -> None:
    known = stack(tmp_path, BUCKET)
    plan = resume(known).plan()
    known.held["deployment"] = {**known.held["deployment"], OPERATIONS: []}
    with pytest.raises(NothingDoneError, match="The state of dev was changed meanwhile"):
        resume(known).settle(plan, silent)
    assert known.done == []


def test_a_cloud_is_given_time_after_the_lock_was_looked_at(tmp_path: Path) -> None:
    waited: list[float] = []
    known = stack(tmp_path, BUCKET)
    known.held["deployment"]["manifest"]["time"] = datetime.now(UTC).isoformat()
    resume(known).plan(waited.append)
    assert len(waited) == 1
    known.locks.append(elsewhere(datetime.now(UTC)))
    with pytest.raises(StackError):
        resume(known, asks=False).plan(waited.append)
    assert len(waited) == 1


def test_a_key_whose_secret_is_lost_is_deleted_before_an_update_makes_another(
    tmp_path: Path,
) -> None:
    keys = {"AKIAKNOWN": 17, "AKIABYHAND": 17, "AKIALOST": 18}  # by the hour of their making

    def aws(words: Sequence[str]) -> dict[str, Any]:
        if words[1] == "delete-access-key":
            del keys[words[-1]]
        made = {key: f"2026-11-23T{hour}:00:00Z" for key, hour in keys.items()}
        told = [{"AccessKeyId": key, "CreateDate": when} for key, when in made.items()]
        return {"AccessKeyMetadata": told}

    known = stack(tmp_path, KEY)
    known.held["deployment"]["resources"] = [{"urn": "x", "type": "x", "id": "AKIAKNOWN"}]
    asks = Resume(
        stack=known,
        clouds=lambda there: Clouds(resources=there, token=str, kubeconfig=str, aws=aws),
    )
    plan = asks.plan()
    assert [*told(plan, "dev")] == [
        "AccessKey key: AKIALOST was made, and its secret is lost: it will be deleted.",
        "AccessKey key: AKIABYHAND was made before, and stays.",
    ]
    assert asks.settle(plan, silent).useless == ("AccessKey key",)
    assert [*keys] == ["AKIAKNOWN", "AKIABYHAND"]
    (entry,) = [each for each in known.held["deployment"]["resources"] if each["id"] == "AKIALOST"]
    assert entry["delete"], "a run that is killed before the deletion knows it"


def test_what_cannot_be_looked_up_stops_before_anything_is_done(tmp_path: Path) -> None:
    known = stack(tmp_path, VPC, BUCKET)
    with pytest.raises(StackError) as caught:
        resume(known).plan()
    assert str(caught.value) == (
        "Vpc vpc: it may have been made, and the state does not know: look into its cloud whether "
        "it is there. Then add `--id vpc=ID`, or `--gone vpc` where it is not there."
    )


@pytest.mark.parametrize(
    ("given", "found"),
    [(Known(ids={"vpc": ["vpc-1"]}), ("Vpc vpc",)), (Known(gone=["vpc"]), ())],
    ids=["found", "gone"],
)
def test_what_a_person_knows_is_taken_for_it(
    given: Known, found: tuple[str, ...], tmp_path: Path
) -> None:
    known = stack(tmp_path, VPC, there=("vpc",))
    asked = resume(known, given)
    assert asked.settle(asked.plan(), silent).found == found


def test_a_release_that_is_there_gets_the_inputs_that_its_provider_looks_for(
    tmp_path: Path,
) -> None:
    known = stack(tmp_path, CILIUM, there=("cilium",))
    with serving() as cluster:
        cluster.release("cilium", "deployed")
        asked = resume(known, kubeconfig=cluster.kubeconfig)
        assert asked.settle(asked.plan(), silent).found == ("Release cilium",)
    (entry,) = known.held["deployment"]["resources"]
    assert (entry["id"], entry["outputs"]["name"]) == ("kube-system/cilium", "cilium")
    inputs = entry["outputs"]["__inputs"]
    assert SECRET.items() <= inputs.items()
    assert json.loads(inputs["plaintext"]) == CILIUM["resource"]["inputs"]
    assert known.done == ["export secrets", "put back", "refresh cilium"]


@pytest.mark.parametrize("operation", ["creating", "updating"])
def test_a_release_that_helm_has_not_ended_stops_before_anything_is_done(
    operation: str, tmp_path: Path
) -> None:
    known = stack(tmp_path, {**CILIUM, "type": operation}, BUCKET)
    with serving() as cluster:
        cluster.release("cilium", "pending-install")
        with pytest.raises(UnfinishedError, match="uninstall cilium") as caught:
            resume(known, kubeconfig=cluster.kubeconfig).plan()
    assert [each.begun.title for each in caught.value.releases] == ["Release cilium"]


def test_a_cluster_that_does_not_answer_stops_before_anything_is_done(tmp_path: Path) -> None:
    with serving() as gone:
        kubeconfig = gone.kubeconfig
    known = stack(tmp_path, CILIUM)
    with pytest.raises(StackError, match="cilium: what Helm has made of it is not known"):
        resume(known, kubeconfig=kubeconfig).plan()
    told_so = Known(gone=["cilium"])
    assert resume(known, told_so, kubeconfig=kubeconfig).plan().begun


def test_what_was_made_twice_is_kept_once(tmp_path: Path) -> None:
    """Two killed updates have made it, under names that its provider has filled in."""
    first = being_made("aws:ec2/placementGroup:PlacementGroup", "burst", name="burst-aaaa111")
    second = being_made("aws:ec2/placementGroup:PlacementGroup", "burst", name="burst-bbbb222")
    known = stack(tmp_path, first, second, first, there=("burst",))
    plan = resume(known).plan()
    assert [*told(plan, "dev")] == [
        "PlacementGroup burst: it may be there as burst-aaaa111.",
        "PlacementGroup burst: it may be there as burst-bbbb222.",
    ]
    done = resume(known).settle(plan, silent)
    assert done == Settled(found=("PlacementGroup burst",), useless=("PlacementGroup burst",))
    entries = known.held["deployment"]["resources"]
    assert [(each["id"], each.get("delete")) for each in entries] == [
        ("burst-aaaa111", None),
        ("burst-bbbb222", True),
    ]


def test_a_person_may_know_two_of_one_name(tmp_path: Path) -> None:
    other = {**VPC, "resource": {**VPC["resource"], "inputs": {"tags": {}}}}
    known = stack(tmp_path, VPC, other, there=("vpc",))
    with pytest.raises(StackError) as caught:
        resume(known).plan()
    assert len(str(caught.value).splitlines()) == 1
    asked = resume(known, Known(ids={"vpc": ["vpc-1", "vpc-2"]}))
    asked.settle(asked.plan(), silent)
    assert [each["id"] for each in known.held["deployment"]["resources"]] == ["vpc-1", "vpc-2"]


def test_what_is_too_many_is_told_before_it_is_deleted(tmp_path: Path) -> None:
    known = stack(tmp_path, VPC)
    assert [*told(resume(known, Known(ids={"vpc": ["vpc-1", "vpc-2"]})).plan(), "dev")] == [
        "Vpc vpc: it may be there as vpc-1.",
        "Vpc vpc: vpc-2 is too many: the update deletes it.",
    ]


def test_after_a_failure_of_the_network_nobody_is_told_that_it_may_be_gone(tmp_path: Path) -> None:
    with project({}) as gone:
        pass
    with pytest.raises(StackError) as caught:
        resume(stack(tmp_path, SERVER), hetzner=gone).plan()
    assert str(caught.value) == (
        "Server cpu-1: it may have been made, and the state does not know: Hetzner does not answer "
        "(ConnectError): run the same command again."
    )


def test_a_name_that_is_not_pending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StackError, match='--gone is "cpu-2"; allowed is what is being made: boot'):
        resume(stack(tmp_path, BUCKET), Known(gone=["cpu-2"])).plan()


def test_a_stack_to_which_nothing_was_deployed_has_its_lock_opened(tmp_path: Path) -> None:
    known = stack(tmp_path, locks=[elsewhere(datetime.now(UTC) - timedelta(seconds=2 * SILENT_S))])
    known.held["deployment"] = {}
    going = resume(known, asks=False)
    assert going.settle(going.plan(), silent) == Settled()
    assert known.done == ["open"]
