"""What the kubelet would start of a pod: its container's command, with the volumes in a folder."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.certificates import write_private

SHELL = "2>&1"  # charts write it for a shell that their images do not have


@dataclass(frozen=True, kw_only=True)
class Container:
    """The one container of a pod: its command and arguments, and the variables with a value."""

    words: tuple[str, ...]
    variables: Mapping[str, str]


def container(
    spec: Mapping[str, Any], folder: Path, files: Mapping[str, Mapping[str, bytes]]
) -> Container:
    """Write the volumes of a pod's `spec` below `folder`; return its container, which reads there.

    `files` are the keys of ConfigMaps and Secrets, by the name of the object.
    """
    (found,) = spec["containers"]
    volumes = {each["name"]: each for each in spec.get("volumes") or ()}
    places: dict[str, str] = {}
    for mount in found.get("volumeMounts") or ():
        place = folder / mount["name"]
        place.mkdir(exist_ok=True, mode=0o700)
        for name, content in files.get(_source(volumes[mount["name"]]), {}).items():
            _write(place / name, content)
        places[mount["mountPath"]] = str(place)
    words = [*(found.get("command") or ()), *(found.get("args") or ())]
    plain = {each["name"]: each["value"] for each in found.get("env") or () if "value" in each}
    return Container(
        words=tuple(_moved(word, places) for word in words if word != SHELL),
        variables={name: _moved(value, places) for name, value in plain.items()},
    )


def contents(config_map: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the keys of a ConfigMap, which are files in a volume."""
    texts = {key: text.encode() for key, text in (config_map.get("data") or {}).items()}
    binary = config_map.get("binaryData") or {}
    return {**texts, **{key: base64.b64decode(text) for key, text in binary.items()}}


def _source(volume: Mapping[str, Any]) -> str:
    match volume:
        case {"configMap": {"name": str(name)}} | {"secret": {"secretName": str(name)}}:
            return name
        case _:
            return ""


def _write(path: Path, content: bytes) -> None:
    """Write a file in one step, as the kubelet does; who watches it sees no half of it."""
    if path.exists() and path.read_bytes() == content:
        return
    scratch = path.with_name(f".{path.name}")
    write_private(scratch, content)
    scratch.rename(path)


def _moved(word: str, places: Mapping[str, str]) -> str:
    for path in sorted(places, key=len, reverse=True):
        if path in word:
            return word.replace(path, places[path])
    return word
