"""Secrets must not be in variables, ConfigMaps, values of charts or plain boot data.

- A container's variable with the name of a secret (`…PASSWORD`, `…PASSPHRASE`, `…_PWD`, `…TOKEN`,
  `…SECRET`, `…CREDENTIALS`, `…API_KEY`, `…ACCESS_KEY`, `…PRIVATE_KEY`, `…SECRET_KEY`, `PGPASS`)
  must take its value from a Secret. The same holds for the values of a chart. A yes or no, a path,
  `[PAD]`, a number of tokens and a reference (`$(NAME)`, `op://`, `vault:`) are no secrets; a
  placeholder is told by isolation/placeholders.
- A ConfigMap must have no such key, and its files no line that gives a password or key a value,
  such as `password: …` or Redis' `requirepass …` (programs and files of more than 100,000
  characters are not read for it).
- Variables, values, ConfigMaps with their `binaryData`, and the commands of containers must contain
  no private key, no token of a well-known form (AWS, GitHub, GitLab, Google, Hugging Face, OpenAI,
  Anthropic, Slack) and no address with a password in it, which is not looked for in `binaryData`
  and in more than 500,000 characters. `binaryData` of more than 100,000 characters is not read.
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
from dataclasses import replace

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
from policies.language.secret_names import (
    NAME,
    cel_has_password_in_url,
    cel_has_secret_line,
    cel_is_named_secret,
    cel_is_reference,
    cel_names_secret,
    has_password_in_url,
    has_secret_line,
    is_named_secret,
    is_reference,
    names_secret,
)
from policies.language.token_forms import (
    FORMS,
    cel_has_form,
    cel_has_form_in_base64,
    cel_has_token,
    has_token,
    has_token_in_base64,
)
from settings.names import RELEASE

ID = "isolation/clear-secrets"
_KUBEADM = "(?:^|[^a-z0-9.])[a-z0-9]{6}\\.[a-z0-9]{16}(?:[^a-z0-9.]|$)"
_DATA_URL = re.compile(r"data:[^,\"]*;base64,([A-Za-z0-9+/=]+)")
_VARIABLE = "must have no secret in its variables or command; take it from a Secret."
_CONFIG = "must have no secret in its data; put it into a Secret."
_VALUES = "must have no secret in its values; name a Secret instead."
_BOOT = "must have no secret in plain boot data; put it into the part that is encrypted."
_NAMED_ONLY = ("annotations", "keyref", "secretkeys", "secretref")  # digests, and names of keys
_STATE = "must have its input {} encrypted in the state; mark it with pulumi.Output.secret."
_TEXTS = ("content", "contentBase64", "userData", "userDataBase64")
_is_input = re.compile(f"{NAME}|^(kubeconfig|secretKey|secretString)$").search
_is_token = re.compile(_KUBEADM).search


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Return where a secret is in plain text, without any of it."""
    kind = str(manifest.get("kind"))
    if kind == "ConfigMap" and manifest.get("apiVersion") == "v1":
        return [f"{describe(manifest)} {_CONFIG}"] if _has_clear_data(manifest) else []
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


def _has_clear_data(config_map: Manifest) -> bool:
    plain, binary = mapping(config_map.get("data")), mapping(config_map.get("binaryData"))
    return any(
        _tells(key, text) or (isinstance(text, str) and has_secret_line(key, text))
        for key, text in plain.items()
    ) or any(
        isinstance(text, str) and ((text and names_secret(key)) or has_token_in_base64(text))
        for key, text in binary.items()
    )


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


def _is_value(text: str) -> bool:
    return has_token(text) or has_password_in_url(text)


def _tells(name: object, text: object) -> bool:
    """Return whether a named text is a secret: by its own look, or by its name."""
    if not isinstance(text, str) or not text or is_reference(text):
        return False
    return _is_value(text) or is_named_secret(name, text)


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


def _cel_is_value(text: str) -> str:
    return f"({cel_has_token(text)} || {cel_has_password_in_url(text)})"


def _cel_tells(name: str, text: str) -> str:
    told = f"{_cel_is_value(text)} || {cel_is_named_secret(name, text)}"
    return f"({text} != '' && !{cel_is_reference(text)} && ({told}))"


_CEL_TOLD = _cel_tells("e.name", "e.?value.orValue('')")
_CEL_WORDS = "(c.?command.orValue([]) + c.?args.orValue([]))"
_CEL_ENV = (
    f"(c.?env.orValue([]).exists(e, {_CEL_TOLD}) || {_CEL_WORDS}.exists(w, {_cel_is_value('w')}))"
)


def _of_map(field: str) -> str:
    return f"(object.kind == 'ConfigMap' ? object.?{field}.orValue({{}}) : {{}})"


def _any(field: str, told: str) -> str:
    return f"{_of_map(field)}.transformList(k, v, {told}).exists(told, told)"


# one variable for each: the API server charges for what a text costs by expression
_IN_DATA: Mapping[str, str] = {
    **{
        f"form{number}": _any("data", f"{cel_has_form(form, 'v')} && !{cel_is_reference('v')}")
        for number, form in enumerate(FORMS)
    },
    "url": _any("data", f"{cel_has_password_in_url('v')} && !{cel_is_reference('v')}"),
    "named": _any(
        "data", f"v != '' && !{cel_is_reference('v')} && {cel_is_named_secret('k', 'v')}"
    ),
    "line": _any("data", cel_has_secret_line("k", "v")),
    "binary": _any("binaryData", f"v != '' && {cel_names_secret('k')}"),
    **{
        f"binary{number}": _any("binaryData", cel_has_form_in_base64(form, "v"))
        for number, form in enumerate(FORMS)
    },
}
_CEL_DATA = " || ".join(f"variables.{name}" for name in _IN_DATA)


def _admission() -> Admission:
    """A ConfigMap has data and no pods, and everything else has pods."""
    of_variables = Fault(broken=_CEL_ENV, says=cel.literal(_VARIABLE))
    found = pods_or_object(
        (("", "configmaps"), *POD_KINDS),
        [Fault(broken=_CEL_DATA, says=cel.literal(_CONFIG))],
        of_containers(
            "(object.kind == 'ConfigMap' ? [] : variables.pods)",
            [of_variables],
            containers=EVERY_CONTAINER,
        ),
    )
    return replace(found, variables=_IN_DATA)


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
