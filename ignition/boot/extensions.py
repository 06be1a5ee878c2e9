"""Judges system extensions: driver, container runtime, Fabric Manager, EFA and Kubernetes."""

import posixpath
import re
from collections.abc import Iterator, Mapping

from hardware.catalogue import Hardware
from hardware.flatcar.own_driver import EXAMPLE, PREFIX, OwnDriver, own_driver
from hardware.flatcar.releases import driver_version, versions_of_branch
from ignition.boot.config import BootConfig, BootUnit
from ignition.boot.parsing import shown
from ignition.boot.unit_syntax import parse, values

_OFFICIAL = re.compile(r"-?(nvidia-drivers-\d{3}(-open)?|podman|python|zfs|incus|overlaybd)")
_DRIVERS = tuple(
    f"nvidia-drivers-{branch}{kind}" for branch in (535, 550, 570) for kind in ("", "-open")
)
_ARCH = {"amd64": "x86-64", "arm64": "arm64"}
_EXTENSIONS = "/etc/extensions"
_LOADS_EFA = re.compile(r"\bmodprobe\s+efa\b")
_STARTS = re.compile(
    r"^(?:Upholds|Wants|Requires)=.*\bnvidia-fabricmanager\.service\b", re.MULTILINE
)
_STARTS_PERSISTENCE = re.compile(
    r"^(?:Upholds=|Wants=|Requires=|ExecStart(?:Post)?=-?/usr/bin/systemctl start ).*"
    r"\bnvidia-persistenced\.service$",
    re.MULTILINE,
)


def images(config: BootConfig, hardware: Hardware, problems: list[str]) -> None:
    """Add to `problems` the mistakes in links and images below /etc/extensions."""
    problems += _extensions(config, hardware)


def check(config: BootConfig, hardware: Hardware, problems: list[str]) -> None:
    """Add to `problems` the mistakes in drivers, Fabric Manager and EFA."""
    driver = _driver(config, hardware, problems)
    if hardware.gpus:
        problems += _gpu(config, hardware, driver)
    elif driver is not None:
        problems.append(f"{hardware.name} has no GPU; remove {driver}")


def _extensions(config: BootConfig, hardware: Hardware) -> Iterator[str]:
    links = _links(config)
    for name, target in links.items():
        file = posixpath.basename(target)
        image = config.files.get(target)
        if image is None:
            yield f"/etc/extensions/{name} points at {target}, which nothing writes; add the file"
        elif image.text is None and posixpath.basename(image.source.partition("?")[0]) != file:
            yield f"{target} comes from {image.source}, another image; use one name for both"
        if not name.endswith(".raw"):
            yield f"/etc/extensions/{name} is no image; end its name in .raw"
        wrong = {arch for arch in _ARCH.values() if arch in file} - {_ARCH[hardware.arch]}
        if wrong:
            yield (
                f"{file} is built for {wrong.pop()}, but {hardware.name} is {hardware.arch}; take "
                "its own"
            )
        if not file.startswith(name.removesuffix(".raw")):
            yield (
                f"/etc/extensions/{name} points at {file}, whose extension-release names another "
                "extension; name the link after the image"
            )
    if "kubernetes.raw" not in links:
        yield "/etc/extensions/kubernetes.raw is missing, and with it kubelet and kubeadm; link it"


def _links(config: BootConfig) -> dict[str, str]:
    return {
        posixpath.basename(path): target
        for path, target in config.links.items()
        if path.rpartition("/")[0] == _EXTENSIONS
    }


def _enabled(config: BootConfig) -> list[str]:
    text = config.text("/etc/flatcar/enabled-sysext.conf") or ""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def drivers(config: BootConfig) -> list[str]:
    """The NVIDIA drivers of the configuration: Flatcar's own, then those that it brings itself."""
    named = [line for line in _enabled(config) if line.startswith("nvidia-drivers-")]
    return named + [
        name.removesuffix(".raw").removeprefix("flatcar-") for name in _linked_drivers(config)
    ]


def _linked_drivers(config: BootConfig) -> dict[str, str]:
    return {name: at for name, at in _links(config).items() if "nvidia-drivers" in name + at}


def brought_driver(config: BootConfig) -> OwnDriver | None:
    """The NVIDIA driver that the configuration brings itself, where image and link name it."""
    linked = _linked_drivers(config).items()
    found = ((name, own_driver(target)) for name, target in linked)
    return next((own for name, own in found if own and name == f"{own.extension}.raw"), None)


def _driver(config: BootConfig, hardware: Hardware, problems: list[str]) -> str | None:
    named = drivers(config)
    problems += _brought(config)
    for line in _enabled(config):
        if line.startswith("nvidia-drivers-") and line not in _DRIVERS:
            problems.append(
                f"enabled-sysext.conf: Flatcar has no {line}; it has {', '.join(_DRIVERS)}"
            )
        elif not _OFFICIAL.fullmatch(line):
            problems.append(
                f"enabled-sysext.conf: {shown(line)} is no extension of Flatcar; remove it"
            )
    if len(named) > 1:
        problems.append(f"the configuration names {len(named)} NVIDIA drivers; keep one")
    if named and hardware.arch != "amd64":
        problems.append(f"{named[0]} is built for amd64 alone, not for {hardware.arch}; remove it")
    return named[0] if named else None


def _brought(config: BootConfig) -> Iterator[str]:
    """Mistakes in names: nvidia.service looks for a driver's, and systemd-sysext for the link's."""
    for name, target in _linked_drivers(config).items():
        found, file = own_driver(target), posixpath.basename(target)
        if found is None:
            yield (
                f"nvidia.service knows a driver by its name {PREFIX}… and compiles one where there "
                f"is none, and {file} does not say its version and release; name it as {EXAMPLE}"
            )
        elif name != f"{found.extension}.raw":
            yield (
                f"/etc/extensions/{name} points at {file}, whose extension-release names "
                f"{found.extension}; link /etc/extensions/{found.extension}.raw"
            )
        elif (release := _release_of_efa(config)) not in (None, found.flatcar):
            yield (
                f"{file} is for another release of Flatcar than the EFA extension, which is for "
                f"{release}; a kernel module fits one release, so take both of one"
            )


def _gpu(config: BootConfig, hardware: Hardware, driver: str | None) -> Iterator[str]:
    if driver is None:
        yield (
            f"{hardware.name} has {hardware.gpu_count} GPUs and no driver; name one in "
            "/etc/flatcar/enabled-sysext.conf, such as nvidia-drivers-570-open"
        )
    elif not any(_STARTS_PERSISTENCE.search(text) for text in _texts(config.units)):
        yield (
            "nvidia-persistenced.service is started by nothing, since the driver's extension "
            "enables no unit; start it in ExecStartPost= of a drop-in of nvidia.service"
        )
    if "/etc/extensions/nvidia-runtime.raw" not in config.links:
        yield (
            f"{hardware.name} has GPUs, but containers get none without the NVIDIA runtime; link "
            "/etc/extensions/nvidia-runtime.raw"
        )
    if "/etc/containerd/config.toml" in config.files:
        yield (
            "/etc/containerd/config.toml is not read: the NVIDIA runtime starts containerd with "
            "config-nvidia.toml; remove the file"
        )
    if not hardware.nvswitch and "/etc/extensions/nvidia-fabricmanager.raw" in config.links:
        yield f"{hardware.name} has no NVSwitch, and Fabric Manager fails there; remove its link"
    yield from _efa(config, hardware)
    if hardware.nvswitch:
        yield from _fabric_manager(config, hardware, driver)


def _efa(config: BootConfig, hardware: Hardware) -> Iterator[str]:
    linked = "/etc/extensions/efa.raw" in config.links
    loaded = any(_LOADS_EFA.search(text) for text in _texts(config.units) if "efa" in text) or any(
        path.startswith("/etc/modules-load.d/") and "efa" in (file.text or "").split()
        for path, file in config.files.items()
    )
    if linked and not hardware.efa_interfaces:
        yield f"{hardware.name} has no EFA interface; remove the extension efa"
    if linked and not loaded:
        yield "nothing loads the module of the extension efa; write a unit with modprobe efa"
    if loaded and not linked:
        yield "modprobe efa fails, since stock Flatcar has no such module; link the extension efa"


def _fabric_manager(config: BootConfig, hardware: Hardware, driver: str | None) -> Iterator[str]:
    image = config.links.get("/etc/extensions/nvidia-fabricmanager.raw")
    if image is None:
        yield (
            f"{hardware.name} has NVSwitches and no Fabric Manager: CUDA init fails with error "
            "802; give the pool a Fabric Manager extension of exactly the driver's version"
        )
        return
    if not any(_STARTS.search(text) for text in _texts(config.units)):
        yield (
            "nvidia-fabricmanager.service is started by nothing; add Upholds= to a drop-in of "
            "multi-user.target"
        )
    if not any(_waits_for_fabric(unit, config) for unit in config.units.values()):
        yield (
            "kubelet offers GPUs before their fabric is ready, and CUDA does not start on them; "
            "write an enabled oneshot that asks for Fabric, with Before= and RequiredBy="
            "kubelet.service"
        )
    yield from _other_version(config, driver, image)


def _waits_for_fabric(unit: BootUnit, config: BootConfig) -> bool:
    lines = parse(unit.contents or "")
    before, needed = (" ".join(values(lines, name)).split() for name in ("Before", "RequiredBy"))
    words = " ".join(values(lines, "ExecStart")).split()
    told = (*words, *(config.text(word) or "" for word in words))
    return (
        unit.enabled
        and "oneshot" in values(lines, "Type")
        and "kubelet.service" in before
        and "kubelet.service" in needed
        and any("Fabric" in text for text in told)
    )


def _other_version(config: BootConfig, driver: str | None, image: str) -> Iterator[str]:
    branch, own = re.search(r"-(\d{3})", driver or ""), brought_driver(config)
    version = re.search(r"(\d{3})\.\d+(\.\d+)?", posixpath.basename(image))
    if version is None:
        yield f"{image} has no driver version in its name; name it …-570.195.03-x86-64.raw"
    elif own:
        if own.version != version[0]:
            yield (
                f"Fabric Manager {version[0]} does not fit the driver {own.version}; both must be "
                "of exactly the same version"
            )
    elif branch and branch[1] != version[1]:
        yield (
            f"Fabric Manager {version[0]} does not fit the driver branch {branch[1]}; both must be "
            "of exactly the same version"
        )
    elif branch and (right := _driver_of_release(config, branch[1])) not in (None, version[0]):
        yield (
            f"Fabric Manager {version[0]} does not fit the driver {right} of the release that the "
            "EFA extension is for; driver and Fabric Manager must be of exactly the same version"
        )
    elif branch and version[0] not in (known := versions_of_branch(branch[1])):
        yield (
            f"Fabric Manager {version[0]} is of no driver that a release of Flatcar has; take the "
            f"one of exactly the driver's version: {', '.join(sorted(known))}"
        )


def _driver_of_release(config: BootConfig, branch: str) -> str | None:
    """The driver's version where an extension in the boot data tells the release of the OS."""
    return driver_version(_release_of_efa(config), branch)


def _release_of_efa(config: BootConfig) -> str | None:
    image = posixpath.basename(config.links.get("/etc/extensions/efa.raw", ""))
    release = re.search(r"\d{4}\.\d+\.\d+", image)
    return release[0] if release else None


def _texts(units: Mapping[str, BootUnit]) -> Iterator[str]:
    for unit in units.values():
        yield unit.contents or ""
        yield from unit.dropins.values()
