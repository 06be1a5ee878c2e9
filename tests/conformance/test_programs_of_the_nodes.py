"""fleet-node-check and fleet-bind run for real on the Linux machine that runs the tests."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.workloads.dgx_tree import PLAN
from workloads.bind.program import program as bind_program
from workloads.node_check.machine import FailedCommandError, live
from workloads.node_check.program import program as check_program

# what a bound process finds: its CPUs, and the policy of a page of its own
OBSERVE = """
import json, os, subprocess, sys
here = {
    "cpus": sorted(os.sched_getaffinity(0)),
    "policies": sorted({line.split()[1] for line in open("/proc/self/numa_maps")}),
}
if sys.argv[1:] == ["parent"]:
    child = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    here["child"] = json.loads(child.stdout)
print(json.dumps(here))
"""
NODES = Path("/sys/devices/system/node")


def _file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def _run(
    program: Path, *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    # isolated and without site: no package of the machine can help
    return subprocess.run(
        [sys.executable, "-I", "-S", program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def check(tmp_path: Path) -> Path:
    return _file(tmp_path, "fleet-node-check.pyz", check_program())


def test_the_check_reads_this_machine_and_says_where_it_is_no_dgx(
    check: Path, tmp_path: Path
) -> None:
    """The live /proc and /sys below a root whose plan is another machine's, without GPUs."""
    root = tmp_path / "root"
    (root / "etc/fleet").mkdir(parents=True)
    for name in ("proc", "sys"):
        (root / name).symlink_to(f"/{name}")
    plan = {**PLAN, "gpus": [], "irqs": [], "nvswitch": False}
    (root / "etc/fleet/plan.json").write_text(json.dumps(plan))
    done = _run(check, "--root", root, "--textfile", tmp_path / "metrics")
    assert done.returncode == 1, done.stderr
    online = Path("/sys/devices/system/cpu/online").read_text().strip()
    assert f"List of CPUs online is {online}, expected 0-223: compare SMT" in done.stdout
    assert "Kernel argument iommu=pt is absent from /proc/cmdline" in done.stdout
    metrics = (tmp_path / "metrics/fleet-node-check.prom").read_text()
    assert 'fleet_node_check_drift{check="kernel-argument",level="warning"} 4\n' in metrics
    assert f"fleet_node_check_drifts {len(done.stdout.splitlines())}\n" in metrics


def test_the_check_agrees_with_this_machine_about_this_machine(check: Path, tmp_path: Path) -> None:
    """A plan made of what the kernel says finds no drift but the kubelet that is not here."""
    root = tmp_path / "root"
    (root / "etc/fleet").mkdir(parents=True)
    for name in ("proc", "sys"):
        (root / name).symlink_to(f"/{name}")
    (root / "etc/fleet/plan.json").write_text(json.dumps(_plan_of_this_machine()))
    done = _run(check, "--root", root)
    others = [
        line
        for line in done.stdout.splitlines()
        if not line.startswith(("Process kubelet", "/var/lib/kubelet/config.yaml", "Swap"))
    ]
    assert others == [], done.stdout


def _plan_of_this_machine() -> dict[str, object]:
    online = Path("/sys/devices/system/cpu/online").read_text().strip()
    nodes = []
    for folder in sorted(NODES.glob("node[0-9]*")):
        pages = {
            size: folder / f"hugepages/hugepages-{size}kB/nr_hugepages" for size in (1048576, 2048)
        }
        counts = {
            size: int(path.read_text()) if path.exists() else 0 for size, path in pages.items()
        }
        words = (folder / "meminfo").read_text().split()
        nodes.append(
            {
                "id": int(folder.name[4:]),
                "cpus": (folder / "cpulist").read_text().strip(),
                "memory_gib": int(words[words.index("MemTotal:") + 1]) / 1024**2,
                "hugepages_1gi": counts[1048576],
                "hugepages_2mi": counts[2048],
            }
        )
    swappiness = Path("/proc/sys/vm/swappiness").read_text().strip()
    words = Path("/proc/cmdline").read_text().split()
    return {
        **PLAN,
        "hardware": "this-machine",
        "cpus": {"online": online, "housekeeping": "0", "workload": online},
        "kernel_arguments": words[:1],
        "sysctls": {"vm.swappiness": swappiness},
        "numa_nodes": nodes,
        "transparent_hugepages": None,
        "irqs": [],
        "gpus": [],
        "nvswitch": False,
        "governor": None,
        "kubelet": {},
    }


@pytest.fixture
def rank(tmp_path: Path) -> dict[str, str]:
    """A rank whose GPU is some PCI device of this machine, as a stand-in nvidia-smi says."""
    devices = sorted(path.name for path in Path("/sys/bus/pci/devices").glob("*"))
    if not devices or not NODES.exists() or not Path("/proc/self/numa_maps").exists():
        pytest.skip("this kernel shows no PCI devices or no NUMA nodes")
    script = f'#!/bin/sh\necho "0, GPU-1, 0000{devices[-1]}"\n'
    _file(tmp_path, "nvidia-smi", script.encode())
    return {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LOCAL_RANK": "0"}


@pytest.mark.parametrize(("memory", "policy"), [("preferred", "prefer:"), ("bind", "bind:")])
def test_a_bound_rank_and_its_children_have_cpus_and_memory_of_the_node(
    tmp_path: Path, rank: dict[str, str], memory: str, policy: str
) -> None:
    bind = _file(tmp_path, "fleet-bind.pyz", bind_program())
    observer = _file(tmp_path, "observe.py", OBSERVE.encode())
    command = (sys.executable, str(observer), "parent")
    done = _run(bind, "--memory", memory, "--", *command, environment=rank)
    if "no memory policy" in done.stderr or "memory cannot be bound" in done.stderr:
        pytest.skip(f"this container forbids it: {done.stderr}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    node = next(word for word in done.stderr.split(",") if "NUMA node" in word).split()[-1]
    for process in (found, found["child"]):
        assert set(process["cpus"]) <= os.sched_getaffinity(0)
        assert any(each.startswith(f"{policy}") and node in each for each in process["policies"])


def test_a_bound_rank_keeps_to_the_cpus_that_its_pod_has(
    tmp_path: Path, rank: dict[str, str]
) -> None:
    ours = sorted(os.sched_getaffinity(0))
    bind = _file(tmp_path, "fleet-bind.pyz", bind_program())
    observer = _file(tmp_path, "observe.py", OBSERVE.encode())
    os.sched_setaffinity(0, ours[-1:])
    try:
        done = _run(bind, sys.executable, str(observer), environment=rank)
    finally:
        os.sched_setaffinity(0, ours)
    assert json.loads(done.stdout)["cpus"] == ours[-1:], done.stderr


def test_a_rank_without_a_gpu_does_not_start(tmp_path: Path) -> None:
    bind = _file(tmp_path, "fleet-bind.pyz", bind_program())
    done = _run(bind, "true", environment={"PATH": str(tmp_path), "LOCAL_RANK": "0"})
    assert done.returncode == 126
    assert done.stderr.startswith("fleet-bind: nvidia-smi cannot be asked for the GPUs: ")


def test_programs_of_the_machine_run_in_its_root() -> None:
    assert live(Path("/")).run(["echo", "here"]) == "here\n"
    if os.geteuid() == 0:  # only root may enter another root
        assert live(Path("/proc/self/root")).run(["echo", "there"]) == "there\n"


def test_a_program_that_is_not_there_is_told_in_its_own_words() -> None:
    with pytest.raises(FailedCommandError, match=r"ended with 127: .*fleet-no-such-program"):
        live(Path("/")).run(["fleet-no-such-program"])
