"""Judges files: each needs a reader, and one with a token or private key needs a strict mode."""

import posixpath
import re
import string
from collections.abc import Iterator

from ignition.boot import parsing
from ignition.boot.config import BootConfig, BootFile
from ignition.boot.parsing import names

# directory -> the ends of the names that its reader takes
_READ: dict[str, tuple[str, ...]] = {
    "/etc/sysctl.d": (".conf",),
    "/etc/modprobe.d": (".conf",),
    "/etc/modules-load.d": (".conf",),
    "/etc/tmpfiles.d": (".conf",),
    "/etc/sysusers.d": (".conf",),
    "/etc/security/limits.d": (".conf",),
    "/etc/ssh/sshd_config.d": (".conf",),
    "/etc/ssh/ssh_config.d": (".conf",),
    "/etc/udev/rules.d": (".rules",),
    "/etc/sysupdate.d": (".conf", ".transfer"),
    "/etc/sysupdate.kubernetes.d": (".conf", ".transfer"),
    "/etc/systemd/network": (".network", ".netdev", ".link"),
    "/etc/kubernetes/manifests": (".yaml", ".yml", ".json"),
    "/etc/cni/net.d": (".conf", ".conflist"),
    "/etc/cdi": (".yaml", ".json"),
    "/etc/extensions": (".raw",),
    "/etc/profile.d": (".sh",),
    "/etc/ssl/certs": (".pem", ".crt"),
    "/etc/chrony": (".conf", ".keys"),
    "/etc/containerd/conf.d": (".toml",),
}
_DROPINS = re.compile(
    r"/etc/systemd/((system|user|journald|logind|resolved|timesyncd|networkd|coredump|oomd|sleep)"
    r"\.conf\.d|network/[^/]+\.(network|netdev|link)\.d|system/[^/]+\.d)"
)
_ALONE = names("""
    /etc/sysconfig/kubelet /etc/hostname /etc/hosts /etc/machine-info /etc/locale.conf /etc/motd
    /etc/issue /etc/environment /etc/crictl.yaml /etc/docker/daemon.json /etc/multipath.conf
    /etc/iscsi/initiatorname.iscsi /etc/iscsi/iscsid.conf /etc/resolv.conf /etc/nsswitch.conf
    /etc/flatcar/enabled-sysext.conf /etc/flatcar/update.conf /etc/.no-dup-update
    /etc/containerd/config.toml /etc/containerd/config-nvidia.toml /etc/selinux/config
    /etc/nvidia-container-runtime/config.toml
    /etc/systemd/system.conf /etc/systemd/journald.conf /etc/systemd/timesyncd.conf
    /etc/systemd/logind.conf /etc/systemd/resolved.conf /etc/systemd/networkd.conf /etc/fstab
    /etc/subuid /etc/subgid /etc/projects /etc/projid /etc/mdadm.conf /etc/nvidia/nvidia.conf
    /etc/fleet/plan.json
    /etc/ssh/sshd_config /etc/audit/auditd.conf /etc/exports /etc/vconsole.conf /etc/localtime
    """)
# read by programs that are handed the whole folder
_FOLDERS = (
    "/etc/kubernetes/patches/",
    "/etc/kubernetes/pki/",
    "/etc/containerd/certs.d/",
    "/etc/systemd/system/",
    "/opt/extensions/",
    "/etc/credstore/",
    "/home/",
    "/root/",
    "/oem/",
    "/usr/share/oem/",
    "/var/lib/",
)
_NAME = f"{string.ascii_letters}{string.digits}_-"
_KEY = re.compile(r"^\s*PrivateKey\s*=\s*\S|-----BEGIN [A-Z ]*PRIVATE KEY-----", re.MULTILINE)
_TOKEN = re.compile(r"\"token\":\s*\"[a-z0-9]{6}\.[a-z0-9]{16}\"", re.ASCII)


def check(config: BootConfig, problems: list[str]) -> None:
    """Add to `problems` the files that no program reads, and secrets that every user may read."""
    mentioned = _mentioned(config)
    for file in config.files.values():
        problems += _reader(file, mentioned)
        text = file.text or ""
        if file.mode & 0o077 and '"token"' in text and _TOKEN.search(text):
            problems.append(
                f"{file.path} holds a token and has the mode {file.mode:04o}; write it with 0600"
            )
        if file.mode & 0o007 and "rivate" in text.replace("RIVATE", "rivate") and _KEY.search(text):
            problems.append(
                f"{file.path} holds a private key and has the mode {file.mode:04o}; write 0640 or "
                "0600"
            )


def _mentioned(config: BootConfig) -> str:
    """The text of all units, scripts and links, in which a reader of a file is named."""
    units = (
        text
        for unit in config.units.values()
        for text in (unit.contents or "", *unit.dropins.values())
    )
    files = (file.text or "" for path, file in config.files.items() if not path.endswith(".json"))
    return "\n".join((*units, *files, *config.links.values()))


def _reader(file: BootFile, mentioned: str) -> Iterator[str]:
    path = file.path
    folder, name = posixpath.split(path)
    ends = _READ.get(folder)
    if ends is None and _DROPINS.fullmatch(folder):
        ends = (".conf",)
    if ends is not None:
        if not name.endswith(ends):
            yield f"{path} is not read in {folder}; end its name in {' or '.join(ends)}"
        return
    if file.path in _ALONE or file.path.startswith(_FOLDERS):
        return
    if not (
        _stands(path, mentioned, _NAME)
        or _stands(f"{folder}/*", mentioned, "")
        or _stands(folder, mentioned, f"{_NAME}/.")
    ):
        yield f"nothing on the node reads {path}; remove it or name it in what should read it"


def _stands(path: str, text: str, longer: str) -> bool:
    """Return whether the text names this path, not one that goes on with a letter of `longer`."""
    at = text.find(path)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(path) : at + len(path) + 1]
        if before not in f"{_NAME}/." and (not after or after not in longer):
            return True
        at = text.find(path, at + 1)
    return False


def hostname(config: BootConfig) -> Iterator[str]:
    """Yield the mistake where /etc/hostname is no valid name of a node."""
    text = config.text("/etc/hostname")
    name = (text or "").strip()
    if text is not None and not re.fullmatch(
        r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?", name, re.ASCII
    ):
        yield (
            f'/etc/hostname has "{parsing.shown(name)}", which is no name of a node; write '
            "lower-case letters, digits and hyphens"
        )


def lines(config: BootConfig, folder: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield (path, name, value) of a folder's .conf files, in the order in which they apply."""
    for path in sorted(config.files):
        if path.rpartition("/")[0] == folder and path.endswith(".conf"):
            for name, value in parsing.settings(config.text(path) or ""):
                yield path, name, value
