"""`fleet reinstall` on a real API server, with a stand-in of Metal3 and booting machines."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lightkube import Client

from fleet.reinstall import command as command_module
from fleet.reinstall import machine as machine_module
from fleet.reinstall.command import Wanted, command
from fleet.reinstall.machine import PHASE, Machine
from fleet.reinstall.run import Outcome, planned, reinstall
from fleet.reinstall.target import ReinstallError, Target, target_of
from kube import lease
from kube.client import KubeError, client
from kube.drain import LEAVING, cordon
from kube.waiting import Say
from rehearsal.nodes import NODES
from tests.support.rehearsal.hall import HALL, NAMESPACE, OLD, Hall
from tests.support.rehearsal.hall_boot import TOKEN, settings, user_data

TOKENS = "/api/v1/namespaces/kube-system/secrets"
NAMES = ("dgx-01", "dgx-02")


@pytest.fixture
def target() -> Target:
    return target_of(settings(), "dgx")


@dataclass(kw_only=True)
class Measured:
    """Stands for the measurements, which have tests of their own: those of some machines fail."""

    by: list[str] = field(default_factory=list)
    """The machines that were accepted, in order."""
    refused: list[str] = field(default_factory=list)

    def acceptance(self, *, node: str, tell: Say, **_others: object) -> "Measured":
        self.run = partial(self._run, node, tell)
        return self

    def _run(self, node: str, tell: Say) -> None:
        tell("measuring it")
        if node in self.refused:
            raise ReinstallError(f"{node} was not accepted.")
        self.by.append(node)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    found = Measured()
    monkeypatch.setattr(machine_module, "Acceptance", found.acceptance)
    return found


@pytest.fixture
def fleet(
    hall: Hall, target: Target, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Hall]:
    """Two machines that run an old image and plan; their new boot data is in the cluster."""
    monkeypatch.setattr(machine_module, "POLL_S", 0.25)
    hall.add(*NAMES, boot=user_data, plan=target.plan)
    with hall.moving():
        hall.until(lambda: set(hall.states().values()) == {"provisioned"}, "all are installed")
        hall.until(lambda: all(map(hall.node, NAMES)), "all have joined")
        for name in NAMES:
            old = {"metadata": {"labels": {"fleet.gpu/numa-plan": "11111111"}}}
            hall.patch(f"{NODES}/{name}", old)
        yield hall


@pytest.fixture
def cluster(fleet: Hall) -> Client:
    return client(fleet.kubeconfig)


def whole(cluster: Client, target: Target, *names: str) -> list[Outcome]:
    plan = planned(cluster, target, names, again=False)
    return list(reinstall(cluster, target, plan, lambda _line: None))


def condition(hall: Hall, name: str) -> tuple[str, str, bool]:
    """Return the image of a machine, the plan of its node, and whether pods may come."""
    node = hall.node(name)
    assert node
    image = hall.host(name)["status"]["provisioning"]["image"]["url"]
    labels = node["metadata"]["labels"]
    return image, labels["fleet.gpu/numa-plan"], not node["spec"].get("unschedulable")


def test_all_machines_get_image_and_plan_and_are_measured_one_after_another(
    fleet: Hall, cluster: Client, target: Target, measured: Measured
) -> None:
    states: list[dict[str, str]] = []
    plan = planned(cluster, target, (), again=False)
    assert [each.reasons for each in plan] == [("image flatcar.img", "plan 11111111")] * 2

    done = list(reinstall(cluster, target, plan, lambda _line: states.append(fleet.states())))

    assert [each.state for each in done] == ["reinstalled", "reinstalled"]
    for name in NAMES:
        assert condition(fleet, name) == (target.image["url"], target.plan, True)
        assert PHASE not in fleet.host(name)["metadata"].get("annotations", {})
    assert fleet.wiped == ["dgx-01", "dgx-02"]
    assert measured.by == ["dgx-01", "dgx-02"]
    assert all(list(each.values()).count("provisioned") >= 1 for each in states)
    assert whole(cluster, target) == [
        Outcome(machine=name, state="as it should be") for name in NAMES
    ]


def test_its_token_is_valid_again_for_a_day(fleet: Hall, cluster: Client, target: Target) -> None:
    whole(cluster, target, "dgx-01")
    secret = fleet.api.get(f"{TOKENS}/bootstrap-token-{TOKEN.partition('.')[0]}")
    assert secret
    assert secret["type"] == "bootstrap.kubernetes.io/token"
    assert base64.b64decode(secret["data"]["token-secret"]).decode() == TOKEN.partition(".")[2]


class KilledError(BaseException):
    """The end of a process, which no code of the command sees."""


@pytest.mark.parametrize(
    "stop",
    [
        ("draining", "drain"),
        ("waiting until Metal3", "wipe"),
        ("installing", "install"),
        ("its node is Ready", "install"),
        ("measuring it", "acceptance"),
        ("takes pods", None),
    ],
)
def test_a_run_that_was_killed_goes_on_and_neither_wipes_twice_nor_skips_a_measurement(
    fleet: Hall, cluster: Client, target: Target, measured: Measured, stop: tuple[str, str | None]
) -> None:
    at, phase = stop

    def die(line: str) -> None:
        if at in line:
            raise KilledError

    plan = planned(cluster, target, ["dgx-02"], again=False)
    with pytest.raises(KilledError):
        list(reinstall(cluster, target, plan, die))

    first, *_ = planned(cluster, target, (), again=False)
    if phase is not None:
        assert first.machine == "dgx-02", "what was begun comes first"
        assert first.reasons[0] == f"stopped in phase {phase}"
        assert measured.by == []
    whole(cluster, target, "dgx-02")
    assert measured.by == ["dgx-02"]
    assert condition(fleet, "dgx-02") == (target.image["url"], target.plan, True)
    assert fleet.wiped == ["dgx-02"]


def test_a_machine_that_is_not_accepted_stays_cordoned_and_the_next_one_as_it_is(
    fleet: Hall, cluster: Client, target: Target, measured: Measured
) -> None:
    measured.refused.append("dgx-01")
    first, second = whole(cluster, target)
    assert (first.state, first.reasons) == ("failed", ("dgx-01 was not accepted.",))
    assert second.state == "to reinstall"
    assert condition(fleet, "dgx-01") == (target.image["url"], target.plan, False)

    measured.refused.clear()
    first, _ = whole(cluster, target)
    assert first.state == "reinstalled"
    assert condition(fleet, "dgx-01")[2], "pods may come"
    assert fleet.wiped == ["dgx-01", "dgx-02"], "what failed was measured again, and not wiped"


def test_a_stack_file_that_changed_since_a_run_stopped_begins_the_machine_anew(
    fleet: Hall, cluster: Client, target: Target, measured: Measured
) -> None:
    measured.refused.append("dgx-02")
    whole(cluster, target, "dgx-02")
    measured.refused.clear()
    newer = replace(target, image={**target.image, "url": f"{target.image['url']}.2"})

    (done,) = whole(cluster, newer, "dgx-02")

    assert done.state == "reinstalled", done.reasons
    assert condition(fleet, "dgx-02") == (newer.image["url"], target.plan, True)
    assert fleet.wiped == ["dgx-02", "dgx-02"]


def test_what_cannot_be_measured_is_said_and_takes_pods(
    fleet: Hall, cluster: Client, target: Target, measured: Measured
) -> None:
    told: list[str] = []
    without = replace(target, not_measured="cpu-machine has no GPU")
    plan = planned(cluster, without, ["dgx-01"], again=False)
    (done,) = reinstall(cluster, without, plan, told.append)
    assert done.state == "reinstalled", done.reasons
    assert "dgx-01: only fleet-node-check has judged it, because cpu-machine has no GPU" in told
    assert measured.by == []


def test_a_machine_that_leaves_its_pool_is_not_begun(
    fleet: Hall, cluster: Client, target: Target
) -> None:
    cordon(cluster, "dgx-01", LEAVING)
    first, _ = whole(cluster, target)
    assert first.state == "failed"
    assert first.reasons[0].startswith("dgx-01 leaves its pool: an update has drained its node")
    assert fleet.wiped == []


def test_a_second_run_on_the_same_pool_is_refused_while_the_first_works(
    fleet: Hall, cluster: Client, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "RENEW_S", 0.2)
    refused: list[str] = []

    def second(line: str) -> None:
        if "draining" in line:
            with pytest.raises(KubeError) as caught:
                whole(cluster, target, "dgx-02")
            refused.append(str(caught.value))

    plan = planned(cluster, target, ["dgx-01"], again=False)
    (done,) = reinstall(cluster, target, plan, second)
    assert done.state == "reinstalled", done.reasons
    (sentence,) = refused
    assert sentence.startswith("Another `fleet reinstall dev dgx` works on the pool, one machine")
    assert fleet.wiped == ["dgx-01"]


def test_an_update_meanwhile_does_not_bring_the_old_image_back(
    fleet: Hall, cluster: Client, target: Target
) -> None:
    old = fleet.host("dgx-01")["spec"]["image"]

    def update(line: str) -> None:
        if "waiting until Metal3" in line:
            fleet.patch(f"{HALL}/dgx-01", {"spec": {"image": old}})

    plan = planned(cluster, target, ["dgx-01"], again=False)
    (done,) = reinstall(cluster, target, plan, update)
    assert done.state == "reinstalled", done.reasons
    assert condition(fleet, "dgx-01") == (target.image["url"], target.plan, True)


def test_the_first_machine_that_fails_is_the_last_that_is_touched(
    fleet: Hall, cluster: Client, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_module, "INSTALL_S", 2)
    fleet.patch(f"{HALL}/dgx-01", {"spec": {"rootDeviceHints": {"rotational": True}}})

    first, second = whole(cluster, target)

    assert first.state == "failed"
    (reason,) = first.reasons
    assert reason.startswith("dgx-01: after 2 s its host is ")
    assert "then run `fleet reinstall dev dgx` again: it goes on here." in reason
    assert second.state == "to reinstall"
    assert fleet.host("dgx-02")["spec"]["image"]["url"] == OLD
    assert fleet.wiped.count("dgx-02") == 0


def test_the_cluster_must_have_the_boot_data_of_the_stack_file(
    fleet: Hall, cluster: Client, target: Target
) -> None:
    secret = f"/api/v1/namespaces/{NAMESPACE}/secrets/dgx-01-boot"
    fleet.patch(secret, {"metadata": {"labels": {"fleet.gpu/numa-plan": "22222222"}}})

    first, _ = whole(cluster, target)

    assert first.reasons == (
        (
            "The boot data of dgx-01 in the cluster is of plan 22222222, and the stack file's is "
            f"{target.plan}: run `make up ENV=dev` first."
        ),
    )
    assert fleet.wiped == []


def test_another_cluster_with_machines_of_the_same_names_is_refused(
    fleet: Hall, cluster: Client, target: Target
) -> None:
    elsewhere = replace(target, machines={**target.machines, "dgx-02": "redfish://10.9.9.9/a"})
    with pytest.raises(ReinstallError, match=r"and the stack file says redfish://10.9.9.9/a"):
        planned(cluster, elsewhere, (), again=False)


def test_a_machine_is_taken_again_only_where_somebody_asks(
    fleet: Hall, cluster: Client, target: Target
) -> None:
    whole(cluster, target, "dgx-01")
    (asked,) = planned(cluster, target, ["dgx-01"], again=True)
    assert (asked.state, asked.reasons) == ("to reinstall", ("asked for",))
    with pytest.raises(ReinstallError, match=r'"dgx-9" is not a machine that stays in pool dgx'):
        planned(cluster, target, ["dgx-9"], again=False)


@pytest.fixture
def run(
    fleet: Hall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """The command with its flags; returns its exit code and what it printed."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(fleet.kubeconfig)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.setattr(command_module, "stack_file", lambda _root, _environment: tmp_path)
    monkeypatch.setattr(command_module, "load", lambda _path: settings())

    def call(pool: str = "dgx", *names: str, **flags: bool) -> tuple[int, str, str]:
        given = {"yes": False, "dry_run": False, "again": False, "as_json": False, **flags}
        code = command(tmp_path, "dev", pool, Wanted(machines=names, **given))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_a_dry_run_shows_what_would_be_done(fleet: Hall, run: Any, target: Target) -> None:
    code, out, _ = run(dry_run=True, as_json=True)
    assert code == 0
    assert json.loads(out)["numa_plan"] == target.plan
    assert [each["state"] for each in json.loads(out)["machines"]] == ["to reinstall"] * 2
    assert fleet.wiped == []


def test_the_command_reinstalls_and_shows_a_table(fleet: Hall, run: Any) -> None:
    code, out, err = run("dgx", "dgx-02", yes=True)
    assert code == 0, err
    assert "dgx-02" in out
    assert "reinstalled" in out
    assert fleet.wiped == ["dgx-02"]


def test_nobody_is_asked_for_json_and_nothing_begins(fleet: Hall, run: Any) -> None:
    code, _, err = run(as_json=True)
    assert (code, err) == (2, "With --json nobody is asked: add --yes or --dry-run.\n")
    assert fleet.wiped == []


def test_a_pool_of_another_kind_is_refused(run: Any) -> None:
    code, _, err = run("cpu")
    assert code == 2
    assert err == '"cpu" is not a pool of bare-metal machines of dev; allowed: dgx.\n'


def test_a_machine_shows_its_phase(cluster: Client, target: Target) -> None:
    machine = Machine(client=cluster, target=target, name="dgx-01", tell=print)
    assert machine.phase() is None
