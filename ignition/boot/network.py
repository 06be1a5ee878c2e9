"""Judges the machine's network: nothing may take away the addresses, names and time it boots with.

Flatcar's own zz-default.network asks every interface for an address by DHCP. systemd-networkd
configures an interface by the first file, by its name, whose [Match] fits (systemd.network(5)), so
that any file in /etc/systemd/network comes before it.
"""

import fnmatch
import ipaddress
import posixpath
import re
from collections.abc import Iterator

from ignition.boot.config import BootConfig
from ignition.boot.parsing import names, shown
from ignition.boot.unit_syntax import Directive, parse, values

_FOLDER = "/etc/systemd/network"
_FOLDERS = (_FOLDER, "/run/systemd/network", "/usr/local/lib/systemd/network")
# names that no network card has: what tunnels, containers and the system itself make
_VIRTUAL = re.compile(
    r"(?:lo|wg|tun|tap|veth|lxc|cilium|cali|cni|flannel|docker|podman|virbr|kube|nodelocaldns|dummy|"
    r"vxlan|geneve|gre|sit|ip6tnl|ipvl|macvl|vcan|nlmon|ifb|vrf)[\w*?.@-]*"
)
# one of every kind of network card: systemd's predictable names, and the kernel's
_CARDS = (
    "eth0",
    "eno1",
    "ens5",
    "enp1s0",
    "enp170s0f0np0",
    "enx020000000001",
    "ibp26s0",
    "ib0",
    "mlx5_0",
    "bond0",
)
_OFF = names("no false off 0")
_HARDWARE = names("MACAddress PermanentMACAddress Path Driver Type Kind Property Host")
_ASKS = names("yes true on 1 ipv4 both")
# timesyncd.conf(5) of systemd 257
_TIME = names("""
    NTP FallbackNTP RootDistanceMaxSec PollIntervalMinSec PollIntervalMaxSec ConnectionRetrySec
    SaveIntervalSec
    """)
_RESOLVED = "run/systemd/resolve/"


def check(config: BootConfig, problems: list[str]) -> None:
    """Add to `problems` what takes the network or its names away from the machine."""
    made = _made(config)
    for path, lines in _written(config, (".network",)):
        problems += _network(path, lines, made)
    for path, lines in _dropins(config):
        problems += _takes_away(path, lines)
    for path, lines in _written(config, (".link",)):
        problems += _link(path, lines)
    for path, target in config.links.items():
        if posixpath.dirname(path) in _FOLDERS and (
            target == "/dev/null" or target not in config.files
        ):
            problems.append(
                f"{path} points at {target}, so that the system's own "
                f"{posixpath.basename(path)} is "
                "not read; remove the link"
            )
    problems += _resolver(config)
    problems += _time(config)


def _written(
    config: BootConfig, ends: tuple[str, ...]
) -> Iterator[tuple[str, tuple[Directive, ...]]]:
    for path, file in sorted(config.files.items()):
        if posixpath.dirname(path) in _FOLDERS and path.endswith(ends):
            yield path, parse(file.text or "")


def _dropins(config: BootConfig) -> Iterator[tuple[str, tuple[Directive, ...]]]:
    for path, file in sorted(config.files.items()):
        folder = posixpath.dirname(path)
        if posixpath.dirname(folder) in _FOLDERS and folder.endswith(".network.d"):
            yield path, parse(file.text or "")


def _made(config: BootConfig) -> dict[str, str]:
    """The kinds of the interfaces that .netdev files make, by name."""
    found = {}
    for _, lines in _written(config, (".netdev",)):
        kind = "".join(values(lines, "Kind"))
        found.update(dict.fromkeys(values(lines, "Name"), kind))
    return found


def _network(path: str, lines: tuple[Directive, ...], made: dict[str, str]) -> Iterator[str]:
    if not lines:
        yield (
            f"{path} is empty, so that the system's {posixpath.basename(path)} is not read; "
            "remove it"
        )
        return
    match = [line for line in lines if line.section == "Match" and line.value]
    given = [word for line in match if line.name == "Name" for word in line.value.split()]
    if given and not any(_card(word) for word in given):
        return
    others = [line.name for line in match if line.name in _HARDWARE]
    if given and set(given) <= {
        name for name, kind in made.items() if kind not in ("bond", "bridge")
    }:
        return
    if _values(match, "Kind") and not {"bond", "bridge"} & set(
        " ".join(_values(match, "Kind")).split()
    ):
        return
    # a card of the network between GPUs needs no address
    if {"loopback", "infiniband"} & set(" ".join(_values(match, "Type")).split()):
        return
    yield from _takes_away(path, lines)
    section = [line for line in lines if line.section == "Network"]
    master = {line.value for line in section if line.name in ("Bond", "Bridge")}
    if master - made.keys():
        yield (
            f"{path} makes a card part of {shown(min(master - made.keys()))}, which no .netdev "
            "makes; "
            "write the .netdev"
        )
    if not master and not _configures(lines):
        which = f"Name={' '.join(given)}" if given else (", ".join(others) or "every interface")
        yield (
            f"{path} ({which[:60]}) comes before Flatcar's own and asks for no address, so that "
            "the "
            "machine has no network; set DHCP=yes or remove the file"
        )


def _values(lines: list[Directive], name: str) -> list[str]:
    return [line.value for line in lines if line.name == name]


def _card(pattern: str) -> bool:
    """Whether a pattern of [Match] Name= can fit a network card."""
    if pattern.startswith("!"):
        return True
    return not _VIRTUAL.fullmatch(pattern) or any(fnmatch.fnmatch(card, pattern) for card in _CARDS)


def _configures(lines: tuple[Directive, ...]) -> bool:
    """Whether a card gets an address, by DHCP or with a way to other networks."""
    network = [line for line in lines if line.section == "Network"]
    dhcp = _values(network, "DHCP")
    if dhcp and dhcp[-1].lower() in _ASKS:
        return True
    fixed = _values(network, "Address") + [
        line.value for line in lines if line.section == "Address" and line.name == "Address"
    ]
    ways = _values(network, "Gateway") + [
        line.value
        for line in lines
        if line.section == "Route" and line.name in ("Gateway", "Destination")
    ]
    return any(fixed) and any(ways)


def _takes_away(path: str, lines: tuple[Directive, ...]) -> Iterator[str]:
    for line in lines:
        value = line.value.lower()
        if line.section == "Link" and line.name == "Unmanaged" and value not in (*_OFF, ""):
            yield f"{path}: Unmanaged={line.value} leaves the card down; remove it"
        elif (
            line.section == "Link"
            and line.name == "ActivationPolicy"
            and value not in ("up", "always-up", "")
        ):
            yield f"{path}: ActivationPolicy={line.value} leaves the card down; remove it"
        elif (
            line.section == "Network"
            and line.name == "DHCP"
            and _dropin(path)
            and value not in _ASKS
        ):
            yield f"{path}: DHCP={line.value} takes away the address of the machine; remove it"
        elif line.section in ("DHCP", "DHCPv4") and line.name == "UseRoutes" and value in _OFF:
            yield (
                f"{path}: UseRoutes={line.value} leaves the machine without a default route; "
                "remove it"
            )
        elif line.section in ("DHCP", "DHCPv4") and line.name == "UseGateway" and value in _OFF:
            yield (
                f"{path}: UseGateway={line.value} leaves the machine without a default route; "
                "remove it"
            )


def _dropin(path: str) -> bool:
    return posixpath.dirname(path).endswith(".d")


def _link(path: str, lines: tuple[Directive, ...]) -> Iterator[str]:
    for line in lines:
        if line.section == "Link" and line.name in ("MTUBytes", "BitsPerSecond"):
            continue
        if line.section == "Link" and line.name == "Name" and _VIRTUAL.fullmatch(line.value):
            yield f"{path} calls a network card {shown(line.value)} like a virtual one; rename it"


def _resolver(config: BootConfig) -> Iterator[str]:
    text = config.text("/etc/resolv.conf")
    if "/etc/resolv.conf" in config.files and not re.search(
        r"^\s*nameserver\s+[0-9a-fA-F.:]+", text or "", re.MULTILINE
    ):
        yield (
            "/etc/resolv.conf names no nameserver, so that neither the node nor its pods find any "
            "name; remove the file, systemd-resolved writes one"
        )
    target = config.links.get("/etc/resolv.conf")
    if target is not None and _RESOLVED not in target and target not in config.files:
        yield (
            f"/etc/resolv.conf points at {target}, which nothing writes; remove the link, "
            "systemd-resolved writes one"
        )
    hosts = re.search(
        r"^\s*hosts:(.*)$", config.text("/etc/nsswitch.conf") or "hosts: dns", re.MULTILINE
    )
    if hosts is None or not {"dns", "resolve"} & set(hosts[1].split()):
        yield "/etc/nsswitch.conf looks up no host in DNS; add dns to its line hosts:"
    for path, file in config.files.items():
        if path == "/etc/systemd/resolved.conf" or path.startswith("/etc/systemd/resolved.conf.d/"):
            for line in parse(file.text or ""):
                if line.name == "DNS" and re.match(
                    r"127\.0\.0\.53|127\.0\.0\.54|::1|localhost", line.value
                ):
                    yield f"{path}: DNS={line.value} asks the resolver itself; name a nameserver"


def _time(config: BootConfig) -> Iterator[str]:
    """What looks like an address and is none, systemd-timesyncd looks up as a name, in vain."""
    for path, file in config.files.items():
        if path.startswith("/etc/systemd/timesyncd.conf"):
            lines = parse(file.text or "")
            for line in lines:
                if line.name not in _TIME:
                    yield (
                        f"{path}: systemd-timesyncd has no {shown(line.name)}; known: "
                        f"{', '.join(sorted(_TIME))}"
                    )
            for server in " ".join(values(lines, "NTP")).split():
                if re.fullmatch(r"[0-9.]+|.*:.*", server) and not _is_address(server):
                    yield (
                        f"{path}: NTP={shown(server)} is no address, so that the clock is never "
                        "set; write an address or a name"
                    )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
