"""Writes the stack file of a rehearsal: a copy of the environment's with every secret replaced.

The copy in the rehearsal directory has every scalar as it is written, except public keys that
belong to a secret and the names of inventory files, which become whole paths, so the engine reads
the same values. It has a salt and a passphrase of its own,
so that nobody needs the real passphrase and no real secret reaches the twin. A copy for a kept twin
keeps the salt, the passphrase and the secrets of the one before it, so that no edit replaces what
depends on them. The encryption is the engine's published passphrase format, done here so that no
secret is in a command line.
"""

import base64
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import pbkdf2_hmac
from pathlib import Path
from typing import Self

import yaml
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from rehearsal.certificates import write_private
from rehearsal.errors import RehearsalError
from rehearsal.made_up_secrets import generate
from settings.names import PROJECT

ITERATIONS = 1_000_000  # fixed by the format, as are SHA-256, the 8-byte salt and the 12-byte nonce
KEY_FILE = "passphrase"  # beside the copy
TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, kw_only=True)
class Cipher:
    """Encrypts and decrypts values as the engine's passphrase provider does (`v1:nonce:text`)."""

    salt: bytes
    key: bytes

    @classmethod
    def of(cls, passphrase: str, salt: bytes | None = None) -> Self:
        """Derive the key; without `salt`, make a new one."""
        salt = salt or os.urandom(8)
        key = pbkdf2_hmac("sha256", passphrase.encode(), salt, ITERATIONS)
        return cls(salt=salt, key=key)

    @classmethod
    def opened(cls, passphrase: str, state: str) -> Self | None:
        """Return the cipher of a stack file's `encryptionsalt`; None for a wrong passphrase."""
        _, salt, proof = state.split(":", 2)
        cipher = cls.of(passphrase, base64.b64decode(salt))
        try:
            return cipher if cipher.decrypt(proof) == "pulumi" else None
        except InvalidTag:
            return None

    @property
    def state(self) -> str:
        """The value of `encryptionsalt`: the salt, and a known word to check the passphrase."""
        return f"v1:{base64.b64encode(self.salt).decode()}:{self.encrypt('pulumi')}"

    def encrypt(self, text: str) -> str:
        """Return the value of `secure:` for a text."""
        nonce = os.urandom(12)
        sealed = AESGCM(self.key).encrypt(nonce, text.encode(), None)
        return f"v1:{base64.b64encode(nonce).decode()}:{base64.b64encode(sealed).decode()}"

    def decrypt(self, text: str) -> str:
        """Return the plain text of a value of `secure:`."""
        _, nonce, sealed = text.split(":")
        plain = AESGCM(self.key).decrypt(base64.b64decode(nonce), base64.b64decode(sealed), None)
        return plain.decode()


@dataclass(frozen=True, kw_only=True)
class Known:
    """Values of the copy that cannot be made up.

    `secret` has secrets by name, such as the twin's kubeconfig; `plain` has plain texts that belong
    to a secret, such as public keys, by their path under `config:`.
    """

    secret: Mapping[str, str] = field(repr=False)
    plain: Mapping[tuple[str, ...], str]


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """The copy that a kept twin has; its passphrase opens it."""

    passphrase: str = field(repr=False)
    cipher: Cipher = field(repr=False)
    config: yaml.Node

    @classmethod
    def read(cls, copy: Path) -> Self:
        """Read the copy and the passphrase beside it."""
        passphrase = copy.with_name(KEY_FILE).read_text(encoding="utf-8")
        document = dict(_items(_compose(copy)))
        cipher = Cipher.opened(passphrase, str(document["encryptionsalt"].value))
        if cipher is None:
            raise RehearsalError(f"{copy}: the passphrase beside it does not open it.")
        return cls(passphrase=passphrase, cipher=cipher, config=document["config"])

    def secret(self, name: str) -> str | None:
        """Return the plain text of a declared secret."""
        found = _sealed(_child(self.config, f"{PROJECT}:{name}"))
        return None if found is None else self.cipher.decrypt(found)


def write(
    source: Path,
    target: Path,
    *,
    forms: Mapping[str, str],
    known: Known,
    earlier: Earlier | None = None,
) -> None:
    """Write the copy of the stack file `source`, its passphrase beside it, for the owner alone.

    Replaces every `secure:` value, however deep, by the one that stands there in `earlier`, else by
    a generated one, adds declared secrets that the file lacks, and takes the values of `known`.
    """
    passphrase = earlier.passphrase if earlier else secrets.token_urlsafe(32)
    cipher = earlier.cipher if earlier else Cipher.of(passphrase)
    before = earlier.config if earlier else None

    def value_of(key: str, sealed: str | None) -> str:
        name = key.removeprefix(f"{PROJECT}:")
        if name in known.secret:
            return cipher.encrypt(known.secret[name])
        return sealed or cipher.encrypt(generate(forms.get(name, "password")))

    document = _compose(source)
    config = _config(document)
    config.value = [
        (key, _replaced(value, partial(value_of, key.value), _child(before, key.value)))
        for key, value in config.value
        if key.value.removeprefix(f"{PROJECT}:") not in forms
    ]
    for path, text in known.plain.items():
        _put(config, path, text)
    _name_inventories(config, source.parent.resolve())
    for name in sorted(forms):
        key = f"{PROJECT}:{name}"
        config.value.append((_text(key), _secure(value_of(key, _sealed(_child(before, key))))))
    document.value = [(_text("encryptionsalt"), _text(cipher.state)), (_text("config"), config)]
    write_private(target.with_name(KEY_FILE), passphrase.encode())
    text = yaml.serialize(document, allow_unicode=True, width=1_000_000)
    write_private(target, text.encode())


def _compose(source: Path) -> yaml.MappingNode:
    """Return the file as nodes, whose scalars stay text, so that `on` or `0123` do not change."""
    try:
        document = yaml.compose(source.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it is not UTF-8 text"
        raise RehearsalError(f"{source.name}{where}: this is not YAML: {problem}.") from error
    if document is None:
        return yaml.MappingNode(f"{TAG}map", [])
    if not isinstance(document, yaml.MappingNode):
        raise RehearsalError(f"{source.name}: must be a mapping with the key config.")
    if "environment" in dict(_items(document)):
        raise RehearsalError(
            f"{source.name}: environment: a rehearsal has no account and cannot open Pulumi ESC "
            "environments; write their values under config:, secrets as secure: values."
        )
    return document


def _config(document: yaml.MappingNode) -> yaml.MappingNode:
    found = dict(_items(document)).get("config")
    return found if isinstance(found, yaml.MappingNode) else yaml.MappingNode(f"{TAG}map", [])


def _items(node: yaml.MappingNode) -> list[tuple[str, yaml.Node]]:
    return [(str(key.value), value) for key, value in node.value]


def _replaced(
    node: yaml.Node, secret: Callable[[str | None], str], before: yaml.Node | None
) -> yaml.Node:
    """Return the node with another secret in each `{secure: …}`, itself included.

    `secret` gets the ciphertext that stands at the same place in `before`, if there is one.
    """
    if isinstance(node, yaml.CollectionNode):
        node.flow_style = False  # any scalar of the source can stand unquoted in a block
    if isinstance(node, yaml.SequenceNode):
        node.value = [
            _replaced(value, secret, _child(before, at)) for at, value in enumerate(node.value)
        ]
    if isinstance(node, yaml.MappingNode):
        if _sealed(node) is not None:
            return _secure(secret(_sealed(before)))
        node.value = [
            (key, _replaced(value, secret, _child(before, key.value))) for key, value in node.value
        ]
    return node


def _child(node: yaml.Node | None, step: str | int) -> yaml.Node | None:
    """Return the node one step below; None where there is none."""
    if isinstance(node, yaml.MappingNode):
        return dict(_items(node)).get(str(step))
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        found: yaml.Node = node.value[step]
        return found
    return None


def _sealed(node: yaml.Node | None) -> str | None:
    """Return the ciphertext of a `{secure: …}`; None where the node is something else."""
    if not isinstance(node, yaml.MappingNode) or [name for name, _ in _items(node)] != ["secure"]:
        return None
    return str(dict(_items(node))["secure"].value)


def _put(node: yaml.Node, path: tuple[str, ...], text: str) -> None:
    """Replace the text at a path; do nothing where there is no such path."""
    key, *rest = path
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == key and rest:
                _put(value, tuple(rest), text)
            elif name.value == key:
                value.value = text


def _name_inventories(config: yaml.MappingNode, folder: Path) -> None:
    """Write the whole path of each inventory file, as the copy is in another folder."""
    pools = dict(_items(config)).get(f"{PROJECT}:pools")
    for _, pool in _items(pools) if isinstance(pools, yaml.MappingNode) else ():
        if isinstance(pool, yaml.MappingNode):
            for name, value in _items(pool):
                if name == "inventory" and isinstance(value, yaml.ScalarNode):
                    value.value = str(folder / value.value)


def _text(value: str) -> yaml.ScalarNode:
    return yaml.ScalarNode(f"{TAG}str", value)


def _secure(ciphertext: str) -> yaml.MappingNode:
    return yaml.MappingNode(f"{TAG}map", [(_text("secure"), _text(ciphertext))])
