"""An Ignition config with everything it merges, as the machine sees it after the first boot."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from ignition.boot.sources import Fetch, SourceError, load

Json = dict[str, object]
_VERSIONS = {f"3.{minor}.0" for minor in range(5)}
_SECTIONS = {"ignition", "kernelArguments", "passwd", "storage", "systemd"}
_DEEPEST_MERGE = 8


class ConfigError(ValueError):
    """A configuration that Ignition would refuse; the machine stays in its initramfs."""


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
    """What Ignition does to the machine."""

    arguments: tuple[str, ...]
    files: Mapping[str, BootFile]
    links: Mapping[str, str]
    units: Mapping[str, BootUnit]

    def text(self, path: str) -> str | None:
        """The text of a file that the configuration itself carries."""
        file = self.files.get(path)
        return None if file is None else file.text


def read(ignition: str, fetch: Fetch | None) -> BootConfig:
    """The configuration with all merges; ConfigError where Ignition would stop."""
    merged = _resolve(_parse(ignition, "the user data"), fetch, 0)
    try:
        return _config(merged)
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"the configuration does not have Ignition's form ({error!r}); transpile it from Butane"
        ) from error


def _config(merged: Json) -> BootConfig:
    storage = cast("dict[str, list[Json]]", merged.get("storage", {}))
    systemd = cast("dict[str, list[Json]]", merged.get("systemd", {}))
    arguments = cast("dict[str, list[str]]", merged.get("kernelArguments", {}))
    return BootConfig(
        arguments=tuple(arguments.get("shouldExist", ())),
        files={str(item["path"]): _file(item) for item in storage.get("files", ())},
        links={str(item["path"]): str(item.get("target")) for item in storage.get("links", ())},
        units={str(item["name"]): _unit(item) for item in systemd.get("units", ())},
    )


def _parse(text: str | bytes, what: str) -> Json:
    try:
        config = json.loads(text)
    except ValueError as error:
        raise ConfigError(
            f"{what} is not JSON ({error}); Ignition takes neither YAML nor shell"
        ) from None
    if not isinstance(config, dict) or not isinstance(config.get("ignition"), dict):
        raise ConfigError(f"{what} has no ignition section; give Ignition JSON, not Butane")
    version = config["ignition"].get("version")
    if version not in _VERSIONS:
        raise ConfigError(
            f'{what} has ignition.version "{version}", but Flatcar stable is sure to read 3.0.0 to '
            "3.4.0; transpile with variant flatcar, version 1.1.0"
        )
    unknown = config.keys() - _SECTIONS
    if unknown:
        raise ConfigError(
            f"{what} has {', '.join(sorted(unknown))} beside {', '.join(sorted(_SECTIONS))}, which "
            "Ignition ignores; move or remove it"
        )
    return config


def _resolve(config: Json, fetch: Fetch | None, depth: int) -> Json:
    if depth > _DEEPEST_MERGE:
        raise ConfigError("ignition.config.merge refers to itself; break the circle")
    section = cast("dict[str, object]", cast("Json", config["ignition"]).get("config") or {})
    replace = cast("Json", section.get("replace") or {})
    if replace.get("source"):
        return _child(replace, fetch, depth)
    for resource in cast("list[Json]", section.get("merge") or []):
        child = _child(resource, fetch, depth)
        config = cast("Json", _merge(config, {**child, "ignition": config["ignition"]}, ""))
    return config


def _child(resource: Json, fetch: Fetch | None, depth: int) -> Json:
    try:
        text = load(resource, fetch)
    except SourceError as error:
        raise ConfigError(f"ignition.config: {error}") from error
    return _resolve(_parse(text, "a merged configuration"), fetch, depth + 1)


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
    lists = cast("dict[str, list[Json]]", child)
    paths = {kind: {item["path"] for item in lists.get(kind, ())} for kind in kinds}
    kept = dict(parent)
    for kind in kinds:
        others = set().union(*(paths[other] for other in kinds if other != kind))
        items = cast("list[Json]", parent.get(kind, []))
        if items:
            kept[kind] = [item for item in items if item["path"] not in others]
    return kept


def _identity(item: object) -> object:
    if isinstance(item, dict):
        return next(
            (item[key] for key in ("path", "name", "device", "source") if key in item), None
        )
    return item


def _file(item: Json) -> BootFile:
    contents = cast("Json", item.get("contents") or {})
    source = str(contents.get("source") or "data:,")
    text = None
    if source.startswith("data:"):
        try:
            text = load(contents or {"source": source}, None).decode()
        except (SourceError, UnicodeDecodeError) as error:
            raise ConfigError(f"{item['path']}: {error}") from error
    return BootFile(
        path=str(item["path"]), mode=cast("int", item.get("mode", 0o644)), source=source, text=text
    )


def _unit(item: Json) -> BootUnit:
    contents = item.get("contents")
    dropins = cast("list[dict[str, str]]", item.get("dropins") or [])
    return BootUnit(
        name=str(item["name"]),
        enabled=bool(item.get("enabled")),
        masked=bool(item.get("mask")),
        contents=str(contents) if contents else None,
        dropins={dropin["name"]: dropin.get("contents", "") for dropin in dropins},
    )
