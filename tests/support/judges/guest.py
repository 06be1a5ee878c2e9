"""What a virtual machine says of itself, as one JSON object on its second serial port.

It runs in the machine, with Debian's python3 and nothing of this project. `/etc/judge.json` asks:
{"files": [path], "workload": [CPU]}.
"""

import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

SYS, PROC = Path("/sys"), Path("/proc")
DEVICES = SYS / "bus/pci/devices"
BRIDGES_BEFORE = Path("/run/bridges.json")
CPUSET = SYS / "fs/cgroup/pod"
BUSY_TICKS = 100  # a second of each busy process, in which the kernel has spread them
PATIENCE_S = 60


def text(path: Path | str) -> str | None:
    """The text of a file; None where it cannot be read."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def said(*command: str) -> str:
    """What a program prints; its complaint where it fails."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return (done.stdout if done.returncode == 0 else f"{done.stdout}{done.stderr}").strip()


def interrupts() -> list[dict[str, Any]]:
    """Each message-signalled interrupt in use: its device, the CPUs that may and do serve it.

    The unit runs once more, as its timer does: drivers made new vectors meanwhile.
    """
    said("systemctl", "start", "fleet-irq.service")
    found = []
    for device in sorted(DEVICES.iterdir()):
        for irq in sorted((device / "msi_irqs").glob("*")):
            user = text(SYS / "kernel/irq" / irq.name / "actions")
            if user:
                found.append(
                    {
                        "user": user,
                        "numa_node": int(text(device / "numa_node") or "-1"),
                        "allowed": text(PROC / "irq" / irq.name / "smp_affinity_list"),
                        "effective": text(PROC / "irq" / irq.name / "effective_affinity_list"),
                    }
                )
    return found


def bridges() -> dict[str, str]:
    """The access control register of each PCI bridge that has one."""
    found = {}
    for device in sorted(DEVICES.iterdir()):
        if (text(device / "class") or "").startswith("0x0604"):
            value = said("setpci", "-s", device.name, "ECAP_ACS+0x6.w")
            if len(value) == 4:
                found[device.name] = value
    return found


def units() -> dict[str, Any]:
    """What systemd could not start, what it dropped, and where it lets a service run."""
    journal = [
        json.loads(line) for line in said("journalctl", "--boot", "--output=json").splitlines()
    ]
    failed = said("systemctl", "list-units", "--failed", "--plain", "--no-legend").splitlines()
    pid = said("systemctl", "show", "--property=MainPID", "--value", "kubelet.service")
    status = (text(PROC / pid / "status") or "").splitlines()
    return {
        "failed": [line.split()[0] for line in failed],
        "circles": [each["MESSAGE"] for each in journal if "ordering cycle" in each["MESSAGE"]],
        "started": {
            each["UNIT"]: each["JOB_RESULT"]
            for each in journal
            if each.get("JOB_TYPE") == "start" and "JOB_RESULT" in each
        },
        "kubelet_cpus": [
            line.split()[1] for line in status if line.startswith("Cpus_allowed_list:")
        ],
    }


def until(condition: str, holds: Callable[[], bool]) -> None:
    """Wait for a condition; say which one does not come to hold."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(condition)
        time.sleep(0.05)


def scratch() -> dict[str, Any]:
    """Make a directory on /scratch, wait for its project, fill it."""
    job = Path("/scratch/job")
    job.mkdir()
    project = ("xfs_io", "-r", "-c", "lsproj", str(job))
    limits = ("xfs_quota", "-x", "-c", "report -p -N -b", "/scratch")
    until("the directory gets a project", lambda: said(*project) != "projid = 0")
    number = said(*project).split()[-1]
    until("the project gets a limit", lambda: f"#{number}" in said(*limits))
    third = os.statvfs("/scratch").f_blocks * os.statvfs("/scratch").f_frsize // 3
    return {
        "mount": said("findmnt", "--noheadings", "--output=FSTYPE,OPTIONS", "/scratch"),
        "drives": text("/proc/mdstat"),
        "a third": filled(job / "a third", third),
        "another third": filled(job / "another third", third),
        "a third beside it": filled(Path("/scratch/beside"), third),
    }


def filled(path: Path, size: int) -> str:
    """Take space for a file: "" or the error."""
    try:
        with path.open("w") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        return str(error.strerror)
    return ""


def pod(workload: list[int]) -> list[int]:
    """The CPUs on which a pod's busy processes have run; it has as many of them as CPUs.

    As in a container, one process is put into the cpuset and forks the others.
    """
    (SYS / "fs/cgroup/cgroup.subtree_control").write_text("+cpuset")
    CPUSET.mkdir()
    (CPUSET / "cpuset.cpus").write_text(",".join(map(str, workload)))
    entrypoint = os.fork()
    if entrypoint == 0:
        (CPUSET / "cgroup.procs").write_text(str(os.getpid()))
        for _ in workload:
            if os.fork() == 0:
                while True:
                    pass
        os.waitpid(-1, 0)
    until("the processes start", lambda: len(_processes()) == len(workload) + 1)
    busy = [pid for pid in _processes() if pid != entrypoint]
    seen: set[int] = set()
    enough = _ticks(busy) + BUSY_TICKS * len(busy)
    while _ticks(busy) < enough and len(seen) < len(workload):
        seen |= {int(_stat(pid)[36]) for pid in busy}
        time.sleep(0.02)
    (CPUSET / "cgroup.kill").write_text("1")
    os.waitpid(entrypoint, 0)
    return sorted(seen)


def _processes() -> list[int]:
    return [int(line) for line in (CPUSET / "cgroup.procs").read_text().split()]


def _ticks(pids: list[int]) -> int:
    return sum(int(_stat(pid)[11]) for pid in pids)


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name: the 12th is user time, the 37th the CPU."""
    return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def report() -> dict[str, Any]:
    """Everything that is asked."""
    asked = json.loads(Path("/etc/judge.json").read_text())
    parts: dict[str, Callable[[], Any]] = {
        # before `pod` uses cpusets: this kernel then forgets the CPUs that a process has asked for
        "units": units,
        "files": lambda: {path: text(path) for path in asked["files"]},
        "log": lambda: said("dmesg", "--notime").splitlines(),
        "bridges": lambda: {"before": json.loads(BRIDGES_BEFORE.read_text()), "after": bridges()},
        "interrupts": interrupts,
        "scratch": lambda: scratch() if os.path.ismount("/scratch") else None,
        "pod": lambda: pod(asked["workload"]),
    }
    found: dict[str, Any] = {"seconds": {}}
    for name, part in parts.items():
        started = time.monotonic()
        found[name] = part()
        found["seconds"][name] = round(time.monotonic() - started, 1)
    return found


def main() -> None:
    """Write the report, also where something in it fails, and switch the machine off."""
    if sys.argv[1:] == ["bridges"]:
        BRIDGES_BEFORE.write_text(json.dumps(bridges()))
        return
    try:
        found = report()
    except Exception:
        found = {"error": traceback.format_exc()}
    with Path("/dev/ttyS1").open("w") as port:
        port.write(json.dumps(found))
    said("systemctl", "poweroff", "--force", "--force")


if __name__ == "__main__":
    main()
