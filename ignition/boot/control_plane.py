"""Judges a control-plane server: kubeadm creates or joins the cluster, with the cluster's PKI."""

import re
from collections.abc import Iterator

from hardware.catalogue import Hardware
from ignition.boot import joining, labels, parsing
from ignition.boot.config import BootConfig
from ignition.boot.parsing import mappings
from ignition.boot.unit_syntax import parse, values

_PKI = "/etc/kubernetes/pki"
_CERTIFICATES = ("ca.crt", "sa.pub", "front-proxy-ca.crt", "etcd/ca.crt")
_KEYS = ("ca.key", "sa.key", "front-proxy-ca.key", "etcd/ca.key")
_PEM = {
    "crt": "-----BEGIN CERTIFICATE-----",
    "key": "-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "pub": "-----BEGIN [A-Z ]*PUBLIC KEY-----",
}
_FILES = re.compile(r"kubeadm (init|join) --config[= ](\S+)")
_KINDS = {"InitConfiguration", "ClusterConfiguration"}
_TOKEN = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}", re.ASCII)


def check(config: BootConfig, hardware: Hardware, problems: list[str]) -> str | None:
    """Return the name of the server; what keeps it from serving is added to `problems`."""
    if hardware.gpus:
        problems.append(f"{hardware.name} has GPUs, which a control plane wastes; take another")
    runs = [unit for unit in config.units.values() if _FILES.search(config.commands[unit.name])]
    if not runs:
        problems.append("no unit runs kubeadm init or join with --config; add one")
    for unit in runs:
        problems += joining.unit_problems(unit, config.commands[unit.name])
    said = "\n".join(config.commands[unit.name] for unit in runs)
    paths = dict(_FILES.findall(said))
    names = {str((config.text("/etc/hostname") or "").strip())} - {""}
    if "join" in paths:
        join = joining.configuration(config, paths["join"], problems)
        if join and "controlPlane" not in join:
            problems.append(f"{paths['join']} joins a worker; add controlPlane: {{}}")
        names |= _names(join)
    if "init" in paths:
        documents = _documents(paths["init"], config, problems)
        problems += _init(paths["init"], documents, config)
        names |= {name for document in documents for name in _names(document)}
    for path in paths.values():
        if f"rm --force {path}" not in said and not re.search(rf"\brm\b[^\n]*{path}", said):
            problems.append(f"nothing removes {path}, which holds a token, once it has served; do")
    if len(names) > 1:
        problems.append(
            f"the server has the names {', '.join(sorted(map(parsing.shown, names)))}; use one name"
        )
    problems += _pki(config)
    labels.arguments(config, hardware, problems)
    return next(iter(names), None)


def _names(document: dict[str, object]) -> set[str]:
    registration = document.get("nodeRegistration")
    name = registration.get("name") if isinstance(registration, dict) else None
    return {str(name)} if name else set()


def _documents(path: str, config: BootConfig, problems: list[str]) -> list[dict[str, object]]:
    file = config.files.get(path)
    if file is None or file.text is None:
        problems.append(f"{path} is not written, so nobody founds the cluster; merge it")
        return []
    if file.mode & 0o077:
        problems.append(f"{path} holds a token and has the mode {file.mode:04o}; write 0600")
    try:
        return mappings(parsing.documents(file.text))
    except parsing.TextError:
        problems.append(f"{path} cannot be read; write InitConfiguration and ClusterConfiguration")
        return []


def _init(path: str, documents: list[dict[str, object]], config: BootConfig) -> Iterator[str]:
    by_kind = {str(document.get("kind")): document for document in documents}
    if documents and by_kind.keys() != _KINDS:
        yield f"{path} must have exactly {' and '.join(sorted(_KINDS))}"
    if any(document.get("apiVersion") != "kubeadm.k8s.io/v1beta4" for document in documents):
        yield f"{path} has another apiVersion; write kubeadm.k8s.io/v1beta4"
    for token in mappings(by_kind.get("InitConfiguration", {}).get("bootstrapTokens")):
        if not _TOKEN.fullmatch(str(token.get("token"))):
            yield f"{path}: the bootstrap token must have the form [a-z0-9]{{6}}.[a-z0-9]{{16}}"
    cluster = by_kind.get("ClusterConfiguration")
    if cluster is None:
        return
    if not re.fullmatch(r"[^\s:/]+:\d+", str(cluster.get("controlPlaneEndpoint", ""))):
        yield f"{path}: controlPlaneEndpoint must be host:port, or no second server can join"
    linked = config.links.get("/etc/extensions/kubernetes.raw", "")
    version = str(cluster.get("kubernetesVersion", ""))
    if linked and f"kubernetes-{version}-" not in linked:
        yield f"{path} wants Kubernetes {version}, but the extension is {linked}; use one version"
    networking = cluster.get("networking")
    given = networking if isinstance(networking, dict) else {}
    for name in ("podSubnet", "serviceSubnet"):
        if not re.fullmatch(r"[0-9a-fA-F.:]+/\d+(,[0-9a-fA-F.:]+/\d+)?", str(given.get(name))):
            yield f"{path}: networking.{name} must be a network such as 10.244.0.0/16"
    if cluster.get("proxy") != {"disabled": True}:
        yield f"{path} would install kube-proxy, whose work Cilium does; write proxy.disabled: true"


def _pki(config: BootConfig) -> Iterator[str]:
    for name in (*_CERTIFICATES, *_KEYS):
        file = config.files.get(f"{_PKI}/{name}")
        if file is None or not (file.text or "").strip():
            yield f"{_PKI}/{name} is missing, and servers trust each other by it; merge it"
        elif name in _KEYS and file.mode & 0o077:
            yield f"{_PKI}/{name} is a key with the mode {file.mode:04o}; write 0600"
        elif not re.search(_PEM[name.rpartition(".")[2]], file.text or ""):
            yield f"{_PKI}/{name} is another kind of PEM or none; write the whole right text"
    device = any(unit == "var-lib-etcd.mount" for unit in config.units)
    runs = [unit for unit in config.units.values() if _FILES.search(config.commands[unit.name])]
    for unit in runs:
        mounts = " ".join(values(parse(unit.contents or ""), "RequiresMountsFor")).split()
        if device and "/var/lib/etcd" not in mounts:
            yield f"{unit.name} may fill the system disk; add RequiresMountsFor=/var/lib/etcd"
