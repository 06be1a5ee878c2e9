"""Judges options of kernel modules, above all of nvidia, whose parameters are often invented.

Names are those of kernel-open/nvidia/nv-reg.h of NVIDIA/open-gpu-kernel-modules, branch 570.
"""

import re
from collections.abc import Iterator, Mapping

from ignition.boot import modules
from ignition.boot.config import BootConfig
from ignition.boot.parsing import hint, names, nearest, shown

# name -> the values that the driver takes; a pattern, since some are texts
_PARAMETERS: dict[str, str] = {
    "NVreg_RestrictProfilingToAdminUsers": "[01]",
    "NVreg_EnableStreamMemOPs": "[01]",
    "NVreg_EnablePCIERelaxedOrderingMode": "[01]",
    "NVreg_GrdmaPciTopoCheckOverride": "[01]",
    "NVreg_DmaRemapPeerMmio": "[01]",
    "NVreg_NvLinkDisable": "[01]",
    "NVreg_ImexChannelCount": r"\d+",
    "NVreg_CreateImexChannel0": "[01]",
    "NVreg_EnableGpuFirmware": r"\d+",
    "NVreg_RegistryDwords": r'"?[\w=;]*"?',
    "NVreg_EnableMSI": "[01]",
    "NVreg_UsePageAttributeTable": "[01]",
    "NVreg_ModifyDeviceFiles": "[01]",
    "NVreg_DeviceFileUID": r"\d+",
    "NVreg_DeviceFileGID": r"\d+",
    "NVreg_DeviceFileMode": r"\d+",
    "NVreg_OpenRmEnableUnsupportedGpus": "[01]",
    "NVreg_PreserveVideoMemoryAllocations": "[01]",
    "NVreg_DynamicPowerManagement": r"\d+",
    "NVreg_EnableResizableBar": "[01]",
    "NVreg_TemporaryFilePath": r"\S+",
}
_DEAD = {
    "NVreg_EnablePCIeGen4": "no NVIDIA driver ever had it",
    "NVreg_EnablePCIeGen3": "it concerns Kepler cards alone",
    "NVreg_PersistenceMode": "no NVIDIA driver ever had it; nvidia-persistenced runs",
    "NVreg_TCEBypassMode": "it was for POWER machines and is gone since branch 570",
}
_MODULES = re.compile(r"[a-z0-9_-]+", re.ASCII)
_KNOWN = names("""
    nvidia nvidia_uvm nvidia_modeset nvidia_drm mlx5_core mlx5_ib nvme nvme_core vfio_pci vfio kvm
    kvm_intel kvm_amd ena efa wireguard br_netfilter overlay raid0 md_mod nouveau ib_core ib_uverbs
    rdma_ucm
""")
_COMMANDS = ("options", "blacklist", "install", "alias", "softdep", "remove", "weakdep")


def nvidia(name: str, value: str) -> Iterator[str]:
    """Yield the mistake in a parameter of the module nvidia."""
    if name in _DEAD:
        yield f'"{name}={value}" does nothing ({_DEAD[name]}); remove it'
    elif name not in _PARAMETERS:
        right = hint(name, _PARAMETERS, cutoff=0.8)
        yield f"the module nvidia has no parameter {name}; {right}"
    elif not re.fullmatch(_PARAMETERS[name], value):
        yield f'"{name}={value}" is no value that the driver takes; it must be {_PARAMETERS[name]}'


def check(config: BootConfig, problems: list[str]) -> Mapping[str, Mapping[str, str]]:
    """The options by module; what modprobe or a driver passes over is added to `problems`."""
    found: dict[str, dict[str, str]] = {}
    for path, file in sorted(config.files.items()):
        folder = path.rpartition("/")[0]
        if folder == "/etc/modprobe.d" and path.endswith(".conf"):
            for line in _lines(file.text):
                problems += _line(path, line, found)
        elif folder == "/etc/modules-load.d" and path.endswith(".conf"):
            for line in _lines(file.text):
                problems += _loaded(path, line)
    return found


def _lines(text: str | None) -> Iterator[str]:
    for line in (text or "").splitlines():
        if line.strip() and line.strip()[0] not in "#;":
            yield line.strip()


def _line(path: str, line: str, found: dict[str, dict[str, str]]) -> Iterator[str]:
    command, *rest = line.split()
    if command not in _COMMANDS:
        yield f'{path}: modprobe passes over "{shown(command)}"; begin the line with options'
        return
    if len(rest) < (2 if command == "options" else 1):
        yield f'{path}: "{shown(line)}" lacks a module or its options; complete or remove it'
        return
    if command != "options":
        yield from _kept_out(path, command, rest)
        return
    module, *options = rest
    for option in options:
        name, sign, value = option.partition("=")
        if not sign and module == "nvidia":
            yield f'{path}: "{option}" has no value; write {name}=…'
        elif found.setdefault(module, {}).get(name, value) != value:
            yield f"{path}: {name} of {module} is given twice with different values; keep one"
        else:
            found[module][name] = value
            if module == "nvidia":
                yield from (f"{path}: {problem}" for problem in nvidia(name, value))
    near = nearest(module.lower(), _KNOWN, cutoff=0.8)
    if not _MODULES.fullmatch(module) or (near and module.replace("-", "_") not in _KNOWN):
        yield f'{path}: "{shown(module)}" is no name of a module; write {near or "one"}'


def _kept_out(path: str, command: str, rest: list[str]) -> Iterator[str]:
    """Yield how a line keeps a module from loading, or loads another (modprobe.d(5))."""
    module, then = rest[0], " ".join(rest[1:])
    plain = "modprobe" in then and ("--ignore-install" in then or re.search(r"\s-\w*i", then))
    does = {
        "blacklist": "keeps {} from loading by itself",
        "install": "runs a command instead of loading {}",
        "remove": "runs a command instead of unloading {}",
        "alias": "loads another module instead of {}",
        "softdep": "ties {} to other modules",
        "weakdep": "ties {} to other modules",
    }[command]
    if modules.spare(module) or (command == "install" and plain):
        return
    if command in ("softdep", "weakdep") and not set(rest[1:]) - _KNOWN - {"pre:", "post:"}:
        return
    if command == "alias" and not _MODULES.fullmatch(module):
        module = then  # a pattern of devices: nothing else is loaded in place of a module
        if modules.spare(module) or module.replace("-", "_") in _KNOWN:
            return
    yield (
        f"{path}: {command} {does.format(shown(module))}, which the machine may need; remove the "
        "line"
    )


def _loaded(path: str, module: str) -> Iterator[str]:
    if not _MODULES.fullmatch(module):
        yield f'{path}: "{shown(module)}" is no name of a module; write one a line'
    elif module.replace("-", "_") in ("nvidia_peermem", "nv_peer_mem"):
        yield (
            f"{path}: {module} needs MLNX_OFED, which Flatcar has not; remove it, the open driver "
            "shares memory by DMA-BUF"
        )
