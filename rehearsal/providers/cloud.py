"""The objects of the simulated clouds, in the file `cloud.json` of the rehearsal's directory.

The file outlives the provider process, so that a kept rehearsal goes on where it was. It holds all
inputs and outputs as clear text (boot data contains keys), and only its owner can read it.
"""

import base64
import json
import os
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from rehearsal.providers.values import Value

FILE = "cloud.json"
S3_OBJECT = "aws:s3/bucketObjectv2:BucketObjectv2"


@dataclass(frozen=True, kw_only=True)
class CloudObject:
    """One object of a simulated cloud, or a Helm release."""

    provider: str
    type: str
    id: str
    name: str
    """The Pulumi name of its resource."""
    inputs: dict[str, Value] = field(repr=False)
    outputs: dict[str, Value] = field(repr=False)


def read(directory: Path) -> list[CloudObject]:
    """The objects of the rehearsal in `directory`; empty where none has run yet."""
    path = directory / FILE
    if not path.exists():
        return []
    return [CloudObject(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def fetch(directory: Path, url: str) -> bytes:
    """The bytes of `s3://bucket/key`; KeyError with a sentence where there is no such object."""
    parts = urlsplit(url)
    bucket, key = parts.netloc, parts.path.removeprefix("/")
    if parts.scheme != "s3" or not bucket or not key:
        raise KeyError(f'"{url}" is not of the form s3://bucket/key.')
    for thing in read(directory):
        if thing.type == S3_OBJECT and _place(thing.inputs) == (bucket, key):
            return _contents(thing.inputs)
    raise KeyError(f"{url} is not in the simulated S3.")


def _place(inputs: Mapping[str, Value]) -> tuple[Value, Value]:
    return inputs.get("bucket"), inputs.get("key")


def _contents(inputs: Mapping[str, Value]) -> bytes:
    match inputs:
        case {"content": str(text)} | {"source": {"text": str(text)}}:
            return text.encode()
        case {"contentBase64": str(encoded)}:
            return base64.b64decode(encoded)
        case {"source": {"path": str(path)}}:
            return Path(path).read_bytes()
        case _:
            return b""


class Cloud:
    """The simulated clouds of one rehearsal; safe to use from several threads.

    Hold `lock` around a read and the change that depends on it.
    """

    def __init__(self, directory: Path) -> None:
        self.lock = threading.RLock()
        self._path = directory / FILE
        self._objects = {(thing.type, thing.id): thing for thing in read(directory)}
        self._number = max((_number(thing.id) for thing in self._objects.values()), default=0)

    @property
    def directory(self) -> Path:
        """The directory of the rehearsal."""
        return self._path.parent

    def next_number(self) -> int:
        """A number that no object has had yet; ids and addresses are made from it."""
        with self.lock:
            self._number += 1
            return self._number

    def get(self, type_: str, id_: str) -> CloudObject | None:
        """The object of that type and id; None where there is none."""
        with self.lock:
            return self._objects.get((type_, id_))

    def all(self, type_: str) -> list[CloudObject]:
        """Every object of a type, in the order of creation."""
        with self.lock:
            return [thing for thing in self._objects.values() if thing.type == type_]

    def put(self, thing: CloudObject) -> None:
        """Adds an object, or replaces the one with its type and id."""
        with self.lock:
            self._objects[thing.type, thing.id] = thing
            self._save()

    def remove(self, type_: str, id_: str) -> None:
        """Removes an object, if it is there."""
        with self.lock:
            if self._objects.pop((type_, id_), None):
                self._save()

    def _save(self) -> None:
        # mkstemp makes the file readable by its owner alone.
        descriptor, name = tempfile.mkstemp(dir=self._path.parent, prefix=f"{FILE}.")
        with os.fdopen(descriptor, "w") as file:
            json.dump([asdict(thing) for thing in self._objects.values()], file, indent=1)
        Path(name).replace(self._path)


def _number(id_: str) -> int:
    return int(id_) if id_.isdecimal() else 0
