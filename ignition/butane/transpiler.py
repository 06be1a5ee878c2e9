"""Butane to Ignition: decode by the schema, turn Butane's sugar into Ignition, validate."""

import json
from typing import cast

from ignition.butane import validation
from ignition.butane.document import Document, Path, YamlError
from ignition.butane.modes import decimal_by_mistake
from ignition.butane.resources import data_url
from ignition.butane.schema import Field, ListOf, Struct, camel, document, snake
from ignition.butane.units import mount_unit

_IGNITION_VERSIONS = {"1.0.0": "3.3.0", "1.1.0": "3.4.0"}
_LOCAL = ("contents_local", "ssh_authorized_keys_local", "local", "trees")

Values = dict[str, object]


class ButaneError(ValueError):
    """Butane that the real one refuses; `problems` has a sentence each, with path and line."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def transpile(source: str) -> dict[str, object]:
    """The Ignition configuration of a Butane document, keys in Ignition's order."""
    try:
        text = Document(source)
    except YamlError as error:
        raise ButaneError((f"the text is not YAML: {error}",)) from error
    butane = _version(text)
    values = text.decode(document(butane))
    _raise(text)
    translation = _Translation(text, _IGNITION_VERSIONS[butane])
    config = translation.config(values, document(butane))
    mounts = translation.mount_units(values)
    _raise(text)

    def say(path: Path, sentence: str) -> None:
        text.say(tuple(part if isinstance(part, int) else snake(part) for part in path), sentence)

    validation.validate(config, _IGNITION_VERSIONS[butane], say)
    if mounts and not text.problems:
        # a second look, because a mount unit can meet a unit or a file of the document
        _add_units(config, mounts)
        validation.validate(config, _IGNITION_VERSIONS[butane], say)
    _raise(text)
    return config


def _raise(text: Document) -> None:
    if text.problems:
        raise ButaneError(tuple(text.problems))


def _version(text: Document) -> str:
    variant, version = text.header("variant"), text.header("version")
    if variant != "flatcar":
        raise ButaneError((f'$.variant: must be flatcar, not "{variant or ""}"',))
    if version not in _IGNITION_VERSIONS:
        known = " or ".join(_IGNITION_VERSIONS)
        raise ButaneError((f'$.version: must be {known} for flatcar, not "{version or ""}"',))
    return version


class _Translation:
    def __init__(self, text: Document, ignition_version: str) -> None:
        self._text = text
        self._ignition_version = ignition_version

    def config(self, values: Values, struct: Struct) -> Values:
        config = self._struct(values, struct, ())
        ignition = cast("Values", config.pop("ignition", {}))
        ignition["version"] = self._ignition_version
        return {"ignition": ignition, **config}

    def mount_units(self, values: Values) -> list[Values]:
        """The units of the filesystems that ask for one."""
        storage = cast("dict[str, list[Values]]", values.get("storage", {}))
        generated = []
        for position, filesystem in enumerate(storage.get("filesystems", [])):
            path = ("storage", "filesystems", position)
            if not filesystem.get("with_mount_unit"):
                continue
            if not filesystem.get("format"):
                self._text.say((*path, "format"), "is required where with_mount_unit is true")
            elif filesystem["format"] != "swap" and not filesystem.get("path"):
                self._text.say((*path, "path"), "is required where with_mount_unit is true")
            else:
                generated.append(mount_unit({"device": "", **filesystem}))
        return generated

    def _struct(self, values: Values, struct: Struct, path: Path) -> Values:
        self._refuse_local(values, path)
        if struct.kind in ("file", "directory"):
            self._check_mode(values, struct.kind, path)
        if struct.kind == "resource":
            values = self._resource(values, path)
        out: Values = {}
        for name, field in struct.fields.items():
            value = self._field(values.get(name), field, (*path, name))
            if value is not None and not field.sugar:
                out[camel(name)] = value
        return out

    def _field(self, value: object, field: Field, path: Path) -> object | None:
        if value is None:
            return "" if field.required else None
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

    def _refuse_local(self, values: Values, path: Path) -> None:
        for key in _LOCAL:
            if values.get(key):
                self._text.say(
                    (*path, key), "local files are not read here; write the contents into the YAML"
                )

    def _resource(self, values: Values, path: Path) -> Values:
        given = [key for key in ("inline", "local", "source") if key in values]
        if len(given) > 1:
            self._text.say(path, f"only one of inline, local and source can be set, not {given}")
        if "inline" not in values:
            return values
        inline = cast("str", values["inline"])
        if path[:2] == ("ignition", "config"):
            self._check_merged(inline, (*path, "inline"))
        # an explicit "" keeps a merged configuration from inheriting another file's compression
        compression = values.get("compression") or ""
        return {**values, "source": data_url(inline.encode()), "compression": compression}

    def _check_merged(self, inline: str, path: Path) -> None:
        """An inline configuration to merge must itself be valid Ignition of the same version."""
        try:
            config = json.loads(inline)
        except ValueError as error:
            self._text.say(path, f"is not JSON: {error}")
            return

        def say(inner: Path, sentence: str) -> None:
            self._text.say(path, f"in it {'.'.join(map(str, ('$', *inner)))}: {sentence}")

        if validation.conform(config, self._ignition_version, say):
            validation.validate(config, self._ignition_version, say)

    def _check_mode(self, values: Values, kind: str, path: Path) -> None:
        mode = values.get("mode")
        if isinstance(mode, int) and decimal_by_mistake(mode, directory=kind == "directory"):
            self._text.say((*path, "mode"), f"{mode} looks like octal; write 0{mode}")


def _add_units(config: Values, generated: list[Values]) -> None:
    systemd = cast("Values", config.setdefault("systemd", {}))
    systemd["units"] = _merge_units(generated, cast("list[Values]", systemd.get("units", [])))


def _merge_units(generated: list[Values], own: list[Values]) -> list[Values]:
    """Generated units first; one that the document has too takes the document's fields."""
    by_name = {unit["name"]: unit for unit in own}
    merged = [_ordered({**unit, **by_name.get(unit["name"], {})}) for unit in generated]
    names = {unit["name"] for unit in generated}
    return merged + [unit for unit in own if unit["name"] not in names]


def _ordered(unit: Values) -> Values:
    return {
        key: unit[key] for key in ("contents", "dropins", "enabled", "mask", "name") if key in unit
    }
