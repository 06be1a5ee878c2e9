"""Where a chart is on this machine: in a folder that the user gives, or in a Go module."""

import re
from pathlib import Path

import yaml

from rehearsal.charts.carried import carried
from rehearsal.charts.wanted import Found, Wanted


def find_here(wanted: Wanted, *, folder: Path | None, toolchain: Path) -> Found | None:
    """The chart in `folder`, else in the toolchain's folder of charts; None where neither has it.

    A chart in `folder` is NAME-VERSION.tgz, as `helm pull` names it, a folder NAME-VERSION, or a
    folder NAME whose Chart.yaml has the very version.
    """
    return (folder and _given(wanted, folder)) or carried(wanted, toolchain)


def _given(wanted: Wanted, folder: Path) -> Found | None:
    for version in dict.fromkeys(
        (wanted.version, wanted.plain_version, f"v{wanted.plain_version}")
    ):
        packed = folder / f"{wanted.name}-{version}.tgz"
        if packed.is_file():
            return Found(path=packed, source=str(packed))
        unpacked = folder / f"{wanted.name}-{version}"
        if _described(unpacked).get("name") == wanted.name:
            return Found(path=unpacked, source=str(unpacked))
    plain = folder / wanted.name
    described = _described(plain)
    version = str(described.get("version", "")).removeprefix("v")
    if described.get("name") == wanted.name and version == wanted.plain_version:
        return Found(path=plain, source=str(plain))
    return None


def instead(wanted: Wanted, folder: Path) -> str:
    """What a folder of the user's has in place of a chart that is not in it, in words."""
    like = re.compile(rf"{re.escape(wanted.name)}(-v?[0-9].*)?")
    there = [_told(each) for each in sorted(folder.iterdir()) if like.fullmatch(each.name)]
    return f"{folder} has {', '.join(there) or f'no {wanted.name}'}"


def _told(chart: Path) -> str:
    if not chart.is_dir():
        return chart.name
    described = _described(chart)
    if not described:
        return f"{chart.name} without a Chart.yaml that can be read"
    return f"{chart.name}, which is {described.get('name')} {described.get('version')}"


def _described(chart: Path) -> dict[object, object]:
    """What Chart.yaml of a folder says; empty where it cannot be read."""
    try:
        metadata = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return metadata if isinstance(metadata, dict) else {}
