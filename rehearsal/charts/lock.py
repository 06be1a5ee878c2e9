"""The lock file of an environment's images: `stacks/images.<env>.yaml`, by chart.

An image has the digest that its chart names, else the one that its registry told when the file was
written, or null where neither was to be had and nobody has written one down. A null is no promise:
the tag may come to mean another image.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from rehearsal.charts.digests import DIGEST
from rehearsal.charts.results import RenderedChart
from rehearsal.charts.wanted import Wanted
from rehearsal.errors import RehearsalError
from rehearsal.report import Report

HEADER = """# The images of the environment's charts in its last rehearsal; write it anew with
# `fleet report {environment} --lock-images`. null: nobody told a digest; one that is there stays.
"""
Images = Mapping[str, str | None]


class _DigestError(ValueError):
    """What stands where a digest must be is none."""


def path(root: Path, environment: str) -> Path:
    """Where the lock file of an environment is."""
    return root / "stacks" / f"images.{environment}.yaml"


def read(file: Path) -> dict[str, dict[str, str | None]]:
    """Images with their digests, by chart; empty where there is no lock file."""
    if not file.is_file():
        return {}
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        return {
            str(chart): {
                str(image): _digest(str(image), digest) for image, digest in images.items()
            }
            for chart, images in found.items()
        }
    except (yaml.YAMLError, AttributeError, UnicodeDecodeError, _DigestError) as error:
        told = f" {error}" if isinstance(error, _DigestError) else ""
        raise RehearsalError(
            f"{file} is no lock of images (chart -> image -> digest or null): mend it, or remove "
            f"it and write it anew.{told}"
        ) from None


def _digest(image: str, digest: object) -> str | None:
    if digest is None or (isinstance(digest, str) and DIGEST.fullmatch(digest)):
        return digest
    raise _DigestError(
        f"The digest of {image} is {digest!r}; allowed: sha256: with 64 digits, or null."
    )


def locked(charts: Iterable[RenderedChart]) -> dict[str, dict[str, str | None]]:
    """The images of charts as a lock file has them."""
    found: dict[str, dict[str, str | None]] = {}
    for each in (one for one in charts if one.images):
        images = found.setdefault(f"{each.chart} {each.version}", {})
        for image in each.images:
            name, _, digest = image.partition("@")
            images[name] = digest or images.get(name)
    return found


def differences(charts: Iterable[RenderedChart], lock: Mapping[str, Images]) -> list[str]:
    """How rendered charts differ from the lock, a sentence each; none without a lock."""
    told = []
    for chart, images in locked(charts).items() if lock else ():
        known = lock.get(chart)
        if known is None:
            told.append(f"{chart} is not in the lock of images.")
            continue
        for image, digest in images.items():
            if image not in known:
                told.append(f"{chart}: {image} is not in the lock of images.")
            elif digest and known[image] != digest:
                told.append(f"{chart}: {image} is {digest}, and {known[image]} in the lock.")
        told += [
            f"{chart}: {image} is in the lock of images, and the chart has it no more."
            for image in known
            if image not in images
        ]
    return told


def without_digest(root: Path, report: Report) -> list[str]:
    """Images of which neither their chart nor the lock file has a digest; raises as `write`."""
    found = _renewed(path(root, report.environment), report)
    return [image for images in found.values() for image, digest in images.items() if not digest]


def write(root: Path, report: Report, told: Images | None = None) -> Path:
    """Writes the lock file of a report's environment anew, and returns its path.

    What it has of charts that nobody could render stays, and so does a digest that the chart does
    not name. `told` are digests for images that have none otherwise. Raises RehearsalError where
    the rehearsal did not come to its charts, or where the file is no lock.
    """
    file, known = path(root, report.environment), told or {}
    after = {
        chart: {image: digest or known.get(image) for image, digest in images.items()}
        for chart, images in _renewed(file, report).items()
    }
    text = yaml.safe_dump(dict(sorted(after.items())), sort_keys=False, width=200)
    scratch = file.with_suffix(".new")
    scratch.write_text(HEADER.format(environment=report.environment) + text, encoding="utf-8")
    scratch.replace(file)
    return file


def _renewed(file: Path, report: Report) -> dict[str, dict[str, str | None]]:
    """What the file has after a report, as far as charts and the file itself know."""
    if not (report.charts.rendered or report.charts_not_rehearsed):
        raise RehearsalError(
            f"The last rehearsal of {report.environment} ended before its charts: {file} stays as "
            "it is."
        )
    before = read(file)
    left = {f"{Wanted.name_of(each.chart)} {each.version}" for each in report.charts_not_rehearsed}
    after = {chart: dict(images) for chart, images in before.items() if chart in left}
    for chart, images in locked(report.charts.rendered).items():
        known = before.get(chart, {})
        after[chart] = {
            image: digest or known.get(image) for image, digest in sorted(images.items())
        }
    return after
