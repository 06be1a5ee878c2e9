"""Judges how the node joins: kubeadm's configuration and the unit that runs it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hardware.catalogue import Hardware
from ignition.boot import labels, parsing
from ignition.boot.config import BootConfig, BootUnit
from ignition.boot.parsing import Json
from ignition.boot.unit_syntax import parse, values

_JOINS = re.compile(r"^ExecStart=.*\bkubeadm join\b(?:.*--config[= ](\S+))?", re.MULTILINE)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", re.ASCII)
_TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}", re.ASCII)
_PATCHES = "/etc/kubernetes/patches"
_CA = "/etc/kubernetes/pki/ca.crt"
_SOCKET = "unix:///run/containerd/containerd.sock"
# kubeadm's JoinConfiguration v1beta4, as far as a node needs it; None ends the nesting
_KNOWN: Json = {
    "apiVersion": None,
    "kind": None,
    "dryRun": None,
    "caCertPath": None,
    "controlPlane": None,
    "skipPhases": None,
    "timeouts": None,
    "patches": {"directory": None},
    "discovery": {
        "bootstrapToken": {
            "token": None,
            "apiServerEndpoint": None,
            "caCertHashes": None,
            "unsafeSkipCAVerification": None,
        },
        "file": None,
        "tlsBootstrapToken": None,
        "timeout": None,
    },
    "nodeRegistration": {
        "name": None,
        "criSocket": None,
        "taints": None,
        "kubeletExtraArgs": None,
        "ignorePreflightErrors": None,
        "imagePullPolicy": None,
        "imagePullSerial": None,
    },
}


@dataclass(frozen=True, kw_only=True)
class Joining:
    """Name and labels of a joined node; `patches` is the folder whose patches kubeadm applies."""

    hostname: str | None
    patches: str | None
    labels: Mapping[str, str]


def check(config: BootConfig, hardware: Hardware, problems: list[str]) -> Joining:
    """Read how the node joins; what keeps it out is added to `problems`."""
    path = _unit(config, problems)
    join = configuration(config, path, problems)
    registration = _mapping(join.get("nodeRegistration"))
    patches = _mapping(join.get("patches")).get("directory")
    hostname = (config.text("/etc/hostname") or "").strip() or None
    name = registration.get("name")
    if name and hostname and name != hostname:
        problems.append(
            f'join.yaml names the node "{parsing.shown(str(name))}", /etc/hostname '
            f'"{parsing.shown(hostname)}"; use one name'
        )
    if not join:
        patches = _PATCHES  # one problem is enough: without join.yaml nothing is patched
    found = labels.check(config, hardware, problems)
    return Joining(
        hostname=str(name) if name else hostname,
        patches=str(patches) if patches else None,
        labels=found,
    )


def _unit(config: BootConfig, problems: list[str]) -> str | None:
    kubelet = config.units.get("kubelet.service")
    if kubelet is not None and kubelet.masked:
        problems.append("kubelet.service is masked; the node never becomes Ready, unmask it")
    for unit in config.units.values():
        match = _JOINS.search(unit.contents or "")
        if match is None:
            continue
        problems += unit_problems(unit, unit.contents or "")
        problems += _leftovers(unit, match[1])
        return match[1]
    problems.append("no unit runs kubeadm join, so the node joins nothing; add one")
    return None


def _leftovers(unit: BootUnit, path: str | None) -> Iterator[str]:
    if path is None:
        yield f"{unit.name} runs kubeadm join without --config; give it the join file"
        return
    lines = parse(unit.contents or "")
    commands = [line.value for line in lines if line.name in ("ExecStartPost", "ExecStopPost")]
    if not any("rm " in each and path in each for each in commands):
        yield f"{unit.name} leaves the token in {path}; remove the file in ExecStartPost="
    if not any("rm " in each and _CA in each for each in values(lines, "ExecStartPre")):
        yield (
            f"{unit.name} never succeeds after a try that failed halfway, since kubeadm refuses to "
            f"begin where {_CA} is; remove it in ExecStartPre="
        )


def unit_problems(unit: BootUnit, said: str) -> Iterator[str]:
    """Yield what keeps a unit from running kubeadm in time; `said` has its commands and scripts."""
    lines = parse(unit.contents or "")
    after, pulled = (
        set(" ".join(text for name in names for text in values(lines, name)).split())
        for names in (("After",), ("Requires", "Wants", "BindsTo"))
    )
    if not unit.enabled:
        yield f"{unit.name} joins the node, but is not enabled; enable it"
    for wanted in ("containerd.service", "network-online.target"):
        if wanted not in after:
            yield f"{unit.name} does not wait for {wanted}; add it to After="
        if wanted not in pulled:
            yield f"{unit.name} does not start {wanted}; add it to Wants= or Requires="
    if "!/etc/kubernetes/kubelet.conf" not in values(lines, "ConditionPathExists"):
        yield (
            f"{unit.name} joins again at each boot; add "
            "ConditionPathExists=!/etc/kubernetes/kubelet.conf"
        )
    if not {"on-failure", "always"} & set(values(lines, "Restart")):
        yield f"{unit.name} does not try again when the API server is away; add Restart=on-failure"
    elif not values(lines, "RestartSec"):
        yield (f"{unit.name} tries five times in a second, and systemd gives up; add RestartSec=30")
    if "oneshot" not in values(lines, "Type"):
        yield f"{unit.name} is done before kubeadm is; set Type=oneshot"
    if "kubeadm" not in said:
        yield f"{unit.name} runs no kubeadm; correct its ExecStart"


def configuration(config: BootConfig, path: str | None, problems: list[str]) -> Json:
    """Return the JoinConfiguration at a path, {} where kubeadm could not use it."""
    if path is None:
        return {}
    file = config.files.get(path)
    if file is None or file.text is None:
        problems.append(f"{path} is not written, so kubeadm cannot join; merge the secret part")
        return {}
    if file.mode & 0o077:
        problems.append(
            f"{path} holds a token and has the mode {file.mode:04o}; write it with 0600"
        )
    try:
        join = parsing.documents(file.text)[-1]
    except (parsing.TextError, IndexError):
        join = None
    # what stands in it is never repeated in a message: it holds the token
    if not isinstance(join, dict) or join.get("kind") != "JoinConfiguration":
        problems.append(f"{path} is no JoinConfiguration; write kubeadm's v1beta4")
        return {}
    problems += _join_problems(path, join)
    return join


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _join_problems(path: str, join: Json) -> Iterator[str]:
    if join.get("apiVersion") not in ("kubeadm.k8s.io/v1beta4", "kubeadm.k8s.io/v1beta3"):
        yield f"{path} has the apiVersion {join.get('apiVersion')}; write kubeadm.k8s.io/v1beta4"
    yield from _unknown(path, join, _KNOWN, "")
    registration = _mapping(join.get("nodeRegistration"))
    if registration.get("criSocket", _SOCKET) != _SOCKET:
        yield f"{path}: nodeRegistration.criSocket must be {_SOCKET}"
    if not _NAME.fullmatch(str(registration.get("name", "node"))):
        yield f"{path}: nodeRegistration.name must have lower-case letters, digits and hyphens"
    bootstrap = _mapping(_mapping(join.get("discovery")).get("bootstrapToken"))
    if not _TOKEN.fullmatch(str(bootstrap.get("token", ""))):
        yield f"{path}: the bootstrap token must have the form [a-z0-9]{{6}}.[a-z0-9]{{16}}"
    if not re.fullmatch(r"[^\s:/]+:\d+", str(bootstrap.get("apiServerEndpoint", ""))):
        yield f"{path}: apiServerEndpoint must be host:port"
    hashes = bootstrap.get("caCertHashes")
    if not isinstance(hashes, list) or not all(
        re.fullmatch(r"sha256:[0-9a-f]{64}", str(item)) for item in hashes or [""]
    ):
        yield f"{path}: caCertHashes must hold sha256:<64 hexadecimal digits>"


def _unknown(path: str, given: Json, known: Json, where: str) -> Iterator[str]:
    for key, value in given.items():
        if key not in known:
            yield f"{path}: {where}{key} is no field of JoinConfiguration; correct or remove it"
        elif (inner := known[key]) is not None:
            if not isinstance(value, dict):
                yield f"{path}: {where}{key} must be a mapping"
            else:
                yield from _unknown(path, value, _mapping(inner), f"{where}{key}.")
