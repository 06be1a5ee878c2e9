"""Butane's own keys turned into Ignition's: inline and local contents, mount units."""

import json
import re
from typing import cast

from ignition.butane import validation
from ignition.butane.document import YamlDocument
from ignition.butane.local_files import FilesDir, LocalError
from ignition.butane.problems import Mild, Path
from ignition.butane.schema import Field, ListOf, Struct, camel
from ignition.butane.systemd_units import mount_unit
from ignition.butane.urls import data_url

Values = dict[str, object]
NO_FILES = "local files are read only from a directory that is given, such as with --files-dir"
_VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", re.ASCII)


class Translation:
    """One document on its way to Ignition `ignition_version`."""

    def __init__(self, text: YamlDocument, ignition_version: str, files: FilesDir | None) -> None:
        self._text = text
        self._ignition_version = ignition_version
        self._files = files

    def config(self, values: Values, struct: Struct) -> Values:
        """The config, without mount units and trees."""
        config = self._struct(values, struct, ())
        ignition = cast("Values", config.pop("ignition", {}))
        ignition["version"] = self._ignition_version
        return {"ignition": ignition, **config}

    def mount_units(self, values: Values) -> list[tuple[Path, Values]]:
        """The units of the filesystems that ask for one, each with its place in the document."""
        storage = cast("dict[str, list[Values]]", values.get("storage", {}))
        generated: list[tuple[Path, Values]] = []
        for position, filesystem in enumerate(storage.get("filesystems", [])):
            path = ("storage", "filesystems", position)
            if not filesystem.get("with_mount_unit"):
                continue
            if not filesystem.get("format"):
                self._text.say((*path, "format"), "is required where with_mount_unit is true")
            elif filesystem["format"] != "swap" and not filesystem.get("path"):
                self._text.say((*path, "path"), "is required where with_mount_unit is true")
            else:
                unit = mount_unit({"device": "", **filesystem})
                generated.append(((*path, "with_mount_unit"), unit))
        return generated

    def _struct(self, values: Values, struct: Struct, path: Path) -> Values:
        if struct.kind in ("file", "directory"):
            self._check_mode(values, struct.kind, path)
        elif struct.kind == "resource":
            values = self._resource(values, path)
        elif struct.kind in ("unit", "dropin"):
            values = self._unit(values, path)
        elif struct.kind == "user":
            values = self._user(values, path)
        out: Values = {}
        for name, field in struct.fields.items():
            given = values.get(name)
            if given is not None:
                value = self._field(given, field, (*path, name))
            else:
                value = "" if field.required else None
            if value is not None and not field.sugar:
                out[camel(name)] = value
        return out

    def _field(self, value: object, field: Field, path: Path) -> object | None:
        if isinstance(field.type, Struct):
            return self._struct(cast("Values", value), field.type, path) or None
        if isinstance(field.type, ListOf):
            kind, items = field.type.item, cast("list[object]", value)
            if isinstance(kind, Struct):
                return [
                    self._struct(cast("Values", item), kind, (*path, position))
                    for position, item in enumerate(items)
                ] or None
            return items or None
        return None if path[-1] == "number" and value == 0 else value

    def _local(self, name: str, path: Path) -> bytes | None:
        """Return the contents of a local file, None (with a problem) where it cannot be read."""
        if self._files is None:
            self._text.say(path, NO_FILES)
            return None
        try:
            return self._files.read(name)
        except LocalError as error:
            self._text.say(path, str(error))
            return None

    def _local_text(self, name: str, path: Path) -> str | None:
        contents = self._local(name, path)
        try:
            return None if contents is None else contents.decode()
        except UnicodeDecodeError:
            self._text.say(path, f'"{name}" is not UTF-8')
            return None

    def _resource(self, values: Values, path: Path) -> Values:
        given = [key for key in ("local", "inline", "source") if key in values]
        if len(given) > 1:
            where = (*path, given[-1])
            self._text.say(where, f"only one of inline, local and source can be set, not {given}")
            return values
        if not given or given == ["source"]:
            return values
        where = (*path, given[0])
        if given == ["local"]:
            contents = self._local(cast("str", values["local"]), where)
        else:
            contents = cast("str", values["inline"]).encode()
        if contents is None:
            return values
        if path[:2] == ("ignition", "config"):
            self._check_merged(contents, where)
        # an explicit "" keeps a merged configuration from inheriting another file's compression
        compression = values.get("compression") or ""
        return {**values, "source": data_url(contents), "compression": compression}

    def _unit(self, values: Values, path: Path) -> Values:
        local = cast("str | None", values.get("contents_local"))
        if local is None:
            return values
        where = (*path, "contents_local")
        if "contents" in values:
            self._text.say(where, "only one of contents and contents_local can be set")
        text = self._local_text(local, where) if local else None
        return values if text is None else {**values, "contents": text}

    def _user(self, values: Values, path: Path) -> Values:
        keys = list(cast("list[str]", values.get("ssh_authorized_keys") or []))
        local = cast("list[str]", values.get("ssh_authorized_keys_local") or [])
        for position, name in enumerate(local):
            text = self._local_text(name, (*path, "ssh_authorized_keys_local", position))
            keys += [line for line in re.split("\r?\n", text or "") if line]
        return {**values, "ssh_authorized_keys": keys} if local else values

    def _check_merged(self, contents: bytes, path: Path) -> None:
        """A configuration to merge must itself be valid Ignition of the same version."""
        try:
            config = json.loads(contents)
        except ValueError as error:
            self._text.say(path, f"is not JSON: {error}")
            return

        def say(inner: Path, sentence: str) -> None:
            where = ".".join(map(str, ("$", *inner)))
            whole = f"in it {where}: {sentence}"
            self._text.say(path, Mild(whole) if isinstance(sentence, Mild) else whole)

        if not validation.conform(config, self._ignition_version, say):
            return
        version = str((config.get("ignition") or {}).get("version") or "")
        if version != self._ignition_version and _VERSION.fullmatch(version):
            sentence = f'must be {self._ignition_version} to be checked, not "{version}"'
            say(("ignition", "version"), Mild(sentence))
        else:
            validation.validate(config, self._ignition_version, say)

    def _check_mode(self, values: Values, kind: str, path: Path) -> None:
        mode = values.get("mode")
        if isinstance(mode, int) and _decimal_by_mistake(mode, directory=kind == "directory"):
            self._text.say((*path, "mode"), Mild(f"{mode} looks like octal; write 0{mode}"))


def with_units(config: Values, generated: list[tuple[Path, Values]]) -> dict[Path, Path]:
    """Put generated units first, and return the place in the document of each unit of the config.

    One that the document has too takes the document's fields.
    """
    systemd = cast("Values", config.setdefault("systemd", {}))
    own = cast("list[Values]", systemd.get("units", []))
    places = {unit["name"]: position for position, unit in enumerate(own)}
    merged: list[Values] = []
    sources: dict[Path, Path] = {}
    for path, unit in generated:
        known = places.get(unit["name"])
        sources[("systemd", "units", len(merged))] = path
        merged.append(_ordered({**unit, **({} if known is None else own[known])}))
    names = {unit["name"] for _, unit in generated}
    for position, unit in enumerate(own):
        if unit["name"] not in names:
            sources[("systemd", "units", len(merged))] = ("systemd", "units", position)
            merged.append(unit)
    systemd["units"] = merged
    return sources


def _ordered(unit: Values) -> Values:
    return {
        key: unit[key] for key in ("contents", "dropins", "enabled", "mask", "name") if key in unit
    }


def _decimal_by_mistake(mode: int, *, directory: bool) -> bool:
    """Return whether a mode was meant as octal and written as decimal, by Butane's own rules."""
    digits = f"{mode:d}"
    if not 0 <= mode <= 7777 or set(digits) & set("89"):
        return False
    return not _usual(mode, directory=directory) and _usual(int(digits, 8), directory=directory)


def _usual(mode: int, *, directory: bool) -> bool:
    if mode == 0:
        return True
    return _usual_permissions(mode) and (_usual_directory(mode) if directory else _usual_file(mode))


def _usual_permissions(mode: int) -> bool:
    """Others have no more rights than the group, which has no more than the owner; w, x need r."""
    seen = 0
    for shift in (0, 3, 6):
        bits = mode >> shift & 7
        if seen & ~bits:
            return False
        if bits & 1 and seen & 4 and not seen & 1:
            return False
        if bits & 3 and not bits & 4:
            return False
        seen |= bits
    return bool(seen & 4)


def _usual_directory(mode: int) -> bool:
    somebody = mode | mode >> 3 | mode >> 6
    if not somebody & 1 or mode & 0o4000:
        return False
    return not (mode & 0o3000 and not somebody & 2)


def _usual_file(mode: int) -> bool:
    somebody = mode | mode >> 3 | mode >> 6
    if mode & 0o6000 and (not somebody & 1 or mode & 2):
        return False
    return not mode & 0o1000
