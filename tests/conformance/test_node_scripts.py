"""The scripts of a node, run by bash on a machine of files."""

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from ignition.write.render import NodeBoot, tuning_ignition
from tests.support.ignition.nodes import node

DGX = node("dgx-h200")
NVME, ETHERNET, INFINIBAND, GPU, BRIDGE, USB = (
    "0x010802",
    "0x020000",
    "0x020700",
    "0x030200",
    "0x060400",
    "0x0c0330",
)


def script(of: NodeBoot, name: str, root: Path) -> str:
    """A script of a node's boot data with /sys and /proc below `root`."""
    files = json.loads(tuning_ignition(of))["storage"]["files"]
    source = next(file["contents"]["source"] for file in files if file["path"].endswith(name))
    kind, _, data = source.partition(",")
    text = base64.b64decode(data).decode() if kind.endswith("base64") else unquote(data)
    return re.sub(r"(?<![\w$}])/(sys|proc)/", rf"{root}/\1/", text)


def device(root: Path, address: str, kind: str, numa_node: int, irqs: tuple[int, ...]) -> None:
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True)
    (folder / "class").write_text(f"{kind}\n")
    (folder / "numa_node").write_text(f"{numa_node}\n")
    for irq in irqs:
        (folder / "msi_irqs").mkdir(exist_ok=True)
        (folder / "msi_irqs" / str(irq)).write_text("msix\n")
        (root / f"proc/irq/{irq}").mkdir(parents=True, exist_ok=True)
        (root / f"proc/irq/{irq}/smp_affinity_list").write_text("0-223\n")


def run(
    text: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash")
    assert bash is not None
    return subprocess.run(
        [bash, "-c", text],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )


def affinity(root: Path, irq: int) -> str:
    return (root / f"proc/irq/{irq}/smp_affinity_list").read_text().strip()


def test_interrupts_go_to_the_housekeeping_cpus_of_their_own_numa_node(tmp_path: Path) -> None:
    device(tmp_path, "0000:18:00.0", INFINIBAND, 0, (40, 41))
    device(tmp_path, "0000:1b:00.0", GPU, 0, (50,))
    device(tmp_path, "0000:9a:00.0", NVME, 1, (60,))
    device(tmp_path, "0000:9b:00.0", ETHERNET, 1, (70,))
    device(tmp_path, "0000:00:14.0", USB, 0, (80,))
    device(tmp_path, "0000:ff:00.0", ETHERNET, -1, (90,))
    device(tmp_path, "0000:ff:01.0", GPU, 1, ())
    done = run(script(DGX, "/fleet-irq", tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert {affinity(tmp_path, irq) for irq in (40, 41, 50)} == {"0-3,112-115"}
    assert {affinity(tmp_path, irq) for irq in (60, 70)} == {"56-59,168-171"}
    assert affinity(tmp_path, 80) == "0-223", "no device of the plan"
    assert affinity(tmp_path, 90) == "0-223", "nobody knows where it is"


def test_a_vector_that_is_gone_does_not_stop_the_others(tmp_path: Path) -> None:
    device(tmp_path, "0000:18:00.0", INFINIBAND, 0, (40, 41))
    (tmp_path / "proc/irq/40/smp_affinity_list").unlink()
    (tmp_path / "proc/irq/40").rmdir()
    done = run(script(DGX, "/fleet-irq", tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert affinity(tmp_path, 41) == "0-3,112-115"


FABRIC = """\
    Fabric
        State                             : {}
        Status                            : {}
        CliqueId                          : 0
"""


def nodes_programs(folder: Path, *, active: bool, gpus: str) -> dict[str, str]:
    """A systemctl, a nvidia-smi and a sleep that takes no time."""
    for name, text in (
        ("systemctl", f"exit {int(not active)}"),
        ("nvidia-smi", f"cat <<'END'\n{gpus}END"),
        ("sleep", "exit 0"),
    ):
        program = folder / name
        program.write_text(f"#!/usr/bin/env bash\n{text}\n")
        program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("active", "gpus", "ready"),
    [
        (True, 8 * FABRIC.format("Completed", "Success"), True),
        (True, 8 * FABRIC.format("N/A", "N/A"), True),
        (True, "    Product Name : NVIDIA A100\n", True),
        (False, 8 * FABRIC.format("Completed", "Success"), False),
        (
            True,
            7 * FABRIC.format("Completed", "Success") + FABRIC.format("In Progress", "N/A"),
            False,
        ),
        (True, 8 * FABRIC.format("Completed", "Driver/Library version mismatch"), False),
        (True, 8 * FABRIC.format("Not Started", "N/A"), False),
    ],
)
def test_the_fabric_is_ready_when_every_gpu_says_so(
    tmp_path: Path, *, active: bool, gpus: str, ready: bool
) -> None:
    programs = nodes_programs(tmp_path, active=active, gpus=gpus)
    done = run(script(DGX, "/fabric-ready", tmp_path), programs)
    assert (done.returncode == 0) is ready, done.stderr


def setpci(folder: Path, *, fails: bool) -> dict[str, str]:
    """A setpci that knows access control on 0000:10 alone and writes down what it is asked."""
    program = folder / "setpci"
    program.write_text(
        "#!/usr/bin/env bash\n"
        f'echo "$*" >> {folder}/asked\n'
        "[[ $2 == 0000:10* ]] || exit 1\n"
        f"[[ $3 == *=0000 ]] && exit {int(fails)}\nexit 0\n"
    )
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_access_control_is_cleared_on_the_bridges_that_have_it(tmp_path: Path) -> None:
    device(tmp_path, "0000:10:00.0", BRIDGE, 0, ())
    device(tmp_path, "0000:11:00.0", BRIDGE, 0, ())
    device(tmp_path, "0000:1b:00.0", GPU, 0, ())
    done = run(script(DGX, "/fleet-acs", tmp_path), setpci(tmp_path, fails=False))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "asked").read_text().splitlines() == [
        "-s 0000:10:00.0 ECAP_ACS+0x6.w",
        "-s 0000:10:00.0 ECAP_ACS+0x6.w=0000",
        "-s 0000:11:00.0 ECAP_ACS+0x6.w",
    ]


def test_a_bridge_that_keeps_its_access_control_makes_the_unit_fail(tmp_path: Path) -> None:
    device(tmp_path, "0000:10:00.0", BRIDGE, 0, ())
    done = run(script(DGX, "/fleet-acs", tmp_path), setpci(tmp_path, fails=True))
    assert done.returncode == 1


CONF = "proc/sys/net/ipv4/conf"
ALONE = {"arp_ignore": "1", "arp_announce": "2", "rp_filter": "2"}


def interface(root: Path, name: str) -> None:
    folder = root / CONF / name
    folder.mkdir(parents=True)
    for each in ALONE:
        (folder / each).write_text("0\n")


def answers(root: Path) -> dict[str, dict[str, str]]:
    """What each network interface is told of the addresses that it answers for."""
    return {
        folder.name: {each: (folder / each).read_text().strip() for each in ALONE}
        for folder in (root / CONF).iterdir()
    }


def rails(root: Path, names: tuple[str, ...]) -> dict[str, str]:
    """RoCE cards, each with a port, beside another interface; and an udevadm that ends at once."""
    for number, name in enumerate(names):
        (root / f"sys/class/infiniband/{name}/device/net/rail{number}").mkdir(parents=True)
        interface(root, f"rail{number}")
    interface(root, "all")
    (root / "udevadm").write_text("#!/usr/bin/env bash\n")
    (root / "udevadm").chmod(0o755)
    return {"PATH": f"{root}:{os.environ['PATH']}"}


def test_each_roce_port_answers_for_itself_alone(tmp_path: Path) -> None:
    programs = rails(tmp_path, DGX.hardware.rails)
    done = run(script(replace(DGX, fabric="roce"), "/fleet-rails", tmp_path), programs)
    assert (done.returncode, done.stderr) == (0, "")
    told = answers(tmp_path)
    assert told.pop("all") == dict.fromkeys(ALONE, "0"), "the interfaces of pods are no rails"
    assert len(told) == 8
    assert list(told.values()) == [ALONE] * 8


def test_a_roce_card_that_is_lost_does_not_stop_the_others(tmp_path: Path) -> None:
    _, *there = DGX.hardware.rails
    programs = rails(tmp_path, tuple(there))
    done = run(script(replace(DGX, fabric="roce"), "/fleet-rails", tmp_path), programs)
    assert done.returncode == 1, "the unit is to fail"
    told = answers(tmp_path)
    del told["all"]
    assert list(told.values()) == [ALONE] * 7
