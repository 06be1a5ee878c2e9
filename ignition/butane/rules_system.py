"""Ignition's rules for resources, units and owners, each yielding (path inside it, sentence)."""

import re

from ignition.butane.checks import Context, Problems, Value, extension, unit_text, url_problem
from ignition.butane.problems import Mild

_UNIT_ENDINGS = (
    *(".service", ".socket", ".device", ".mount", ".automount", ".swap"),
    *(".target", ".path", ".timer", ".snapshot", ".slice", ".scope"),
)
_HASHES = {"sha512": 128, "sha256": 64}


def resource(value: Value, context: Context) -> Problems:
    """Compression, hash, source and headers of a resource."""
    source = value.get("source")
    if value.get("compression", "") not in ("", "gzip"):
        yield ("compression",), f'"{value["compression"]}" is unknown; allowed is gzip'
    if value.get("verification", {}).get("hash") is not None and source is None:
        yield ("verification", "hash"), "a hash needs a source"
    if source and (problem := url_problem(source, context)):
        yield ("source",), problem
    if value.get("httpHeaders") and not re.match(r"https?:", source or "", re.IGNORECASE):
        yield ("httpHeaders",), "headers need an http or https source"


def _required_source(value: Value, context: Context) -> str | None:
    source = value.get("source")
    return url_problem(source, context) if source else "a source is required"


def header(value: Value, _: Context) -> Problems:
    """Name and value of an HTTP header."""
    if not value.get("name"):
        yield ("name",), "a header needs a name"
    if value.get("value") == "":
        yield ("value",), "a header's value must not be empty"


def verification(value: Value, _: Context) -> Problems:
    """The form of a hash."""
    text = value.get("hash")
    if text is None:
        return
    function, found, digest = text.partition("-")
    if not found or function not in _HASHES:
        yield ("hash",), f'"{text[:20]}" must begin with sha512- or sha256-'
    elif len(digest.encode()) != _HASHES[function]:
        yield ("hash",), f"{function} has {_HASHES[function]} hexadecimal digits, not {len(digest)}"


def merging(value: Value, context: Context) -> Problems:
    """Every merged configuration has a source."""
    for position, item in enumerate(value.get("merge", ())):
        if problem := _required_source(item, context):
            yield ("merge", position), problem


def tls(value: Value, context: Context) -> Problems:
    """Every certificate authority has a source."""
    for position, item in enumerate(value.get("certificateAuthorities", ())):
        if problem := _required_source(item, context):
            yield ("certificateAuthorities", position), problem


def proxy(value: Value, _: Context) -> Problems:
    """Proxies are http or https, and https is proxied by https."""
    for key, allowed in (("httpProxy", r"https?:"), ("httpsProxy", r"https:")):
        url = value.get(key)
        if url is not None and not re.match(allowed, url, re.IGNORECASE):
            sentence = f'"{url}" must begin with {allowed.replace("?", " or http")}//'
            plain = re.match("http:", url, re.IGNORECASE)
            yield (key,), Mild(sentence) if plain else sentence


def owner(value: Value, _: Context) -> Problems:
    """A user or group by id or by name."""
    if "id" in value and value.get("name"):
        yield (), "give the id or the name, not both"


def unit(value: Value, _: Context) -> Problems:
    """Name and text of a unit; an enabled unit needs an [Install] section."""
    if extension(value["name"]) not in _UNIT_ENDINGS:
        yield ("name",), f'"{value["name"]}" must end in one of {" ".join(_UNIT_ENDINGS)}'
    text = value.get("contents")
    if text is None:
        return
    options, problem = unit_text(text)
    if problem:
        yield ("contents",), problem
    elif text and value.get("enabled") and not _installs(options):
        yield ("contents",), Mild(f"{value['name']} is enabled and has no [Install] section")


def _installs(options: tuple[tuple[str, str], ...]) -> bool:
    return any(section == "Install" for section, _ in options)


def dropin(value: Value, _: Context) -> Problems:
    """Name and text of a drop-in."""
    if extension(value["name"]) != ".conf":
        yield ("name",), f'"{value["name"]}" must end in .conf, or systemd does not read it'
    if value.get("contents") is not None and (problem := unit_text(value["contents"])[1]):
        yield ("contents",), problem


def systemd(value: Value, _: Context) -> Problems:
    """An enabled instance of a template needs an [Install] section in the template."""
    by_name = {item["name"]: item for item in value.get("units", ())}
    for position, item in enumerate(value.get("units", ())):
        match = re.fullmatch(r"(.+?)@(.+?)\.service", item["name"])
        template = by_name.get(f"{match[1]}@.service") if match and item.get("enabled") else None
        if template is None or not template.get("contents"):
            continue
        options, problem = unit_text(template["contents"])
        if problem is None and not _installs(options):
            sentence = Mild(f"{template['name']} has no [Install] section")
            yield ("units", position, "contents"), sentence


def whole(config: Value, version: str) -> Problems:
    """The version, and files that are written over a unit."""
    given = config.get("ignition", {}).get("version", "")
    if given != version:
        yield ("ignition", "version"), f'must be {version} to be checked, not "{given}"'
    written = set()
    for item in config.get("systemd", {}).get("units", ()):
        path = f"/etc/systemd/system/{item['name']}"
        if item.get("contents"):
            written.add(path)
        written |= {f"{path}.d/{d['name']}" for d in item.get("dropins", ()) if d.get("contents")}
    for key in ("files", "directories", "links"):
        for position, item in enumerate(config.get("storage", {}).get(key, ())):
            if item["path"] in written:
                yield ("storage", key, position, "path"), f"{item['path']} is also a unit"
