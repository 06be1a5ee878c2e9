"""The one function of `hcloud` that the stand-in answers: getImage."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rehearsal.providers.contract import Refusal
from rehearsal.providers.hcloud.facts import SYSTEM_IMAGES, Image, flatcar_snapshot
from rehearsal.providers.values import shown

if TYPE_CHECKING:
    from rehearsal.providers.kinds import Asked
    from rehearsal.providers.values import Properties

_TERM = re.compile(r"\s*([A-Za-z0-9./_-]+)\s*={1,2}\s*([A-Za-z0-9._-]*)\s*")


def get_image(asked: Asked) -> Properties:
    """A Flatcar snapshot by its labels, of whatever release is asked for."""
    architecture = asked.text("withArchitecture", "x86")
    selector = asked.inputs.get("withSelector")
    if not isinstance(selector, str):
        raise _no_image(
            f"withSelector is {shown(selector)}, but the stand-in finds a Flatcar snapshot by its "
            "labels alone, such as os=flatcar,flatcar=4593.2.5."
        )
    wanted = _labels(selector)
    version = wanted.get("flatcar", "4593.2.5")
    if not re.fullmatch(r"\d{4}\.\d{1,2}\.\d{1,2}", version):
        raise _no_image(
            f'the label flatcar is "{version}", but a Flatcar release is such as 4593.2.5.'
        )
    if architecture not in {"x86", "arm"}:
        raise _no_image(f'withArchitecture is "{architecture}", but it must be x86 or arm.')
    image = flatcar_snapshot(version, architecture)
    missing = {key: value for key, value in wanted.items() if image.labels.get(key) != value}
    if missing:
        raise _no_image(
            f'no image matches the selector "{selector}": the snapshots of the project have the '
            "labels os=flatcar and flatcar=<release>."
        )
    return _described(image, asked)


def _labels(selector: str) -> dict[str, str]:
    terms = [_TERM.fullmatch(term) for term in selector.split(",")]
    if not all(terms):
        raise _no_image(
            f'withSelector is "{selector}", but the stand-in reads only terms of the form '
            "label=value, with commas between them."
        )
    return {term[1]: term[2] for term in terms if term}


def _described(image: Image, asked: Asked) -> Properties:
    return {
        **asked.inputs,
        "id": image.id,
        "name": None,
        "type": "snapshot",
        "description": image.description,
        "architecture": image.architecture,
        "labels": dict(image.labels),
        "osFlavor": "unknown",
        "osVersion": None,
        "created": "2026-11-01T00:00:00Z",
        "deprecated": "",
        "rapidDeploy": False,
    }


def _no_image(reason: str) -> Refusal:
    names = ", ".join(SYSTEM_IMAGES)
    return Refusal(
        f"hcloud getImage: {reason} (System images need no lookup: {names}.)", summary="no image"
    )


LOOKUPS = {
    "hcloud:index/getImage:getImage": get_image,
}
