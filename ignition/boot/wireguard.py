"""Judges WireGuard tunnels of systemd-networkd: complete, with valid keys, and the secret kept."""

import base64
import binascii
import ipaddress
import posixpath
import re
from collections.abc import Iterator

from ignition.boot import unit_syntax
from ignition.boot.config import BootConfig
from ignition.boot.parsing import hint, names, nearest, shown
from ignition.boot.unit_syntax import Directive

_FOLDER = "/etc/systemd/network"
_CREDENTIALS = "/etc/credstore"
_DIRECTIVES = {
    "NetDev": names("Name Kind Description MTUBytes MACAddress"),
    "WireGuard": names("PrivateKey PrivateKeyFile ListenPort FirewallMark RouteTable RouteMetric"),
    "WireGuardPeer": names(
        "PublicKey PublicKeyFile PresharedKey PresharedKeyFile AllowedIPs Endpoint "
        "PersistentKeepalive RouteTable RouteMetric"
    ),
    "Match": names("Name Type Kind Driver MACAddress Path Property"),
    "Network": names(
        "Address Gateway DHCP DNS Domains IPForward IPv4Forwarding IPv6Forwarding MTUBytes VLAN "
        "Description LinkLocalAddressing ConfigureWithoutCarrier IPMasquerade VXLAN Tunnel Bond "
        "Bridge IPv6AcceptRA KeepConfiguration"
    ),
    "Route": names("Gateway Destination Metric Scope Source Table Type MTUBytes GatewayOnLink"),
    "Link": names("MTUBytes RequiredForOnline ActivationPolicy Unmanaged RequiredFamilyForOnline"),
    "Address": names("Address Peer Scope Label"),
}
_PEER = "WireGuardPeer"
_ENDPOINT = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})", re.ASCII)


def check(config: BootConfig, problems: list[str]) -> None:
    """Add to `problems` what keeps a tunnel from coming up; no message repeats a private key."""
    networks: dict[str, list[Directive]] = {}
    for path, file in config.files.items():
        if path.rpartition("/")[0] != _FOLDER or file.text is None:
            continue
        lines = unit_syntax.parse(file.text)
        problems += _directives(path, lines)
        if path.endswith(".network"):
            match = next((line.value for line in lines if line.section == "Match"), "")
            networks.setdefault(match, []).extend(lines)
    for path, file in config.files.items():
        if path.startswith(f"{_FOLDER}/") and path.endswith(".netdev") and file.text is not None:
            lines = unit_syntax.parse(file.text)
            problems += _netdev(path, lines, networks, config)
    for name in networks:
        if re.fullmatch(r"wg\d+", name) and not any(
            path.endswith(".netdev") and f"Name={name}\n" in (file.text or "")
            for path, file in config.files.items()
        ):
            problems.append(f"nothing makes {name}, which a .network is for; write its .netdev")
    for path, file in config.files.items():
        if path.startswith(f"{_CREDENTIALS}/") and file.mode & 0o077:
            problems.append(f"{path} is a secret with the mode {file.mode:04o}; write it with 0600")


def _directives(path: str, lines: tuple[Directive, ...]) -> Iterator[str]:
    for line in lines:
        known = _DIRECTIVES.get(line.section)
        if known is None:
            if near := nearest(line.section, _DIRECTIVES):
                yield f"{path}: networkd has no section [{shown(line.section)}]; write [{near}]"
        elif line.name not in known:
            right = hint(line.name, known)
            yield f"{path}: networkd passes over {shown(line.name)} in [{line.section}]; {right}"


def _netdev(
    path: str,
    lines: tuple[Directive, ...],
    networks: dict[str, list[Directive]],
    config: BootConfig,
) -> Iterator[str]:
    given = {(line.section, line.name): line.value for line in lines}
    kind, name = given.get(("NetDev", "Kind")), given.get(("NetDev", "Name"), "")
    if kind is None or not name:
        yield f"{path}: [NetDev] needs a Name and a Kind; add what is missing"
    if kind != "wireguard":
        if any(line.section.startswith("WireGuard") for line in lines):
            yield f"{path} has WireGuard's sections and the Kind {kind}; write Kind=wireguard"
        return
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,15}", name):
        yield f'{path}: "{name}" is no name of an interface; write at most 15 letters and digits'
    stem = posixpath.basename(path).removesuffix(".netdev")
    credential = f"{_CREDENTIALS}/network.wireguard.private.{stem}"
    own = {("WireGuard", "PrivateKey"), ("WireGuard", "PrivateKeyFile")} & given.keys()
    secret = config.files.get(credential)
    if not own and secret is None:
        yield f"{path} has no private key; merge the secret part with {credential}"
    if secret is not None and secret.text is not None and not _is_key(secret.text.strip()):
        yield f"{credential} is no key of WireGuard; write what wg genkey prints"
    port = given.get(("WireGuard", "ListenPort"), "")
    if not port.isdigit() or not 1 <= int(port) <= 65535:
        yield f'{path}: ListenPort "{port}" is no port, so that no peer finds it; write one'
    if given.get(("WireGuard", "RouteTable")) not in ("main", "254"):
        yield f"{path} makes no routes to the networks of its peers; write RouteTable=main"
    yield from _peers(path, config.text(path) or "")
    if name not in networks:
        yield f"{name} gets no address; write a .network whose [Match] has Name={name}"
    for line in networks.get(name, ()):
        if line.name == "Address" and ("/" not in line.value or not _is_network(line.value)):
            yield f'{name}: Address "{line.value}" is no address with a length; write 10.99.0.1/24'
    if name in networks and not any(line.name == "Address" for line in networks[name]):
        yield f"{name} gets no address; write Address= in its [Network]"


def _peers(path: str, text: str) -> Iterator[str]:
    peers = [
        [line for line in unit_syntax.parse(f"[WireGuardPeer]\n{part}") if line.section == _PEER]
        for part in re.split(r"^\[WireGuardPeer\]$", text, flags=re.MULTILINE)[1:]
    ]
    if not peers:
        yield f"{path} has no peer, so the tunnel leads nowhere; add a [WireGuardPeer]"
    keys: list[str] = []
    networks: list[str] = []
    for lines in peers:
        names_given = [line.name for line in lines]
        given = {line.name: line.value for line in lines}
        if names_given.count("PublicKey") != 1 or names_given.count("AllowedIPs") != 1:
            yield f"{path}: a peer has one PublicKey and one AllowedIPs; begin each peer anew"
        keys += [line.value for line in lines if line.name == "PublicKey"]
        networks += [each.strip() for each in given.get("AllowedIPs", "").split(",")]
        yield from _endpoint(path, given)
    yield from _different(path, keys, networks)


def _different(path: str, keys: list[str], networks: list[str]) -> Iterator[str]:
    for key in keys:
        if not _is_key(key):
            yield f'{path}: PublicKey "{key}" is no key; write what wg pubkey prints'
    for network in networks:
        if not _is_network(network):
            yield f'{path}: AllowedIPs "{network}" is no network; write such as 10.20.0.0/16'
    for twice in {each for each in (*keys, *networks) if (*keys, *networks).count(each) > 1}:
        yield f"{path}: two peers have {twice}, and the last wins; give it to one"


def _endpoint(path: str, given: dict[str, str]) -> Iterator[str]:
    endpoint, alive = given.get("Endpoint"), given.get("PersistentKeepalive")
    match = _ENDPOINT.fullmatch(endpoint or "")
    if endpoint is not None and (match is None or not 1 <= int(match[2]) <= 65535):
        yield f'{path}: Endpoint "{endpoint}" is no host:port; correct it'
    if endpoint is not None and alive is None:
        yield f"{path}: NAT forgets the tunnel; add PersistentKeepalive=25 beside the Endpoint"
    if alive is not None and endpoint is None:
        yield f"{path}: a peer without Endpoint cannot be kept alive; add where it is"
    if alive is not None and alive not in map(str, range(1, 121)):
        yield f'{path}: PersistentKeepalive "{alive}" must be 1 to 120 seconds'


def _is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == 32
    except (binascii.Error, ValueError):
        return False


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True
