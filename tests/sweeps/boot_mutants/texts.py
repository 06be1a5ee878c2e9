"""Mutants of the lines of small files: sysctls, labels, extensions, modules, plain settings."""

import re
from collections.abc import Iterator
from random import Random

from tests.support.ignition.faults import entries, find
from tests.sweeps.boot_mutants.bases import (
    LABELS,
    SYSEXT,
    Base,
    Json,
    Kind,
    misspelt,
    recased,
)

Mutants = Iterator[tuple[str, Json]]
_FABRIC = "/etc/extensions/nvidia-fabricmanager.raw"


def _settings(base: Base) -> Iterator[tuple[str, list[str], int]]:
    """The lines `name = value` of the files that are made of such lines."""
    for path, text in base.texts.items():
        if (
            path.endswith(".conf")
            and path != SYSEXT
            and not path.startswith("/etc/systemd/network")
        ):
            lines = text.splitlines()
            for place, line in enumerate(lines):
                if "=" in line and line[0] not in "#;[":
                    yield path, lines, place


def _replaced(base: Base, path: str, lines: list[str], place: int, *new: str) -> Json:
    return base.with_text(path, "\n".join([*lines[:place], *new, *lines[place + 1 :]]) + "\n")


def setting_dropped(base: Base, _random: Random) -> Mutants:
    for path, lines, place in _settings(base):
        yield f"{path}: {lines[place]}", _replaced(base, path, lines, place)


def setting_misspelt(base: Base, random: Random) -> Mutants:
    for path, lines, place in _settings(base):
        name, sign, value = lines[place].partition("=")
        new = random.choice((misspelt(name, random), recased(name)))
        yield f"{path}: {new}={value}", _replaced(base, path, lines, place, f"{new}{sign}{value}")


def setting_changed(base: Base, random: Random) -> Mutants:
    for path, lines, place in _settings(base):
        name, sign, value = lines[place].partition("=")
        new = random.choice((f"{value} 1x", f"{value}0" if value.strip() != "0" else "no", " "))
        yield f"{path}: {name}={new}", _replaced(base, path, lines, place, f"{name}{sign}{new}")


def setting_off_by_one(base: Base, _random: Random) -> Mutants:
    for path, lines, place in _settings(base):
        name, sign, value = lines[place].rpartition("=")
        number = re.search(r"\d+", value)
        if number:
            new = f"{value[: number.start()]}{int(number[0]) + 1}{value[number.end() :]}"
            yield f"{path}: {name}={new}", _replaced(base, path, lines, place, name + sign + new)


def setting_twice(base: Base, _random: Random) -> Mutants:
    for path, lines, place in _settings(base):
        name, sign, value = lines[place].partition("=")
        if path.startswith("/etc/sysctl.d") and value.strip().isdigit():
            second = f"{name}{sign} {int(value) + 1}"
            yield f"{path}: {second}", _replaced(base, path, lines, place, lines[place], second)


def label_dropped(base: Base, _random: Random) -> Mutants:
    for label in re.findall(r"fleet\.gpu/[a-z-]+=[^,\s\"']*", base.texts[LABELS]):
        text = base.texts[LABELS].replace(label, "").replace("=,", "=").replace(",,", ",")
        yield label, base.with_text(LABELS, text)


def label_wrong(base: Base, random: Random) -> Mutants:
    for label in re.findall(r"fleet\.gpu/[a-z-]+=[^,\s\"']*", base.texts[LABELS]):
        key, _, value = label.partition("=")
        new = random.choice((f"{key}={value}_", f"{misspelt(key, random)}={value}", f"{key}=-"))
        yield new, base.with_text(LABELS, base.texts[LABELS].replace(label, new))


def label_of_another_machine(base: Base, _random: Random) -> Mutants:
    for key, wrong in (("hardware", "gex44"), ("purpose", "trainings"), ("numa-plan", "00000000")):
        text = re.sub(rf"(fleet\.gpu/{key})=[^,\s\"']*", rf"\1={wrong}", base.texts[LABELS])
        if text != base.texts[LABELS] and base.hardware.name != wrong:
            yield f"{key}={wrong}", base.with_text(LABELS, text)


def kubelet_argument(base: Base, random: Random) -> Mutants:
    text = base.texts[LABELS]
    yield "variable", base.with_text(LABELS, text.replace("EXTRA_ARGS", "EXTRA_OPTS"))
    flags = re.findall(r"--[a-z-]+", text)
    flag = random.choice(flags)
    new = misspelt(flag[2:], random)
    yield f"--{new}", base.with_text(LABELS, text.replace(flag, f"--{new}"))
    for gone in re.findall(r" --(?!node-labels)[a-z-]+=\S+", text):
        yield f"without{gone}", base.with_text(LABELS, text.replace(gone, ""))


def label_not_for_kubelet(base: Base, random: Random) -> Mutants:
    key = random.choice(("node-role.kubernetes.io/gpu", "kubernetes.io/role", "k8s.io/cluster"))
    text = base.texts[LABELS].replace("--node-labels=", f"--node-labels={key}=x,")
    yield key, base.with_text(LABELS, text)


def extension(base: Base, random: Random) -> Mutants:
    if SYSEXT not in base.texts:
        return
    text = base.texts[SYSEXT]
    driver = re.search(r"nvidia-drivers-\d+(-open)?", text)
    if driver is None:
        return
    for new in (
        "nvidia-drivers-580-open",
        recased(driver[0]),
        misspelt(driver[0], random),
        f"{driver[0]} {driver[0]}",
        f"{driver[0]}\nnvidia-drivers-550",
        f"flatcar-{driver[0]}",
        "",
    ):
        yield f'"{new}"', base.with_text(SYSEXT, text.replace(driver[0], new))


def driver_of_another_branch(base: Base, _random: Random) -> Mutants:
    text = base.texts.get(SYSEXT, "")
    if "570" in text and _FABRIC in base.names("links"):
        yield "550", base.with_text(SYSEXT, text.replace("570", "550"))


def _fabric(base: Base) -> tuple[Json, str] | None:
    if _FABRIC not in base.names("links"):
        return None
    config = base.config()
    return config, find(config, "links", _FABRIC)["target"]


def fabric_manager_missing(base: Base, _random: Random) -> Mutants:
    found = _fabric(base)
    if found:
        config, image = found
        entries(config, "links").remove(find(config, "links", _FABRIC))
        entries(config, "files").remove(find(config, "files", image))
        yield image, config


def fabric_manager_of_another_version(base: Base, random: Random) -> Mutants:
    found = _fabric(base)
    if found:
        config, image = found
        version = re.search(r"\d+\.\d+\.\d+", image)
        assert version is not None
        major, minor, patch = map(int, version[0].split("."))
        new = random.choice(
            (f"{major}.{minor}.{patch + 1:02}", f"{major}.{minor - 16}.03", f"580.{minor}.05")
        )
        find(config, "links", _FABRIC)["target"] = image.replace(version[0], new)
        entry = find(config, "files", image)
        entry["path"] = image.replace(version[0], new)
        entry["contents"]["source"] = entry["contents"]["source"].replace(version[0], new)
        yield new, config


def invented_parameter(base: Base, random: Random) -> Mutants:
    config = base.config()
    line = random.choice(
        (
            "options nvidia NVreg_EnablePCIeGen4=1",
            "options nvidia NVreg_PersistenceMode=1",
            "options nvidia NVreg_TCEBypassMode=1",
            "options nvidia NVreg_EnablePCIERelaxedOrdering=1",
            "options nvidia NVreg_RestrictProfilingToAdminUsers=no",
            "option nvidia NVreg_EnableMSI=1",
            "nvidia NVreg_EnableMSI=1",
        )
    )
    path = "/etc/modprobe.d/99-mutant.conf"
    entries(config, "files").append(
        {"path": path, "mode": 0o644, "contents": {"source": f"data:,{line.replace(' ', '%20')}"}}
    )
    yield line, config


LINES: dict[str, Kind] = {
    "setting dropped": setting_dropped,
    "setting misspelt": setting_misspelt,
    "setting malformed": setting_changed,
    "setting off by one": setting_off_by_one,
    "setting twice": setting_twice,
}
KINDS: dict[str, Kind] = {
    "label dropped": label_dropped,
    "label wrong": label_wrong,
    "label of another machine": label_of_another_machine,
    "label not for kubelet": label_not_for_kubelet,
    "kubelet argument": kubelet_argument,
    "extension misnamed": extension,
    "driver of another branch": driver_of_another_branch,
    "Fabric Manager missing": fabric_manager_missing,
    "Fabric Manager of another version": fabric_manager_of_another_version,
    "NVreg parameter invented": invented_parameter,
}
