"""Secrets must not be in variables, ConfigMaps, values of charts or plain boot data.

- A container's variable with the name of a secret (`…PASSWORD`, `…TOKEN`, `…SECRET`, `…API_KEY`,
  `…ACCESS_KEY`, `…PRIVATE_KEY`, `…SECRET_KEY`, `PGPASSWORD`) must take its value from a Secret.
  The same holds for the values of a chart.
- A ConfigMap must have no such key.
- Variables, values, ConfigMaps and the commands of containers must contain no private key and no
  access key of AWS.
- The Ignition of a pool and the user data of an EC2NodeClass must contain none either, and no join
  token of kubeadm; base64 `data:` URLs are decoded and read too. Secret boot data comes in a second
  configuration, which is encrypted.
- In resources that are not Kubernetes objects (a server, a provider, an object of S3), an input
  with the name of a secret, or user data or content with a secret in it, must be marked as secret,
  so that Pulumi encrypts it in its state. The Kubernetes SDK marks the data of a Secret itself.

Messages of this rule never contain a part of the secret.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping

from policies.language import cel
from policies.language.cel_forms import (
    EVERY_CONTAINER,
    Fault,
    of_containers,
    pods_or_object,
)
from policies.language.manifest import EncryptedText, at, describe, items, mapping
from policies.language.pods import KINDS as POD_KINDS
from policies.language.pods import pods, subject
from policies.language.rule import Admission, Manifest, Rule, Settings
from settings.names import RELEASE

ID = "isolation/clear-secrets"
_NAME = (
    "^(.*[_.-])?(?i:password|passwd|token|secret|api[_-]?key|access[_-]?key|private[_-]?key"
    "|secret[_-]key|pgpassword)$"
    "|(Password|Token|ApiKey|AccessKey|PrivateKey)$"
)
_VALUE = "-----BEGIN ([A-Z]+ )*PRIVATE KEY-----|(^|[^A-Z0-9])(AKIA|ASIA)[A-Z0-9]{16}([^A-Z0-9]|$)"
_KUBEADM = "(?:^|[^a-z0-9.])[a-z0-9]{6}\\.[a-z0-9]{16}(?:[^a-z0-9.]|$)"
_REFERENCE = "^(\\$\\([A-Za-z0-9_]+\\)|\\{\\{[^{}]+\\}\\})+$"  # the second is Argo's
_DATA_URL = re.compile(r"data:[^,\"]*;base64,([A-Za-z0-9+/=]+)")
_YES_OR_NO = ("true", "false", "True", "False")
_NO_SECRET = ("/", "<")
_VARIABLE = "must have no secret in its variables or command; take it from a Secret."
_CONFIG = "must have no secret in its data; put it into a Secret."
_VALUES = "must have no secret in its values; name a Secret instead."
_BOOT = "must have no secret in plain boot data; put it into the part that is encrypted."
_NAMED_ONLY = ("annotations", "keyref", "secretkeys", "secretref")  # digests, and names of keys
_STATE = "must have its input {} encrypted in the state; mark it with pulumi.Output.secret."
_TEXTS = ("content", "contentBase64", "userData", "userDataBase64")
_is_name = re.compile(_NAME).search
_is_input = re.compile(_NAME + "|^(kubeconfig|secretKey|secretString)$").search
_is_value = re.compile(_VALUE).search
_is_token = re.compile(_KUBEADM).search


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Return where a secret is in plain text, without any of it."""
    kind = str(manifest.get("kind"))
    if kind == "ConfigMap" and manifest.get("apiVersion") == "v1":
        found = any(_tells(key, text) for key, text in mapping(manifest.get("data")).items())
        return [f"{describe(manifest)} {_CONFIG}"] if found else []
    if kind == RELEASE:
        found = any(_tells(key, text) for key, text in _leaves(at(manifest, "spec", "values")))
        return [f"{describe(manifest)} {_VALUES}"] if found else []
    if kind == "EC2NodeClass" or kind.startswith("gpu:pools:"):
        plain = at(manifest, "spec", "userData" if kind == "EC2NodeClass" else "ignition")
        return [f"{describe(manifest)} {_BOOT}"] if _has_secret(plain) else []
    if "apiVersion" not in manifest:
        return [f"{describe(manifest)} {_STATE.format(name)}" for name in _in_clear_state(manifest)]
    return [
        f"{subject(manifest, pod)}: container '{container.get('name') or ''}' {_VARIABLE}"
        for pod in pods(manifest)
        for container in (*pod.containers, *pod.ephemeral)
        if _has_clear_secret(container)
    ]


def _has_clear_secret(container: Mapping[str, object]) -> bool:
    words = (*items(container.get("command")), *items(container.get("args")))
    return any(_is_value(word) for word in words if isinstance(word, str)) or any(
        _tells(at(each, "name"), at(each, "value")) for each in items(container.get("env"))
    )


def _in_clear_state(manifest: Manifest) -> Iterator[str]:
    """Yield the inputs that are secrets without a mark; reads only those that may be one."""
    inputs = mapping(manifest.get("spec"))
    for name in inputs:
        if name in _TEXTS or _is_input(name):
            value = inputs[name]
            if isinstance(value, str) and not isinstance(value, EncryptedText):
                is_secret = _has_secret(value) if name in _TEXTS else _tells("secret", value)
                if is_secret:
                    yield name


def _tells(name: object, text: object) -> bool:
    """Return whether a named text is a secret: by its own look, or by its name."""
    if not isinstance(text, str) or not text or re.search(_REFERENCE, text):
        return False
    return bool(_is_value(text)) or (bool(_is_name(str(name))) and not _is_elsewhere(text))


def _is_elsewhere(text: str) -> bool:
    """Return whether a text is only a yes, a no, a path or `<eos>`; a secret is none of these."""
    return text in _YES_OR_NO or text.startswith(_NO_SECRET)


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """The texts of a chart's values with their keys; what only names or marks a Secret is none."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            if not str(key).lower().endswith(_NAMED_ONLY):
                yield from _leaves(part, str(key))
        yield from _variable(value)
    elif isinstance(value, str):
        yield name, value
    else:
        for part in items(value):
            yield from _leaves(part, name)


def _variable(value: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    if isinstance(value.get("name"), str) and "value" in value:
        yield str(value["name"]), value["value"]


def _has_secret(text: object, depth: int = 4) -> bool:
    if not isinstance(text, str):
        return False
    if _is_value(text) or _is_token(text):
        return True
    return depth > 0 and any(_has_secret(_decoded(each), depth - 1) for each in _inside(text))


def _inside(text: str) -> Iterator[str]:
    return (found[1] for found in _DATA_URL.finditer(text))


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None


def _cel_tells(name: str, text: str) -> str:
    value, reference = cel.literal(_VALUE), cel.literal(_REFERENCE)
    starts = " || ".join(f"{text}.startsWith('{each}')" for each in _NO_SECRET)
    elsewhere = f"{text} in {list(_YES_OR_NO)} || {starts}"
    named = f"{name}.matches({cel.literal(_NAME)}) && !({elsewhere})"
    return f"({text} != '' && !{text}.matches({reference}) && ({text}.matches({value}) || {named}))"


_CEL_TOLD = _cel_tells("e.name", "e.?value.orValue('')")
_CEL_WORDS = "(c.?command.orValue([]) + c.?args.orValue([]))"
_CEL_ENV = (
    f"(c.?env.orValue([]).exists(e, {_CEL_TOLD}) || "
    f"{_CEL_WORDS}.exists(w, w.matches({cel.literal(_VALUE)})))"
)
_CEL_DATA = (
    "(object.kind == 'ConfigMap' ? object.?data.orValue({}) : {})"
    f".transformList(k, v, {_cel_tells('k', 'v')}).exists(told, told)"
)


def _admission() -> Admission:
    """A ConfigMap has data and no pods, and everything else has pods."""
    of_variables = Fault(broken=_CEL_ENV, says=cel.literal(_VARIABLE))
    return pods_or_object(
        (("", "configmaps"), *POD_KINDS),
        [Fault(broken=_CEL_DATA, says=cel.literal(_CONFIG))],
        of_containers(
            "(object.kind == 'ConfigMap' ? [] : variables.pods)",
            [of_variables],
            containers=EVERY_CONTAINER,
        ),
    )


RULE = Rule(
    id=ID,
    sentence="A secret must not stand in variables, ConfigMaps, values of charts or boot data.",
    why=(
        "Everybody who may read pods, a state, a preview or the metadata of a machine can read it, "
        "and it stays in their history."
    ),
    source="https://kubernetes.io/docs/concepts/security/secrets-good-practices/",
    predicate=violations,
    admission=_admission(),
)
