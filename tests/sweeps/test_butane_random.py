"""Our transpiler beside the real Butane on random documents that meet every key."""

import json
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ignition.butane import ButaneError, translate, transpile
from ignition.butane.schema import Field, ListOf, Scalar, Struct, document
from tests.support.butane_reference import reference

_UNIT = "[Unit]\nDescription=x\n[Service]\nExecStart=/usr/bin/true\n"
_HASH = "sha512-" + "a" * 128
_PATHS = ["/etc/a", "/etc/b", "/etc/a/b", "/etc/systemd/system/a.service", "/var/lib/x", "/opt/c"]
_WRONG_PATHS = ["", "etc/a", "/etc//a", "/etc/a/", "/etc/../a", "/"]
_DEVICES = ["/dev/sda", "/dev/disk/by-label/x-y", "/dev/md/data", "/dev/mapper/crypt"]
_SOURCES = [
    "https://example.org/a.ign?x=1#y",
    "http://user:pw@example.org:8080/%41",
    "s3://bucket/key?versionId=abc",
    "gs://bucket/key",
    "tftp://host/file",
    "arn:aws:s3:::bucket/key",
    "data:,hello%20world",
    "data:text/plain;charset=utf-8;base64,aGVsbG8=",
    "",
]
_WRONG_SOURCES = [
    "ftp://x/y",
    "nothing",
    "https://exa mple.org/",
    "https://example.org:port/",
    "https://example.org/%zz",
    "s3://bucket/key?versionId=",
    "arn:aws:s3:::bucket",
    "data:hello",
    "data:;base64,a",
    "data:,a b",
    "://x",
]
_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), include_characters="\n\t"),
    max_size=40,
)
_GUID = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"

# (kind, key) or key -> values that Ignition takes, values that it does not
_STRINGS: dict[str, tuple[list[str], list[str]]] = {
    "path": (_PATHS, _WRONG_PATHS),
    "device": (_DEVICES, _WRONG_PATHS),
    "source": (_SOURCES, _WRONG_SOURCES),
    "compression": (["", "gzip"], ["xz"]),
    "hash": ([_HASH, "sha256-" + "0" * 64], ["md5-0", "sha512", "sha256-00"]),
    "format": (["xfs", "ext4", "btrfs", "swap", "vfat", "none", ""], ["ntfs"]),
    "label": (["data", "", "root"], ["a:b", "l" * 48, "thirteen-chars"]),
    "level": (["raid0", "1", "stripe", "raid10"], ["", "raid7"]),
    "target": (["/opt/c", "../a", "b"], [""]),
    "guid": ([_GUID, ""], ["guid"]),
    "type_guid": ([_GUID.lower(), ""], ["guid"]),
    "http_proxy": (["http://proxy:3128", "https://proxy"], ["socks5://proxy", ""]),
    "https_proxy": (["https://proxy"], ["http://proxy", "proxy"]),
    "unit name": (["a.service", "b@.service", "b@x.service", "c.timer"], ["a", "x.conf"]),
    "dropin name": (["10-a.conf", "b.conf"], ["a", "a.service"]),
    "name": (["alpha", "beta"], ["", "a/b"]),
    "contents": (
        [f"{_UNIT}[Install]\nWantedBy=multi-user.target\n", "", "[Unit]\nA=b\\\n c\n;x\\\n y\n"],
        [_UNIT, "[Unit", "[Unit] x\n", "[Unit]\nnothing\n", "[Install]\n", "[S]\nA=" + "b" * 2100],
    ),
}
_LISTS: dict[str, list[str]] = {
    "devices": [*_DEVICES, "relative"],
    "should_exist": ["quiet", "a=b", "hugepagesz=1G hugepages=2"],
    "should_not_exist": ["quiet", "rd.shell"],
}


# what one document holds: one fault is then seen alone
_SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("storage", ("files",)),
    ("storage", ("files", "links")),
    ("storage", ("directories", "links")),
    ("storage", ("disks", "filesystems")),
    ("storage", ("filesystems",)),
    ("storage", ("raid",)),
    ("storage", ("luks",)),
    ("systemd", ("units",)),
    ("passwd", ("users", "groups")),
    ("kernel_arguments", ("should_exist", "should_not_exist")),
    ("ignition", ("config",)),
    ("ignition", ("proxy", "timeouts")),
    ("ignition", ("security",)),
)


def documents(*, wrong: float) -> st.SearchStrategy[str]:
    """Butane documents as JSON text, which is YAML; `wrong` is the share of bad values."""
    return st.tuples(st.sampled_from(("1.1.0", "1.0.0")), st.sampled_from(_SECTIONS)).flatmap(
        lambda drawn: _document(*drawn, wrong)
    )


def _document(
    version: str, section: tuple[str, tuple[str, ...]], wrong: float
) -> st.SearchStrategy[str]:
    name, keys = section
    struct = document(version).fields[name].type
    assert isinstance(struct, Struct)
    part = Struct(struct.kind, {key: struct.fields[key] for key in keys})
    return _struct(part, wrong).map(
        lambda body: json.dumps({"variant": "flatcar", "version": version, name: body})
    )


def _struct(struct: Struct, wrong: float) -> st.SearchStrategy[dict[str, Any]]:
    fields = {
        name: _value(struct.kind, name, field, wrong)
        for name, field in struct.fields.items()
        if name not in ("local", "trees") and not name.endswith("_local")
    }
    required = {name: fields.pop(name) for name, field in struct.fields.items() if field.required}
    chosen = st.fixed_dictionaries(required, optional=fields).map(_consistent)
    if not wrong:
        return chosen
    unknown = st.sampled_from([{}] * 40 + [{"unknown": 1}])
    return st.tuples(chosen, unknown).map(lambda parts: parts[0] | parts[1])


def _consistent(value: dict[str, Any]) -> dict[str, Any]:
    """Mostly what can stand together: an owner has an id or a name, a resource one source."""
    if "inline" in value and "source" in value:
        del value["source"]
    if "inline" in value or not str(value.get("source", "")).startswith("http"):
        value.pop("http_headers", None)
    if not {"inline", "source"} & value.keys():
        value.pop("verification", None)
    if value.get("overwrite") and "path" in value and "contents" in value:
        value["contents"].setdefault("inline", "x") if "source" not in value["contents"] else None
    return value


def _identity(value: dict[str, Any]) -> object:
    """What makes two entries of a list the same thing."""
    for key in ("number", "path", "name", "device", "source", "inline"):
        if key in value:
            return value[key]
    return None


def _value(kind: str, name: str, field: Field, wrong: float) -> st.SearchStrategy[Any]:
    if isinstance(field.type, Struct):
        return _struct(field.type, wrong)
    if isinstance(field.type, ListOf):
        item = field.type.item
        if isinstance(item, Struct):
            return st.lists(_struct(item, wrong), max_size=3, unique_by=_identity)
        return st.lists(
            st.sampled_from(_LISTS.get(name, ["one", "two", "three"])),
            max_size=3,
            unique=not wrong,
        )
    return _scalar(kind, name, field.type, wrong)


def _scalar(kind: str, name: str, scalar: Scalar, wrong: float) -> st.SearchStrategy[Any]:
    good: st.SearchStrategy[Any]
    bad: st.SearchStrategy[Any]
    if scalar == "boolean":
        good, bad = st.booleans(), st.sampled_from([None, "yes", "true", 1, "maybe"])
    elif scalar == "integer":
        usual = [0o644, 0o600, 0o755, 0o750, 0o700] if name == "mode" else [0, 1, 2, 5, 512]
        odd = [644, 755, 0o1777, 0o4755, 0o10000, -1, "7", None, 1.0]
        good, bad = st.sampled_from(usual), st.sampled_from(odd)
    elif name == "inline" or (name == "value" and kind == "header"):
        good, bad = _TEXT, st.sampled_from(["", "{}", '{"ignition":{"version":"3.4.0"}}'])
    else:
        known = _STRINGS.get(f"{kind} {name}") or _STRINGS.get(name) or (["a", "b c", "é"], [""])
        good, bad = st.sampled_from(known[0]), st.sampled_from(known[1])
    if not wrong:
        return good
    return st.integers(1, 100).flatmap(lambda chance: bad if chance <= wrong * 100 else good)


# no shrinking and no deadline: the process on the other side answers when it answers
often = settings(
    max_examples=150,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def compare(source: str) -> None:
    config = reference().transpile(source)
    try:
        mine, refusal = transpile(source), ""
    except ButaneError as error:
        mine, refusal = None, str(error)
    if mine is None:
        assert config is None, f"Butane takes what we refuse with: {refusal}"
        return
    assert config is not None, f"we take what Butane refuses with: {reference().report(source)}"
    assert json.dumps(mine) == json.dumps(config)
    assert reference().validate(json.dumps(mine)) == ""


@often
@given(documents(wrong=0))
def test_documents_of_usual_values_have_the_same_verdict_and_config(source: str) -> None:
    compare(source)


@often
@given(documents(wrong=0.02))
def test_documents_with_a_wrong_value_have_the_same_verdict_and_config(source: str) -> None:
    compare(source)


@often
@given(documents(wrong=0.15))
def test_documents_with_several_wrong_values_have_the_same_verdict(source: str) -> None:
    compare(source)


@often
@given(documents(wrong=0.1))
def test_warnings_that_may_pass_have_the_same_verdict_and_config(source: str) -> None:
    config = reference().transpile(source, lax=True)
    try:
        mine, refusal = translate(source, strict=False)[0], ""
    except ButaneError as error:
        mine, refusal = None, str(error)
    assert json.dumps(mine) == json.dumps(config), refusal
