"""The package `hcloud`: its resource types, its one function getImage, its provider's arguments."""

import re
from importlib.metadata import version

from rehearsal.errors import RefusedError
from rehearsal.providers.contract import Failure
from rehearsal.providers.hcloud.facts import SYSTEM_IMAGES, Snapshot, flatcar_snapshot
from rehearsal.providers.hcloud.resource_types import TYPES
from rehearsal.providers.simulated import Package
from rehearsal.providers.simulated_type import CloudRequest
from rehearsal.providers.values import Properties, Unknown, shown

_TERM = re.compile(r"\s*([A-Za-z0-9./_-]+)\s*={1,2}\s*([A-Za-z0-9._-]*)\s*")


def package() -> Package:
    """The content of the simulated Hetzner Cloud project."""
    return Package(
        name="hcloud",
        version=version("pulumi-hcloud"),
        types={simulated.token: simulated for simulated in TYPES},
        lookups={"hcloud:index/getImage:getImage": get_image},
        check_config=check_config,
    )


def check_config(config: Properties) -> list[Failure]:
    """The provider must have a token of 64 letters and digits."""
    token = config.get("token")
    if isinstance(token, Unknown):
        return []
    if not isinstance(token, str):
        return [
            Failure(path="token", sentence="token is missing, but the hcloud provider needs one.")
        ]
    if not re.fullmatch(r"[A-Za-z0-9]{64}", token):
        return [
            Failure(
                path="token",
                sentence=f"token is a secret value of {len(token)} characters, but a token of "
                "Hetzner Cloud has 64 letters and digits.",
            )
        ]
    return []


def get_image(request: CloudRequest) -> Properties:
    """Finds a Flatcar snapshot by its labels; every release has one."""
    architecture = request.text("withArchitecture", "x86")
    selector = request.inputs.get("withSelector")
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
    return _described(image, request)


def _labels(selector: str) -> dict[str, str]:
    terms = [_TERM.fullmatch(term) for term in selector.split(",")]
    if not all(terms):
        raise _no_image(
            f'withSelector is "{selector}", but the stand-in reads only terms of the form '
            "label=value, with commas between them."
        )
    return {term[1]: term[2] for term in terms if term}


def _described(image: Snapshot, request: CloudRequest) -> Properties:
    return {
        **request.inputs,
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


def _no_image(reason: str) -> RefusedError:
    names = ", ".join(SYSTEM_IMAGES)
    return RefusedError(
        f"hcloud getImage: {reason} (System images need no lookup: {names}.)", summary="no image"
    )
