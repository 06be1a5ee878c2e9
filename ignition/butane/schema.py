"""The fields of a Butane document and of the Ignition config it becomes.

Order and emptiness follow Ignition's own types (coreos/ignition config/v3_4/types/schema.go):
fields are written in this order, and one that is not given is left out unless it is `required`.
"""

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

Scalar = Literal["string", "integer", "boolean"]


@dataclass(frozen=True)
class ListOf:
    """A list of one type."""

    item: "Scalar | Struct"


@dataclass(frozen=True)
class Field:
    """A key and its type. `required` strings are written when empty; `sugar` is Butane's own."""

    type: "Scalar | Struct | ListOf"
    required: bool = False
    sugar: bool = False


@dataclass(frozen=True)
class Struct:
    """A mapping; `kind` names the rules that hold for it."""

    kind: str
    fields: dict[str, Field]

    def __hash__(self) -> int:
        return hash(self.kind)

    @cached_property
    def ignition(self) -> tuple[tuple[str, Field], ...]:
        """The keys that Ignition has too, in its spelling."""
        kept = [(camel(name), field) for name, field in self.fields.items() if not field.sugar]
        return (*kept, ("version", Field("string"))) if self.kind == "ignition" else tuple(kept)

    @cached_property
    def nested(self) -> tuple[tuple[str, "Struct | ListOf"], ...]:
        """The keys of `ignition` below which there are further mappings."""
        return tuple(
            (key, kind)
            for key, kind in ((key, field.type) for key, field in self.ignition)
            if isinstance(kind, Struct)
            or (isinstance(kind, ListOf) and isinstance(kind.item, Struct))
        )

    @cached_property
    def lists(self) -> tuple[tuple[str, ListOf], ...]:
        """The keys of `ignition` that have lists."""
        return tuple(
            (key, field.type) for key, field in self.ignition if isinstance(field.type, ListOf)
        )


STRING = Field("string")
INTEGER = Field("integer")
BOOLEAN = Field("boolean")
STRINGS = Field(ListOf("string"))
NAME = Field("string", required=True)
SUGAR = Field("string", sugar=True)


def _one(kind: str, **fields: Field) -> Field:
    return Field(Struct(kind, fields))


def _many(kind: str, **fields: Field) -> Field:
    return Field(ListOf(Struct(kind, fields)))


@cache
def camel(name: str) -> str:
    """The Ignition spelling of a Butane key: `size_mib` is `sizeMiB`, `home_dir` is `homeDir`."""
    if name.endswith("_mib"):
        name = name.removesuffix("_mib") + "MiB"
    return re.sub(r"_(.)", lambda match: match[1].upper(), name)


def snake(name: str) -> str:
    """The Butane spelling of an Ignition key."""
    return re.sub(r"(MiB|[A-Z])", r"_\1", name).lower()


@cache
def document(version: str) -> Struct:
    """The whole document of flatcar `version`, which is 1.0.0 or 1.1.0."""
    newer = version == "1.1.0"
    local = {"contents_local": SUGAR} if newer else {}
    return Struct(
        "config",
        {
            "version": SUGAR,
            "variant": SUGAR,
            "ignition": _ignition(),
            "kernel_arguments": _one("arguments", should_exist=STRINGS, should_not_exist=STRINGS),
            "passwd": _passwd(newer=newer),
            "storage": _storage(newer=newer),
            "systemd": _one(
                "systemd",
                units=_many(
                    "unit",
                    contents=STRING,
                    dropins=_many("dropin", contents=STRING, name=NAME, **local),
                    enabled=BOOLEAN,
                    mask=BOOLEAN,
                    name=NAME,
                    **local,
                ),
            ),
        },
    )


def _resource_fields() -> dict[str, Field]:
    return {
        "compression": STRING,
        "http_headers": _many("header", name=NAME, value=STRING),
        "source": STRING,
        "verification": _one("verification", hash=STRING),
        "inline": SUGAR,
        "local": SUGAR,
    }


def _resource() -> Field:
    return _one("resource", **_resource_fields())


def _resources() -> Field:
    return _many("resource", **_resource_fields())


def _ignition() -> Field:
    return _one(
        "ignition",
        config=_one("merging", merge=_resources(), replace=_resource()),
        proxy=_one("proxy", http_proxy=STRING, https_proxy=STRING, no_proxy=STRINGS),
        security=_one("security", tls=_one("tls", certificate_authorities=_resources())),
        timeouts=_one("timeouts", http_response_headers=INTEGER, http_total=INTEGER),
    )


def _passwd(*, newer: bool) -> Field:
    local = {"ssh_authorized_keys_local": Field(ListOf("string"), sugar=True)} if newer else {}
    return _one(
        "passwd",
        groups=_many(
            "group",
            gid=INTEGER,
            name=NAME,
            password_hash=STRING,
            should_exist=BOOLEAN,
            system=BOOLEAN,
        ),
        users=_many(
            "user",
            gecos=STRING,
            groups=STRINGS,
            home_dir=STRING,
            name=NAME,
            no_create_home=BOOLEAN,
            no_log_init=BOOLEAN,
            no_user_group=BOOLEAN,
            password_hash=STRING,
            primary_group=STRING,
            ssh_authorized_keys=STRINGS,
            shell=STRING,
            should_exist=BOOLEAN,
            system=BOOLEAN,
            uid=INTEGER,
            **local,
        ),
    )


def _node() -> dict[str, Field]:
    owner = {"id": INTEGER, "name": STRING}
    return {
        "group": _one("owner", **owner),
        "overwrite": BOOLEAN,
        "path": NAME,
        "user": _one("owner", **owner),
    }


def _storage(*, newer: bool) -> Field:
    return _one(
        "storage",
        directories=_many("directory", **_node(), mode=INTEGER),
        disks=_many("disk", device=NAME, partitions=_partitions(), wipe_table=BOOLEAN),
        files=_many("file", **_node(), append=_resources(), contents=_resource(), mode=INTEGER),
        filesystems=_many(
            "filesystem",
            device=NAME,
            format=STRING,
            label=STRING,
            mount_options=STRINGS,
            options=STRINGS,
            path=STRING,
            uuid=STRING,
            wipe_filesystem=BOOLEAN,
            with_mount_unit=Field("boolean", sugar=True),
        ),
        links=_many("link", **_node(), hard=BOOLEAN, target=STRING),
        luks=_luks(newer=newer),
        raid=_many(
            "raid", devices=STRINGS, level=STRING, name=NAME, options=STRINGS, spares=INTEGER
        ),
        trees=Field(ListOf(Struct("tree", {"local": SUGAR, "path": SUGAR})), sugar=True),
    )


def _partitions() -> Field:
    return _many(
        "partition",
        guid=STRING,
        label=STRING,
        number=INTEGER,
        resize=BOOLEAN,
        should_exist=BOOLEAN,
        size_mib=INTEGER,
        start_mib=INTEGER,
        type_guid=STRING,
        wipe_partition_entry=BOOLEAN,
    )


def _luks(*, newer: bool) -> Field:
    return _many(
        "luks",
        device=STRING,
        **({"discard": BOOLEAN} if newer else {}),
        key_file=_resource(),
        label=STRING,
        name=NAME,
        **({"open_options": STRINGS} if newer else {}),
        options=STRINGS,
        uuid=STRING,
        wipe_volume=BOOLEAN,
    )
