"""Finds circles in the order of units; systemd drops a unit of a circle at boot.

The order that systemd gives each type of unit by itself is that of the functions
`…_add_default_dependencies` in src/core of systemd 257 (path.c, timer.c, socket.c, mount.c,
automount.c, swap.c, service.c, target.c), in words in systemd.path(5) and its siblings, "Default
Dependencies". Some of it holds also with DefaultDependencies=no: "Implicit Dependencies" there.
"""

from collections.abc import Iterator, Mapping

from ignition.boot.unit_syntax import Directive, values

# the order of the system's own units; each waits for those named
_BUILT_IN = {
    "local-fs.target": ("local-fs-pre.target",),
    "remote-fs.target": ("remote-fs-pre.target",),
    "systemd-sysext.service": ("local-fs.target",),
    "systemd-sysctl.service": ("systemd-modules-load.service",),
    "systemd-tmpfiles-setup.service": ("local-fs.target", "systemd-sysext.service"),
    "sysinit.target": (
        "local-fs.target",
        "swap.target",
        "systemd-sysext.service",
        "systemd-sysctl.service",
        "systemd-tmpfiles-setup.service",
        "systemd-modules-load.service",
        "systemd-journald.service",
        "systemd-udevd.service",
    ),
    "sockets.target": ("sysinit.target",),
    "paths.target": ("sysinit.target",),
    "basic.target": ("sysinit.target", "paths.target", "sockets.target", "slices.target"),
    "network.target": ("network-pre.target", "systemd-networkd.service"),
    "systemd-networkd.service": ("network-pre.target", "systemd-udevd.service"),
    "systemd-networkd-wait-online.service": ("systemd-networkd.service",),
    "network-online.target": ("network.target", "systemd-networkd-wait-online.service"),
    "containerd.service": ("network.target", "basic.target"),
    "coreos-metadata.service": ("network-online.target", "basic.target"),
    "kubelet.service": ("network-online.target", "basic.target"),
    "multi-user.target": ("basic.target", "kubelet.service", "containerd.service"),
}
# what a type waits for, and what waits for it, unless it has DefaultDependencies=no
_DEFAULT: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "service": (("sysinit.target", "basic.target"), ("shutdown.target",)),
    "socket": (("sysinit.target",), ("sockets.target", "shutdown.target")),
    "timer": (("sysinit.target",), ("timers.target", "shutdown.target")),
    "path": (("sysinit.target",), ("paths.target", "shutdown.target")),
    "mount": (("local-fs-pre.target",), ("local-fs.target", "umount.target")),
    "automount": (("local-fs-pre.target",), ("local-fs.target", "umount.target")),
    "swap": ((), ("swap.target", "umount.target")),
    "target": ((), ("shutdown.target",)),
    "slice": ((), ("shutdown.target",)),
    "scope": ((), ("shutdown.target",)),
    "device": ((), ()),
}
_NETWORK_TYPES = ("nfs", "nfs4", "cifs", "ceph", "glusterfs", "lustre", "9p")
# targets of the system with DefaultDependencies=no do not wait for what they pull in
_WAIT_FOR_NOTHING = (
    "local-fs.target",
    "remote-fs.target",
    "timers.target",
    "umount.target",
    "shutdown.target",
)
_TRIGGERS = ("timer", "path", "socket", "automount")


def circles(
    units: Mapping[str, tuple[Directive, ...]], brought: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Yield a circle among the units of the configuration and those of the system.

    Of units that the system brings (`brought`) the lines are those of drop-ins: whether they have
    the default order is not to be seen, and the order of those above is known.
    """
    waits: dict[str, set[str]] = {name: set(after) for name, after in _BUILT_IN.items()}
    for name, lines in units.items():
        _order(name, lines, waits, units, default=name not in brought)
    done: set[str] = set()
    for name in sorted(units):
        circle = _circle(name, waits, [], done)
        if circle:
            written = [each for each in circle if each in units]
            yield (
                f"{' waits for '.join([*circle, circle[0]])}: systemd drops one of them; remove "
                f"an After= or Before= from {written[0] if written else name}, or the default ones "
                "by DefaultDependencies=no"
            )
            return


def _order(
    name: str,
    lines: tuple[Directive, ...],
    waits: dict[str, set[str]],
    units: Mapping[str, tuple[Directive, ...]],
    *,
    default: bool,
) -> None:
    own = waits.setdefault(name, set())
    kind = name.rpartition(".")[2]
    plain = default and not any(
        line.name == "DefaultDependencies" and line.value in ("no", "false", "off", "0")
        for line in lines
    )
    explicit = {other for line in lines if line.name == "After" for other in line.value.split()}
    before = {other for line in lines if line.name == "Before" for other in line.value.split()}
    own |= explicit | set(_mounts(kind, lines, units))
    if kind in _TRIGGERS:
        before.add(_triggered(name, kind, lines))
    if plain:
        after_default, before_default = _defaults(kind, lines)
        own.update(after_default)
        before.update(before_default)
    for other in before:
        waits.setdefault(other, set()).add(name)
    if plain:
        _pulled_in(name, lines, explicit, waits)


def _defaults(kind: str, lines: tuple[Directive, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    network = "_netdev" in "".join(values(lines, "Options")).split(",")
    if kind == "mount" and (network or "".join(values(lines, "Type")) in _NETWORK_TYPES):
        return ("remote-fs-pre.target", "network.target", "network-online.target"), (
            "remote-fs.target",
            "umount.target",
        )
    return _DEFAULT.get(kind, ((), ()))


def _pulled_in(
    name: str, lines: tuple[Directive, ...], explicit: set[str], waits: dict[str, set[str]]
) -> None:
    """A target waits for what it pulls in, unless the unit is ordered after it (target.c)."""
    for line in lines:
        if line.name not in ("WantedBy", "RequiredBy", "UpheldBy"):
            continue
        for other in line.value.split():
            if other.endswith(".target") and other not in (*explicit, *_WAIT_FOR_NOTHING):
                waits.setdefault(other, set()).add(name)


def _triggered(name: str, kind: str, lines: tuple[Directive, ...]) -> str:
    """The unit that a timer, path, socket or automount starts, and which it is before."""
    if kind == "automount":
        return f"{name.removesuffix(kind)}mount"
    key = "Service" if kind == "socket" else "Unit"
    return "".join(values(lines, key)) or f"{name.removesuffix(kind)}service"


def _mounts(
    kind: str, lines: tuple[Directive, ...], units: Mapping[str, tuple[Directive, ...]]
) -> Iterator[str]:
    """The mounts below which the paths of a unit lie: it waits for them, whatever its defaults."""
    paths = " ".join(values(lines, "RequiresMountsFor") + values(lines, "WantsMountsFor")).split()
    if kind == "path":
        paths += [
            line.value
            for line in lines
            if line.section == "Path" and line.name.startswith(("Path", "Directory"))
        ]
    if kind in ("mount", "automount"):
        paths += ["".join(values(lines, "Where")).rpartition("/")[0]]
    for name, other in units.items():
        if name.endswith(".mount"):
            where = "".join(values(other, "Where")).rstrip("/")
            if where and any(f"{path}/".startswith(f"{where}/") for path in paths):
                yield name


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
