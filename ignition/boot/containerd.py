"""Judges containerd: the configuration that it starts with, its imports, and its limits."""

import tomllib
from collections.abc import Iterator
from functools import lru_cache

from hardware.catalogue import Hardware
from ignition.boot import parsing
from ignition.boot.config import BootConfig
from ignition.boot.unit_syntax import parse, values

# brought by the NVIDIA runtime and by Flatcar itself
_NVIDIA = "/etc/containerd/config-nvidia.toml"
_BROUGHT = (
    _NVIDIA,
    "/usr/share/containerd/config.toml",
    "/usr/share/containerd/config-cgroupfs.toml",
)
_RUNTIME = "/etc/nvidia-container-runtime/config.toml"
# by which a container gets GPUs that nobody counts; the defaults of the runtime are true and false
# (nvidia-container-toolkit v1.18.1, internal/config/config.go)
_WAYS_IN = {
    "accept-nvidia-visible-devices-envvar-when-unprivileged": "the variable NVIDIA_VISIBLE_DEVICES",
    "accept-nvidia-visible-devices-as-volume-mounts": "a volume mount",
}
_BLOCK_IO = "io.containerd.service.v1.tasks-service"


def check(config: BootConfig, hardware: Hardware, problems: list[str]) -> None:
    """Add to `problems` what keeps containerd from starting or pods from their devices."""
    unit = config.units.get("containerd.service")
    lines = tuple(line for text in unit.dropins.values() for line in parse(text)) if unit else ()
    for command in values(lines, "ExecStart"):
        words = parsing.words(command.replace("--config=", "--config "))
        path = words[words.index("--config") + 1] if "--config" in words[:-1] else None
        if path is None:
            problems.append("containerd.service runs without --config; name the configuration")
        elif path not in _BROUGHT:
            problems += _configuration(path, config, hardware)
    if hardware.gpus:
        problems += _free_gpus(config)
    rdma = hardware.efa_interfaces > 0 or any(nic.rdma for nic in hardware.nics)
    if rdma and "infinity" not in values(lines, "LimitMEMLOCK"):
        problems.append(
            f"{hardware.name} has RDMA, which pins memory, and containers have containerd's limit; "
            "add LimitMEMLOCK=infinity to a drop-in of containerd.service"
        )


def _free_gpus(config: BootConfig) -> Iterator[str]:
    """Yield each way by which a pod gets GPUs that it did not ask for."""
    try:
        found = _toml(config.text(_RUNTIME) or "")
    except tomllib.TOMLDecodeError as error:
        yield f"{_RUNTIME} is no TOML ({error}); correct it"
        return
    for key, way in _WAYS_IN.items():
        if found.get(key) is not False:
            yield (
                f"a container gets GPUs by {way} without asking for any; write "
                f"{key} = false to {_RUNTIME}"
            )


@lru_cache(maxsize=64)
def _toml(text: str) -> dict[str, object]:
    """Parse TOML; cached, because every node of a pool has the same few lines."""
    return tomllib.loads(text)


def _configuration(path: str, config: BootConfig, hardware: Hardware) -> Iterator[str]:
    text = config.text(path)
    if text is None:
        yield f"containerd.service reads {path}, which nothing writes; add the file"
        return
    try:
        found = _toml(text)
    except tomllib.TOMLDecodeError as error:
        yield f"{path} is no TOML ({error}); correct it"
        return
    if found.get("version") not in (2, 3):
        yield f"{path} has the version {found.get('version')}; containerd 2.1 reads 2 and 3"
    imports = found.get("imports")
    imports = imports if isinstance(imports, list) else []
    for other in imports:
        if other not in _BROUGHT and other not in config.files:
            yield f"{path} imports {other}, which nothing writes; add the file"
    if hardware.gpus and _NVIDIA not in imports:
        yield f"{path} leaves out the NVIDIA runtime; import {_NVIDIA}"
    if not hardware.gpus and _NVIDIA in imports:
        yield f"{path} imports {_NVIDIA}, which {hardware.name} has not; remove it"
    if not imports and "grpc" not in str(found.get("plugins", {})):
        yield f"{path} is the whole configuration and has no runtime; import Flatcar's own"
    plugins = found.get("plugins")
    service = plugins.get(_BLOCK_IO) if isinstance(plugins, dict) else None
    classes = service.get("blockio_config_file") if isinstance(service, dict) else None
    if classes is not None:
        yield from _block_io(str(classes), path, config)


def _block_io(path: str, where: str, config: BootConfig) -> Iterator[str]:
    text = config.text(path)
    try:
        found = parsing.documents(text)[0] if text else None
    except (parsing.TextError, IndexError):
        found = None
    classes = found.get("Classes") if isinstance(found, dict) else None
    if not isinstance(classes, dict) or not classes or not all(classes.values()):
        yield f"{where} reads block-I/O classes from {path}, which has none; write Classes there"
