"""Where a chart is on this machine: in a folder that the user gives, or in a Go module."""

from pathlib import Path

import yaml

from rehearsal.charts.carried import carried
from rehearsal.charts.wanted import Found, Wanted


def find_here(wanted: Wanted, *, folder: Path | None, toolchain: Path) -> Found | None:
    """The chart in `folder`, else in the toolchain's folder of charts; None where neither has it.

    A chart in `folder` is NAME-VERSION.tgz, as `helm pull` names it, or a folder NAME or
    NAME-VERSION whose Chart.yaml has the very version.
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
        if (unpacked / "Chart.yaml").is_file():
            return Found(path=unpacked, source=str(unpacked))
    plain = folder / wanted.name
    if _version(plain / "Chart.yaml").removeprefix("v") == wanted.plain_version:
        return Found(path=plain, source=str(plain))
    return None


def _version(chart: Path) -> str:
    try:
        metadata = yaml.safe_load(chart.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return ""
    return str(metadata.get("version", "")) if isinstance(metadata, dict) else ""
