"""How the node joins: kubeadm's configuration, the unit that runs it, and the node's labels."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hardware.hardware import Hardware
from ignition.boot import texts
from ignition.boot.config import BootConfig, BootUnit

_JOINS = re.compile(r"^ExecStart=.*\bkubeadm join\b(?:.*--config[= ](\S+))?", re.MULTILINE)
_TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}", re.ASCII)
_OURS = tuple(f"fleet.gpu/{name}" for name in ("site", "pool", "hardware", "purpose", "numa-plan"))
# k8s.io/kubelet/pkg/apis: what a kubelet may set on its own node in the kubernetes.io namespace
_ALLOWED = {
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
}
Json = dict[str, object]
_PATCHES = "/etc/kubernetes/patches"


@dataclass(frozen=True, kw_only=True)
class Joining:
    """What the node joins with; `patches` is the folder whose patches kubeadm applies."""

    hostname: str | None
    patches: str | None
    labels: Mapping[str, str]


def check(config: BootConfig, hardware: Hardware, problems: list[str]) -> Joining:
    """Read how the node joins; what keeps it out is added to `problems`."""
    path = _unit(config, problems)
    join = _configuration(config, path, problems)
    registration = _mapping(join.get("nodeRegistration"))
    patches = _mapping(join.get("patches")).get("directory")
    hostname = (config.text("/etc/hostname") or "").strip() or None
    name = registration.get("name")
    if name and hostname and name != hostname:
        problems.append(
            f'join.yaml names the node "{name}", /etc/hostname "{hostname}"; use one name'
        )
    if not join:
        patches = _PATCHES  # one problem is enough: without join.yaml nothing is patched
    labels = _labels(config, problems)
    problems += _label_problems(labels, hardware)
    return Joining(
        hostname=str(name) if name else hostname,
        patches=str(patches) if patches else None,
        labels=labels,
    )


def _unit(config: BootConfig, problems: list[str]) -> str | None:
    kubelet = config.units.get("kubelet.service")
    if kubelet is not None and kubelet.masked:
        problems.append("kubelet.service is masked; the node never becomes Ready, unmask it")
    for unit in config.units.values():
        match = _JOINS.search(unit.contents or "")
        if match is None:
            continue
        problems += _unit_problems(unit, match[1])
        return match[1]
    problems.append("no unit runs kubeadm join, so the node joins nothing; add one")
    return None


def _unit_problems(unit: BootUnit, path: str | None) -> Iterator[str]:
    text = unit.contents or ""
    after = set(" ".join(re.findall(r"^After=(.*)$", text, re.MULTILINE)).split())
    if not unit.enabled:
        yield f"{unit.name} joins the node, but is not enabled; enable it"
    if path is None:
        yield f"{unit.name} runs kubeadm join without --config; give it the join file"
    for wanted in sorted({"containerd.service", "network-online.target"} - after):
        yield f"{unit.name} does not wait for {wanted}; add it to After="
    if "ConditionPathExists=!/etc/kubernetes/kubelet.conf" not in text:
        yield (
            f"{unit.name} joins again at each boot; add "
            "ConditionPathExists=!/etc/kubernetes/kubelet.conf"
        )


def _configuration(config: BootConfig, path: str | None, problems: list[str]) -> Json:
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
        join = texts.documents(file.text)[-1]
    except (texts.TextError, IndexError):
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


def _labels(config: BootConfig, problems: list[str]) -> Mapping[str, str]:
    path = "/etc/sysconfig/kubelet"
    text = config.text(path) or ""
    arguments = ""
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name == "KUBELET_EXTRA_ARGS":
            arguments = value.strip("\"'")
        elif line.strip() and not line.startswith("#"):
            problems.append(f"{path}: {name} is not read; kubelet takes KUBELET_EXTRA_ARGS alone")
    labels: dict[str, str] = {}
    for word in arguments.split():
        flag, _, value = word.partition("=")
        if flag == "--node-labels":
            labels |= dict(pair.partition("=")[::2] for pair in value.split(",") if pair)
    return labels


def _label_problems(labels: Mapping[str, str], hardware: Hardware) -> Iterator[str]:
    for key, value in labels.items():
        namespace = key.partition("/")[0] if "/" in key else ""
        ours = namespace.endswith(("kubelet.kubernetes.io", "node.kubernetes.io"))
        if namespace.endswith(("kubernetes.io", "k8s.io")) and key not in _ALLOWED and not ours:
            yield f"the label {key} is not for kubelet to set, and it does not start; remove it"
        if not texts.QUALIFIED.fullmatch(key) or not texts.VALUE.fullmatch(value):
            yield f"the label {key}={json.dumps(value)} is malformed, and kubelet does not start"
    for key in _OURS:
        if key not in labels:
            yield f"the label {key} is missing from /etc/sysconfig/kubelet; rules select by it"
    given = labels.get("fleet.gpu/hardware")
    if given is not None and given != hardware.name:
        yield f"the label fleet.gpu/hardware={given} stands on a {hardware.name}; correct it"
