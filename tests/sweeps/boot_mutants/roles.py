"""Mutants of tunnels and of the control plane."""

import base64
import re
from collections.abc import Iterator
from random import Random

from tests.support.ignition.faults import entries, find
from tests.sweeps.boot_mutants.bases import Base, Json, Kind, misspelt

Mutants = Iterator[tuple[str, Json]]
_NETDEV = "/etc/systemd/network/50-wg0.netdev"
_NETWORK = "/etc/systemd/network/50-wg0.network"
_CREDENTIAL = "/etc/credstore/network.wireguard.private.50-wg0"
_PKI = "/etc/kubernetes/pki/"
_INIT = "/etc/kubernetes/init.yaml"


def _lines(base: Base) -> Iterator[tuple[str, list[str], int]]:
    for path in (_NETDEV, _NETWORK):
        lines = base.texts.get(path, "").splitlines()
        for place, line in enumerate(lines):
            if line:
                yield path, lines, place


def line_dropped(base: Base, _random: Random) -> Mutants:
    for path, lines, place in _lines(base):
        less = "\n".join(lines[:place] + lines[place + 1 :])
        yield f"{lines[place]}", base.with_text(path, less)


def line_misspelt(base: Base, random: Random) -> Mutants:
    for path, lines, place in _lines(base):
        name, sign, value = lines[place].partition("=")
        new = f"{misspelt(name, random)}{sign}{value}"
        text = "\n".join([*lines[:place], new, *lines[place + 1 :]])
        yield new, base.with_text(path, text)


def value_wrong(base: Base, random: Random) -> Mutants:
    wrong = {
        "PublicKey": (base64.b64encode(b"short").decode(), "key"),
        "AllowedIPs": ("10.20.0.0/33", "fra", "10.20.0.0/16;10.30.0.0/16"),
        "Endpoint": ("fra.fleet.example", "fra.fleet.example:99999", "https://fra:51820"),
        "ListenPort": ("0", "70000", "auto"),
        "PersistentKeepalive": ("0", "25s"),
        "Address": ("10.99.0.1", "10.99.0.300/24"),
        "RouteTable": ("off", "mian"),
        "Kind": ("wg", "vlan"),
        "Name": ("wg1", "an interface"),
    }
    for path, lines, place in _lines(base):
        name = lines[place].partition("=")[0]
        if name in wrong:
            new = f"{name}={random.choice(wrong[name])}"
            text = "\n".join([*lines[:place], new, *lines[place + 1 :]])
            yield new, base.with_text(path, text)


def peers_alike(base: Base, _random: Random) -> Mutants:
    text = base.texts.get(_NETDEV)
    if text is None:
        return
    for name in ("PublicKey", "AllowedIPs"):
        first, second = re.findall(rf"{name}=(\S+)", text)[:2]
        yield f"{name} twice", base.with_text(_NETDEV, text.replace(second, first))


def secret_lost(base: Base, _random: Random) -> Mutants:
    if _CREDENTIAL not in base.texts:
        return
    yield "no key", base.with_text(_CREDENTIAL, "key\n")
    config = base.config()
    find(config, "files", _CREDENTIAL)["mode"] = 0o644
    yield "open to all", config
    config = base.config()
    find(config, "files", _CREDENTIAL)["path"] = _CREDENTIAL.replace("50-wg0", "wg0")
    yield "of another name", config
    config = base.config()
    entries(config, "files").remove(find(config, "files", _CREDENTIAL))
    yield "missing", config


def pki(base: Base, random: Random) -> Mutants:
    paths = [path for path in base.texts if path.startswith(_PKI)]
    if not paths:
        return
    path = random.choice(paths)
    yield f"{path} empty", base.with_text(path, "")
    yield f"{path} no PEM", base.with_text(path, "bm9ib2R5\n")
    config = base.config()
    entries(config, "files").remove(find(config, "files", path))
    yield f"{path} missing", config
    key = random.choice([path for path in paths if path.endswith(".key")])
    config = base.config()
    find(config, "files", key)["mode"] = 0o644
    yield f"{key} open", config


def founding(base: Base, random: Random) -> Mutants:
    text = base.texts.get(_INIT)
    if text is None or "first" not in base.label:
        return
    for old, new in (
        ("v1beta4", "v1beta2"),
        ("InitConfiguration", "InitConfig"),
        ("ClusterConfiguration", "ClusterStatus"),
        (":6443", ""),
        ("v1.36.3", random.choice(("v1.36.4", "1.36.3", "v1.35.0"))),
        ("10.244.0.0/16", "10.244.0.0"),
        ("podSubnet", "podCidr"),
        ('"disabled":true', '"disabled":false'),
        ('"token":"', '"token":"x'),
    ):
        yield f"{old} -> {new}", base.with_text(_INIT, text.replace(old, new))


KINDS: dict[str, Kind] = {
    "tunnel: line dropped": line_dropped,
    "tunnel: line misspelt": line_misspelt,
    "tunnel: value wrong": value_wrong,
    "tunnel: peers alike": peers_alike,
    "tunnel: secret lost": secret_lost,
    "control plane: PKI": pki,
    "control plane: founding": founding,
}
