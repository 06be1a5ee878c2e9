"""Shipped Ignition must set nothing that the kernel or its NVIDIA module ignores, or takes badly.

Guides repeat such lines: on the stock Flatcar kernel `nohz_full=` does nothing, no driver ever had
`NVreg_EnablePCIeGen4`, and `pci=noaer` hides the errors by which a failing link is found. The table
is that of `ignition/plan/refused_arguments.py`, each line with its reason and source.
"""

import re
from collections.abc import Iterator

from ignition.boot.config import BootConfig
from ignition.plan.plan_lines import FLATCAR_KERNEL, NVIDIA_PARAMETERS, Reason
from ignition.plan.refused_arguments import ARGUMENTS, OPTIONS, PCI, REAL_OPTIONS
from policies.language.boot_data import Shipped, judged, words
from policies.language.rule import Rule

_UNKNOWN = Reason(reason="the nvidia module has no such parameter", source=NVIDIA_PARAMETERS)
_OPTIONS = re.compile(r"^\s*options\s+nvidia\s+(.*)$", re.MULTILINE)


def _judge(shipped: Shipped) -> list[str]:
    refused = [*_arguments(shipped.config), *_module(shipped.config)]
    return [f"not set {name}: {why.reason} ({why.source})" for name, why in refused]


def _arguments(config: BootConfig) -> Iterator[tuple[str, Reason]]:
    for word in words(config):
        name, _, value = word.partition("=")
        plain = name.replace("-", "_")
        if plain in ARGUMENTS:
            yield plain, ARGUMENTS[plain]
        elif plain == "pci":
            yield from ((f"pci={each}", PCI[each]) for each in value.split(",") if each in PCI)
        elif plain.startswith("nvidia."):
            yield from _option(name.partition(".")[2])


def _module(config: BootConfig) -> Iterator[tuple[str, Reason]]:
    for path, file in config.files.items():
        if path.startswith("/etc/modprobe.d/") and path.endswith(".conf"):
            for line in _OPTIONS.findall(file.text or ""):
                for option in line.split():
                    yield from _option(option.partition("=")[0])


def _option(name: str) -> Iterator[tuple[str, Reason]]:
    if name in OPTIONS:
        yield name, OPTIONS[name]
    elif name.startswith("NVreg_") and name not in REAL_OPTIONS:
        yield name, _UNKNOWN


RULE = Rule(
    id="numa/ignored-settings",
    sentence="Shipped Ignition must set nothing that the kernel ignores or takes badly.",
    why=(
        "A setting that does nothing hides that nothing was done: the CPUs still tick, the link "
        "is still slow, and whoever looks for the reason finds a line that says otherwise."
    ),
    source=FLATCAR_KERNEL,
    predicate=judged(_judge),
)
