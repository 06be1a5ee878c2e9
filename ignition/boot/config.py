"""An Ignition config with everything it merges, as the machine sees it after the first boot."""

import base64
import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar, cast
from urllib.parse import unquote_to_bytes

from ignition.boot import config_schema, parsing
from ignition.boot.parsing import Json
from ignition.boot.unit_syntax import parse

Fetch = Callable[[str], bytes]
Role = Literal["node", "control-plane", "gateway"]
T = TypeVar("T")
_VERSIONS = {f"3.{minor}.0" for minor in range(5)}
_DEEPEST_MERGE = 8
_COMMENT = re.compile(r"^[ \t]*#(?!!).*$", re.MULTILINE)


class ConfigError(ValueError):
    """A configuration that Ignition would refuse; the machine stays in its initramfs."""


class SourceError(ValueError):
    """A resource that the machine would not get, in words."""


@dataclass(frozen=True, kw_only=True)
class BootFile:
    """A file on disk; `text` is None where the machine downloads it."""

    path: str
    mode: int
    source: str
    text: str | None


@dataclass(frozen=True, kw_only=True)
class BootUnit:
    """A systemd unit; `contents` is None where the operating system brings it."""

    name: str
    enabled: bool
    masked: bool
    contents: str | None
    dropins: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class BootConfig:
    """An Ignition configuration with all its merges.

    `arguments` are added to the kernel command line, `removed_arguments` taken off it.
    """

    arguments: tuple[str, ...]
    removed_arguments: tuple[str, ...]
    files: Mapping[str, BootFile]
    directories: Mapping[str, int]
    links: Mapping[str, str]
    units: Mapping[str, BootUnit]
    storage: Json

    @cached_property
    def commands(self) -> Mapping[str, str]:
        """The commands of each unit with the scripts that they run, by the unit's name."""
        return {name: self._commands(unit) for name, unit in self.units.items()}

    def _commands(self, unit: BootUnit) -> str:
        lines = parse(unit.contents or "")
        commands = "\n".join(line.value for line in lines if line.name.startswith("Exec"))
        scripts = (self.text(word) for word in parsing.words(commands) if word[0] == "/")
        return "\n".join((commands, *(_COMMENT.sub("", script) for script in scripts if script)))

    @cached_property
    def role(self) -> Role:
        """What the machine would run: kubeadm init, or a tunnel without Kubernetes, else a node."""
        texts = (file.text or "" for file in self.files.values())
        said = "\n".join((*self.commands.values(), *texts))
        if '"InitConfiguration"' in said or "kubeadm init" in said:
            return "control-plane"
        tunnels = any(path.endswith(".netdev") for path in self.files)
        if tunnels and "kubeadm" not in said and "/etc/extensions/kubernetes.raw" not in self.links:
            return "gateway"
        return "node"

    def text(self, path: str) -> str | None:
        """The text of a file that the configuration itself carries."""
        file = self.files.get(path)
        return None if file is None else file.text


def read(ignition: str, fetch: Fetch | None, problems: list[str]) -> BootConfig:
    """The configuration with all merges; ConfigError where nothing of it can be read.

    What Ignition refuses or passes over in a part that can be read is added to `problems`.
    """
    merged = _resolve(_parse(ignition, "the user data", problems), fetch, 0, problems)
    storage, systemd = _object(merged, "storage"), _object(merged, "systemd")
    arguments: dict[str, list[str]] = {
        key: _value(_object(merged, "kernelArguments"), key, [])
        for key in ("shouldExist", "shouldNotExist")
    }
    files = [_file(item) for item in _objects(storage, "files")]
    units = [_unit(item) for item in _objects(systemd, "units")]
    return BootConfig(
        arguments=tuple(arguments["shouldExist"]),
        removed_arguments=tuple(arguments["shouldNotExist"]),
        files={file.path: file for file in files},
        directories={
            _required(item, "path"): _value(item, "mode", 0o755)
            for item in _objects(storage, "directories")
        },
        links={
            _required(item, "path"): _text(item, "target") for item in _objects(storage, "links")
        },
        units={unit.name: unit for unit in units},
        storage=storage,
    )


def _value(item: Json, key: str, default: T) -> T:
    """The value of a key, which has the type of the default; the default where it is null."""
    value = item.get(key)
    return default if value is None else cast("T", value)


def _object(item: Json, key: str) -> Json:
    return _value(item, key, {})


def _objects(item: Json, key: str) -> list[Json]:
    return _value(item, key, [])


def _text(item: Json, key: str) -> str:
    return _value(item, key, "")


def _required(item: Json, key: str) -> str:
    value = _text(item, key)
    if not value:
        raise ConfigError(f'the {key} "{value}" of {json.dumps(item)[:40]} is no {key}; correct it')
    return value


def _parse(text: str | bytes, what: str, problems: list[str]) -> Json:
    try:
        config = json.loads(text)
    except ValueError as error:
        raise ConfigError(
            f"{what} is not JSON ({error}); Ignition takes neither YAML nor shell"
        ) from None
    if not isinstance(config, dict) or not isinstance(config.get("ignition"), dict):
        raise ConfigError(f"{what} has no ignition section; give Ignition JSON, not Butane")
    version = config["ignition"].get("version")
    if str(version) not in _VERSIONS:
        raise ConfigError(
            f'{what} has ignition.version "{version}", but Flatcar stable is sure to read 3.0.0 to '
            "3.4.0; transpile with variant flatcar, version 1.1.0"
        )
    try:
        problems += config_schema.problems(config)
    except config_schema.WrongTypeError as error:
        raise ConfigError(str(error)) from None
    return config


def _resolve(config: Json, fetch: Fetch | None, depth: int, problems: list[str]) -> Json:
    if depth > _DEEPEST_MERGE:
        raise ConfigError("ignition.config.merge refers to itself; break the circle")
    ignition = _object(config, "ignition")
    section = _object(ignition, "config")
    replace = _object(section, "replace")
    if _text(replace, "source"):
        return _child(replace, fetch, depth, problems)
    for resource in _objects(section, "merge"):
        child = _child(resource, fetch, depth, problems)
        config = cast("Json", _merge(config, {**child, "ignition": ignition}, ""))
    return config


def _child(resource: Json, fetch: Fetch | None, depth: int, problems: list[str]) -> Json:
    try:
        text = load_resource(resource, fetch)
    except SourceError as error:
        raise ConfigError(f"ignition.config: {error}") from error
    return _resolve(_parse(text, "a merged configuration", problems), fetch, depth + 1, problems)


def _merge(parent: object, child: object, key: str) -> object:
    """Ignition's merge: the child wins, and lists join entries of the same path or name."""
    if isinstance(parent, dict) and isinstance(child, dict):
        if key == "storage":
            parent = _without_replaced(parent, child)
        return {
            name: _merge(parent[name], child[name], name)
            if name in parent and name in child
            else (child if name in child else parent)[name]
            for name in {**parent, **child}
        }
    if isinstance(parent, list) and isinstance(child, list):
        if key == "append":
            return [*parent, *child]
        own = {_identity(item): item for item in child}
        joined = [
            _merge(item, own.pop(_identity(item)), "") if _identity(item) in own else item
            for item in parent
        ]
        return [*joined, *own.values()]
    return child


def _without_replaced(parent: Json, child: Json) -> Json:
    """A path is a file, a directory or a link: the child's kind replaces the parent's."""
    kinds = ("directories", "files", "links")
    paths = {kind: {_text(item, "path") for item in _objects(child, kind)} for kind in kinds}
    kept = dict(parent)
    for kind in kinds:
        others = set().union(*(paths[other] for other in kinds if other != kind))
        items = _objects(parent, kind)
        if items:
            kept[kind] = [item for item in items if _text(item, "path") not in others]
    return kept


def _identity(item: object) -> str:
    if isinstance(item, dict):
        keys = ("path", "name", "device", "source")
        return next((f"{key}={item[key]}" for key in keys if key in item), "")
    return json.dumps(item)


def _file(item: Json) -> BootFile:
    path, contents = _required(item, "path"), _object(item, "contents")
    source = _text(contents, "source") or "data:,"
    text = None
    if source.startswith("data:"):
        try:
            text = load_resource(contents or {"source": source}, None).decode()
        except (SourceError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: {error}") from error
    return BootFile(path=path, mode=_value(item, "mode", 0o644), source=source, text=text)


def _unit(item: Json) -> BootUnit:
    return BootUnit(
        name=_required(item, "name"),
        enabled=_value(item, "enabled", False),
        masked=_value(item, "mask", False),
        contents=_text(item, "contents") or None,
        dropins={
            _required(dropin, "name"): _text(dropin, "contents")
            for dropin in _objects(item, "dropins")
        },
    )


def load_resource(resource: Mapping[str, object], fetch: Fetch | None) -> bytes:
    """The contents of a resource, decompressed and held to its hash."""
    source = str(resource.get("source") or "")
    if source.startswith("data:"):
        contents = _data_url(source)
    elif fetch is None:
        raise SourceError(f"{source} cannot be fetched here; hand it over with the Ignition config")
    else:
        try:
            contents = fetch(source)
        except (OSError, LookupError, ValueError) as error:
            raise SourceError(f"{source} cannot be fetched: {error}") from error
    if resource.get("compression") == "gzip":
        try:
            contents = gzip.decompress(contents)
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(
                f"{source[:60]} is not gzip, though its compression says so"
            ) from error
    verification = resource.get("verification")
    if isinstance(verification, dict):
        _verify(source, contents, verification.get("hash"))
    return contents


def _data_url(source: str) -> bytes:
    kind, comma, data = source.removeprefix("data:").partition(",")
    if not comma:
        raise SourceError("its data URL has no comma before the contents; add it")
    if not kind.endswith(";base64"):
        return unquote_to_bytes(data)
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise SourceError("its data URL is not valid base64; encode the contents anew") from error


def _verify(source: str, contents: bytes, wanted: object) -> None:
    if wanted is None:
        return
    function, _, digest = str(wanted).partition("-")
    if function not in ("sha256", "sha512"):
        raise SourceError(f'the hash "{str(wanted)[:20]}" must begin with sha512- or sha256-')
    found = hashlib.new(function, contents).hexdigest()
    if found != digest:
        raise SourceError(
            f"{source[:60]} has the {function} {found[:12]}…, but the configuration wants "
            f"{digest[:12]}…; write the hash of what is stored there"
        )
