"""The figures of clusters of many machines and of fleets that grow, and how a case is chosen."""

import sys
from io import StringIO
from pathlib import Path
from typing import NoReturn

import pytest
from rich.console import Console

import benchmarks.__main__ as command
from benchmarks import hall, owned
from benchmarks.machine import Machine
from benchmarks.owned import Brought, Owned
from benchmarks.placing import Placed, Pods, Worked
from benchmarks.recorded import recorded
from benchmarks.summary import Results
from components.platform.volcano import Volcano, VolcanoArgs
from policies.environment import load
from rehearsal.control_plane import STAGES
from settings import BareMetalPoolSettings
from settings.names import RELEASE

MACHINE = Machine(cpus=2, memory_gib=24.0, architecture="x86_64", python="3.11.9")
BARE = Worked(
    pods=100, seconds=8.0, cpu_s={"kube-apiserver": 1.0}, requests={"POST pods/binding": 100}
)
TWIN = Worked(
    pods=100,
    seconds=10.1,
    cpu_s={"kube-apiserver": 2.0, "volcano-scheduler": 0.5},
    requests={"POST pods/binding": 100, "POST podgroups": 100},
)
PODS = Pods(machines=50, bare=BARE, twin=TWIN)
PLACED = Placed(
    what="a gang of 512 one-GPU pods",
    machines=500,
    pods=512,
    seconds=64.0,
    peak_memory_gib=2.5,
    memory_gib={"etcd": 0.1, "kube-apiserver": 1.5},
    elsewhere_s=48.7,
)


def brought(machines: int, up_s: float) -> Brought:
    return Brought(machines=machines, resources=9, preview_s=1.0, up_s=up_s, peak_memory_gib=1.0)


OWNED = Owned(sizes=(brought(100, 50.0), brought(300, 120.0), brought(1000, 510.0)))


def shown(**found: object) -> str:
    console = Console(file=StringIO(), width=160)
    Results(machine=MACHINE, **found).show(console)  # type: ignore[arg-type]  # one of its fields
    return str(console.file.getvalue())  # type: ignore[attr-defined]  # it is the StringIO above


def test_a_pod_may_take_a_quarter_longer_than_in_a_bare_cluster() -> None:
    assert PODS.goal.value == pytest.approx(1.2625)
    assert not PODS.goal.met
    assert Pods(machines=50, bare=BARE, twin=BARE).goal.met


def test_the_profile_says_what_a_pod_costs_in_each_cluster() -> None:
    text = shown(pods=PODS)
    lines = {line.split("│")[1].strip(): line for line in text.splitlines() if "│" in line}
    assert lines["kube-apiserver"].split("│")[2:4] == [" 10.0 ", " 20.0 "]
    assert lines["volcano-scheduler"].split("│")[2:4] == [" 0.0  ", " 5.0  "]
    assert lines["POST podgroups"].split("│")[2:4] == [" 0.0  ", " 1.0  "]
    assert "≤ 1.25: missed" in lines["twin"]


def test_growth_is_that_of_one_machine_against_the_smallest_fleet() -> None:
    found = {goal.name: goal.value for goal in OWNED.goals}
    assert found["up_s of 300 owned machines / of 100, a machine"] == pytest.approx(0.8)
    assert found["up_s of 1000 owned machines / of 100, a machine"] == pytest.approx(1.02)
    assert found["preview_s of 300 owned machines / of 100, a machine"] == pytest.approx(1 / 3)
    assert found["peak_memory_gib of 1000 owned machines / of 100, a machine"] == 0.1
    assert [goal.met for goal in OWNED.goals].count(False) == 1
    text = shown(owned=OWNED)
    assert "0.33, 0.80, 0.33 " in text
    assert "0.10, 1.02, 0.10: missed" in text


def test_a_case_elsewhere_is_shown_as_such() -> None:
    text = shown(placed=[PLACED])
    assert "KAI's nightly run, other hardware" in text
    assert "8.0" in text
    assert "kube-apiserver 1.50, etcd 0.10" in text


def test_results_of_one_case_have_its_goals_alone() -> None:
    results = Results(machine=MACHINE, pods=PODS)
    assert [goal.name for goal in results.goals()] == [PODS.goal.name]
    assert results.as_json()["pods"]


def test_a_case_is_run_by_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "ensure", lambda **_: None)
    monkeypatch.setitem(command.CASES, "owned", lambda *_: {"owned": OWNED})
    monkeypatch.setattr(sys, "argv", ["benchmarks", "owned"])
    assert command.main() == 1, "1,000 machines grow too fast"
    assert "owned machines" in capsys.readouterr().out


def test_a_case_that_fails_leaves_the_figures_of_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> NoReturn:
        raise RuntimeError("12 of 4000 pods run after 4300 s.")

    monkeypatch.setattr(command, "ensure", lambda **_: None)
    monkeypatch.setitem(command.CASES, "jobs", fails)
    monkeypatch.setitem(command.CASES, "gang", lambda *_: {"placed": [PLACED]})
    monkeypatch.setattr(sys, "argv", ["benchmarks", "jobs", "gang"])
    assert command.main() == 1
    printed = capsys.readouterr().out
    assert "jobs failed: 12 of 4000 pods run after 4300 s." in printed
    assert "KAI's nightly run" in printed


def test_an_unknown_case_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "gangs"])
    with pytest.raises(SystemExit):
        command.main()
    assert "there is no case 'gangs': choose from nodes, checks" in capsys.readouterr().err


def test_a_bare_cluster_leaves_out_the_line_of_the_admitter_alone() -> None:
    lines = STAGES.read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.startswith(hall.ADMITTED)]) == 1


def test_the_release_is_the_programs_with_whole_numbers() -> None:
    made = recorded(lambda: Volcano("volcano", VolcanoArgs(pools={"research": "dgx"})))
    ((_, release),) = [each for each in made if each[0] == RELEASE]
    replicas = release["values"]["custom"]["scheduler_replicas"]
    assert (replicas, type(replicas)) == (2, int)


def test_a_fleet_of_a_thousand_machines_is_a_valid_environment(tmp_path: Path) -> None:
    pool = load(owned.write_stack(tmp_path, 1000)).settings.pools[owned.POOL].declared
    assert isinstance(pool, BareMetalPoolSettings)
    assert len({each.boot_mac_address for each in pool.machines}) == 1000
