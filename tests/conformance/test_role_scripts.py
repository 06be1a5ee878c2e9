"""The scripts of /scratch and the control plane, run by bash with programs that only tell."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ignition.write.control_plane import control_plane_ignition
from ignition.write.render import tuning_ignition
from tests.support.ignition.nodes import node
from tests.support.ignition.roles import server
from tests.unit.ignition.test_render import files, text

BASH = shutil.which("bash") or "/bin/bash"
EBS = "Amazon Elastic Block Store              "
EC2 = "Amazon EC2 NVMe Instance Storage        "
GIB = 2 * 1024 * 1024  # sectors


def run(script: str, **returns: str) -> subprocess.CompletedProcess[str]:
    """The script with functions instead of programs: each tells its call, or does as given."""
    told = ("mdadm", "udevadm", "mkfs.xfs", "xfs_io", "xfs_quota", "kubeadm", "rm", "curl")
    bodies = {name: f'echo "{name} $*"' for name in told} | {"blkid": "return 2"} | returns
    functions = "\n".join(f"{name}() {{ {body}; }}" for name, body in bodies.items())
    return subprocess.run(
        [BASH, "-c", f"{functions}\n{script}"], check=False, capture_output=True, text=True
    )


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    (tmp_path / "sys").mkdir()
    (tmp_path / "dev").mkdir()
    return tmp_path


def drive(machine: Path, name: str, gib: int, *, model: str = EC2, node: bool = True) -> str:
    """A drive in sysfs; one without a device node is a hidden path of a multipath drive."""
    entry = machine / "sys" / name
    (entry / "device").mkdir(parents=True)
    (entry / "device" / "model").write_text(f"{model}\n")
    (entry / "size").write_text(f"{gib * GIB}\n")
    if node:
        (machine / "dev" / name).touch()
    return f"{machine}/dev/{name}"


def array(machine: Path, *, used: tuple[str, ...] = (), **returns: str) -> list[str] | str:
    """What is done to the drives, or the complaint; `used` are those with contents."""
    source = text(files(tuning_ignition(node("dgx-h200")))["/opt/bin/scratch-array"])
    source = source.replace("/sys/block/", f"{machine}/sys/").replace("[[ -b ", "[[ -e ")
    source = source.replace("device=/dev/${", f"device={machine}/dev/${{")
    case = "|".join(used) or "nothing"
    lsblk = f'case "${{!#}}" in {case}) echo "  gpt";; *) echo "   ";; esac'
    done = run(source, lsblk=lsblk, **returns)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("udevadm")]
    return lines[1:] if done.returncode == 0 else done.stderr.strip()


def test_all_empty_drives_of_one_size_become_one_array(machine: Path) -> None:
    drives = [drive(machine, f"nvme{n}n1", 3576) for n in range(1, 9)]
    system = drive(machine, "nvme0n1", 1788)
    create = (
        "mdadm --create /dev/md/scratch --run --level=0 --homehost=any --name=scratch "
        f"--raid-devices=8 {' '.join(drives)}"
    )
    assert array(machine, used=(system,)) == [create, "mkfs.xfs -K -L scratch /dev/md/scratch"]


def test_a_system_disk_of_the_same_size_is_left_alone(machine: Path) -> None:
    system = drive(machine, "nvme0n1", 3576)
    drives = [drive(machine, f"nvme{n}n1", 3576) for n in (1, 2)]
    done = array(machine, used=(system,))
    assert system not in done[0]
    assert " ".join(drives) in done[0]


def test_of_several_sizes_the_one_with_most_space_is_taken(machine: Path) -> None:
    small = [drive(machine, f"nvme{n}n1", 1788) for n in (0, 1)]
    large = [drive(machine, f"nvme{n}n1", 3576) for n in (2, 3)]
    done = array(machine)
    assert done[0].endswith(f"--raid-devices=2 {' '.join(large)}")
    assert not any(each in done[0] for each in small)


def test_a_volume_of_ebs_and_a_hidden_path_are_no_local_drives(machine: Path) -> None:
    drive(machine, "nvme0n1", 9000, model=EBS)
    drive(machine, "nvme2c0n1", 9000, node=False)
    only = drive(machine, "nvme1n1", 3539)
    assert array(machine) == [f"mkfs.xfs -K -L scratch {only}"], "one drive needs no array"


def test_what_an_earlier_boot_made_is_kept(machine: Path) -> None:
    drive(machine, "nvme1n1", 3576)
    assert array(machine, blkid="echo /dev/md/scratch") == []


def test_a_machine_without_an_empty_drive_says_so(machine: Path) -> None:
    assert array(machine) == "no empty NVMe drive for /scratch"
    full = drive(machine, "nvme0n1", 3576)
    assert array(machine, used=(full,)) == "no empty NVMe drive for /scratch"


def test_each_new_directory_may_fill_half_of_the_array(tmp_path: Path) -> None:
    for name in ("known", "new one"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "new one")
    source = text(files(tuning_ignition(node("dgx-h200")))["/opt/bin/scratch-quota"])
    done = run(
        source.replace("/scratch/*/", f"{tmp_path}/*/"),
        stat='if [[ $1 == --file-system ]]; then echo "1000 * 4096"; else echo 4294967299; fi',
        xfs_io=(
            'if [[ $3 == lsproj ]]; then [[ $4 == */known/ ]] && echo "projid = 7" || '
            'echo "projid = 0"; else echo "xfs_io $*"; fi'
        ),
    )
    assert done.stdout.splitlines() == [
        f"xfs_io -r -c chproj -R 6 -c chattr -R +P {tmp_path}/new one/",
        "xfs_quota -x -c limit -p bhard=2048000 6 /scratch",
    ], done.stderr


@pytest.mark.parametrize(
    ("first", "answers", "does"),
    [
        (True, True, "kubeadm join --config /etc/kubernetes/join.yaml"),
        (False, True, "kubeadm join --config /etc/kubernetes/join.yaml"),
        (True, False, "kubeadm init --config /etc/kubernetes/init.yaml"),
        (False, False, None),
    ],
)
def test_only_the_first_server_founds_a_cluster_and_only_where_nobody_answers(
    *, first: bool, answers: bool, does: str | None
) -> None:
    script = text(files(control_plane_ignition(server(first=first)))["/opt/bin/control-plane"])
    done = run(script, curl=f"return {0 if answers else 1}")
    removed = "rm --force /etc/kubernetes/init.yaml /etc/kubernetes/join.yaml"
    assert done.stdout.splitlines() == ([] if does is None else [does, removed])
    assert (done.returncode == 0) is (does is not None), "a server that cannot join tries again"


def test_a_token_that_did_not_serve_yet_is_kept(tmp_path: Path) -> None:
    script = text(files(control_plane_ignition(server()))["/opt/bin/control-plane"])
    done = run(script, curl="return 0", kubeadm="return 1")
    assert done.returncode != 0
    assert "rm" not in done.stdout
