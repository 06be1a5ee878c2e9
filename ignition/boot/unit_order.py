"""Finds circles in the order of units; systemd drops a unit of a circle at boot."""

from collections.abc import Iterator, Mapping

from ignition.boot.unit_syntax import Directive

# what systemd orders by itself; each waits for those named
_BUILT_IN = {
    "local-fs.target": ("local-fs-pre.target",),
    "sysinit.target": ("local-fs.target", "systemd-sysext.service", "systemd-sysctl.service"),
    "basic.target": ("sysinit.target", "paths.target", "sockets.target"),
    "network.target": ("network-pre.target", "systemd-networkd.service"),
    "systemd-networkd.service": ("network-pre.target", "systemd-udevd.service"),
    "network-online.target": ("network.target", "systemd-networkd-wait-online.service"),
    "containerd.service": ("network.target", "basic.target"),
    "coreos-metadata.service": ("network-online.target", "basic.target"),
    "kubelet.service": ("network-online.target", "basic.target"),
    "multi-user.target": ("basic.target", "kubelet.service", "containerd.service"),
    "timers.target": ("sysinit.target",),
}
_EARLY = (".mount", ".swap", ".target", ".slice", ".device", ".timer", ".socket", ".path")


def circles(units: Mapping[str, tuple[Directive, ...]]) -> Iterator[str]:
    """Yield a circle among the units of the configuration and those of the system."""
    waits: dict[str, set[str]] = {name: set(after) for name, after in _BUILT_IN.items()}
    for name, lines in units.items():
        _order(name, lines, waits)
    done: set[str] = set()
    for name in sorted(units):
        circle = _circle(name, waits, [], done)
        if circle:
            written = [each for each in circle if each in units]
            yield (
                f"{' waits for '.join([*circle, circle[0]])}: systemd drops one of them; remove "
                f"an After= or Before= from {written[0] if written else name}"
            )
            return


def _order(name: str, lines: tuple[Directive, ...], waits: dict[str, set[str]]) -> None:
    own = waits.setdefault(name, set())
    plain = not any(
        line.name == "DefaultDependencies" and line.value in ("no", "false", "off", "0")
        for line in lines
    )
    if plain and name.endswith(".mount"):
        waits.setdefault("local-fs.target", set()).add(name)
    if plain and not name.endswith(_EARLY):
        own.add("basic.target")
    explicit = {other for line in lines if line.name == "After" for other in line.value.split()}
    own |= explicit
    for line in lines:
        for other in line.value.split():
            if line.name == "Before":
                waits.setdefault(other, set()).add(name)
            elif (
                line.name in ("WantedBy", "RequiredBy", "UpheldBy")
                and other.endswith(".target")
                and plain
                and other not in explicit
            ):
                # a target waits for what it pulls in, unless the unit is ordered after it
                waits.setdefault(other, set()).add(name)


def _circle(
    name: str, waits: Mapping[str, set[str]], trail: list[str], done: set[str]
) -> list[str]:
    """Return the first circle among the units that a unit waits for, [] for none."""
    if name in trail:
        return trail[trail.index(name) :]
    if name in done:
        return []
    for other in sorted(waits.get(name, ())):
        found = _circle(other, waits, [*trail, name], done)
        if found:
            return found
    done.add(name)
    return []
