"""Secrets must not be in variables, ConfigMaps, values of charts or plain boot data.

- A container's variable with the name of a secret (`…PASSWORD`, `…_PASS`, `…_PWD`, `…PASSPHRASE`,
  `…TOKEN`, `…SECRET`, `…CREDENTIALS`, `…API_KEY`, `…ACCESS_KEY`, `…PRIVATE_KEY`, `…SECRET_KEY`,
  `…MASTER_KEY`, `…ENCRYPTION_KEY`, `PGPASS`, a number behind it or not) must take its value from a
  Secret. The same holds for the values of a chart. A yes or no, a path, `[PAD]`, `not-needed`, a
  number of tokens, the name of a Secret (`TLS_SECRET`, `IMAGE_PULL_SECRET`) and a reference
  (`$(NAME)`, `op://`, `vault:`, any address) are no secrets; a placeholder is told by
  isolation/placeholders.
- A ConfigMap must have no such key, and its files no line that gives a password, key or token a
  value, such as `password: …` or Redis' `requirepass …` (lines of programs are not read). A value
  of several lines, or JSON, is judged by its lines and not by its key.
- Commands, of probes and hooks too, must give no password or key by an option or a variable, such
  as `--password=…` or `export DB_PASSWORD=…`; probes must send no login.
- Variables, values, ConfigMaps with their `binaryData`, annotations of pods and commands must
  contain no private key, no token of a well-known form (AWS, Azure's storage, Docker, GitHub,
  GitLab, Google, Hugging Face, NVIDIA, OpenAI, Anthropic, Slack, JSON Web Tokens) and no address
  with a password in it, which is not looked for in `binaryData`.
- What is too large for the API server is not read at any gate: lines of a ConfigMap of more than
  60,000 characters, `binaryData` of more than 100,000, variables or commands of more than 120,000.
  `fleet check` names it.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from policies.language import cel
from policies.language.cel_forms import Fault, of_containers, of_pods, pods_or_object
from policies.language.manifest import EncryptedText, at, describe, items, mapping
from policies.language.pods import KINDS as POD_KINDS
from policies.language.pods import pods, subject
from policies.language.rule import Admission, Manifest, Rule, Settings
from policies.language.secret_lines import (
    cel_has_password_in_dsn,
    cel_has_password_in_url,
    cel_has_secret_line,
    cel_has_secret_option,
    has_password_in_dsn,
    has_password_in_url,
    has_secret_line,
    has_secret_option,
)
from policies.language.secret_names import (
    NAME,
    cel_is_file,
    cel_is_named_secret,
    cel_is_reference,
    cel_names_secret,
    is_file,
    is_named_secret,
    is_reference,
    names_secret,
)
from policies.language.sizes import (
    CEL_HEADERS,
    CEL_SIZES,
    CEL_WORDS,
    LONGEST_BASE64,
    LONGEST_WITH_LINES,
    LONGEST_WITH_URLS,
    headers,
    reads_keys,
    reads_variables,
    reads_words,
    size,
    words,
)
from policies.language.token_forms import (
    FORMS,
    SHORTEST,
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
_ANNOTATION = "must have no secret in its annotations; take it from a Secret."
_CONFIG = "must have no secret in its data; put it into a Secret."
_VALUES = "must have no secret in its values; name a Secret instead."
_BOOT = "must have no secret in plain boot data; put it into the part that is encrypted."
_NAMED_ONLY = ("annotations", "keyref", "secretkeys", "secretref")  # digests, and names of keys
_STATE = "must have its input {} encrypted in the state; mark it with pulumi.Output.secret."
_TEXTS = ("content", "contentBase64", "userData", "userDataBase64")
_is_input = re.compile(f"{NAME}|^(kubeconfig|secretKey|secretString)$").search
_is_token = re.compile(_KUBEADM).search
_LOGIN = "^(Bearer|Basic) [\\w.+/=~-]{8,}$"
_is_login = re.compile(_LOGIN, re.ASCII).search


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
    return [*_of_pods(manifest)]


def _of_pods(manifest: Manifest) -> Iterator[str]:
    variables, commands = reads_variables(manifest), reads_words(manifest)
    for pod in pods(manifest):
        for container in (*pod.containers, *pod.ephemeral):
            env = items(container.get("env")) if variables else ()
            if _has_clear_secret(container, env, words(container) if commands else []):
                named = f"container '{container.get('name') or ''}'"
                yield f"{subject(manifest, pod)}: {named} {_VARIABLE}"
        if any(has_token(str(text)) for text in pod.annotations.values()):
            yield f"{subject(manifest, pod)} {_ANNOTATION}"


def _has_clear_data(config_map: Manifest) -> bool:
    if not reads_keys(config_map):
        return False
    plain, binary = mapping(config_map.get("data")), mapping(config_map.get("binaryData"))
    length = size(config_map)
    if any(isinstance(text, str) and _is_clear(key, text, length) for key, text in plain.items()):
        return True
    return size(config_map, "binaryData") <= LONGEST_BASE64 and any(
        isinstance(text, str) and ((text and names_secret(key)) or has_token_in_base64(text))
        for key, text in binary.items()
    )


def _is_clear(key: object, text: str, length: int) -> bool:
    """Return whether a key of a ConfigMap holds a secret; `length` is that of all its values."""
    if length <= LONGEST_WITH_LINES and has_secret_line(key, text):
        return True
    if not text or is_reference(text):
        return False
    url = length <= LONGEST_WITH_URLS and has_password_in_url(text)
    return url or has_token(text) or (is_named_secret(key, text) and not is_file(text))


def _has_clear_secret(
    container: Mapping[str, object], env: Sequence[object], run: Sequence[str]
) -> bool:
    if any(map(_is_value, run)) or has_secret_option(" ".join(run)):
        return True
    return any(map(_is_variable, env)) or any(map(_is_header, headers(container)))


def _is_variable(each: object) -> bool:
    name, value = at(each, "name"), at(each, "value")
    if isinstance(value, str):
        return _tells(name, value) or (has_password_in_dsn(value) and not is_reference(value))
    # a custom resource may have a number where a text belongs
    return isinstance(value, int | float) and _tells(name, str(value).lower())


def _is_header(header: object) -> bool:
    value = str(at(header, "value") or "")
    is_login = str(at(header, "name")).lower() == "authorization" and _is_login(value)
    return _is_value(value) or bool(is_login)


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


def _cel_is_header(header: str) -> str:
    name, value = f"{header}.?name.orValue('')", f"{header}.?value.orValue('')"
    is_login = f"{value}.matches({cel.literal(_LOGIN)})"
    return f"({_cel_is_value(value)} || {name}.lowerAscii() == 'authorization' && {is_login})"


def _any(field: str, told: str) -> str:
    return f"variables.{field}.transformList(k, v, {told}).exists(told, told)"


def _containers(told: str) -> str:
    """The pods with those of their containers `c` of which something is told."""
    found = f"{{'name': dyn(p.name), 'containers': dyn(p.containers.filter(c, {told}))}}"
    return f"variables.looked.map(p, {found}).filter(p, size(p.containers) > 0)"


_VALUE_OF = "e.?value.orValue('')"
_ENV = "(variables.readsVariables ? c.?env.orValue([]) : [])"
_WORDS = f"(variables.readsWords ? {CEL_WORDS} : [])"
_LOOK = f"{_cel_is_value(_VALUE_OF)} || {cel_has_password_in_dsn(_VALUE_OF)}"
_NAME_OF = "e.?name.orValue('')"
# one variable for each: the API server charges for what a text costs by expression
_IN_PODS: Mapping[str, str] = {
    "ofValues": _containers(
        f"{_ENV}.exists(e, size({_VALUE_OF}) >= {SHORTEST} && ({_LOOK}) && "
        f"!{cel_is_reference(_VALUE_OF)})"
    ),
    "ofNames": _containers(
        f"{_ENV}.exists(e, {_VALUE_OF} != '' && "
        f"{cel_is_named_secret(_NAME_OF, _VALUE_OF)} && !{cel_is_reference(_VALUE_OF)})"
    ),
    "ofWords": _containers(f"{_WORDS}.exists(w, size(w) >= {SHORTEST} && {_cel_is_value('w')})"),
    "ofOptions": _containers(f"[{_WORDS}.join(' ')].exists(w, {cel_has_secret_option('w')})"),
    "ofHeaders": _containers(f"{CEL_HEADERS}.exists(e, {_cel_is_header('e')})"),
}
_IN_DATA: Mapping[str, str] = {
    **{
        f"form{number}": _any("texts", f"{cel_has_form(form, 'v')} && !{cel_is_reference('v')}")
        for number, form in enumerate(FORMS)
    },
    "url": (
        f"variables.size <= {LONGEST_WITH_URLS} && "
        + _any("texts", f"{cel_has_password_in_url('v')} && !{cel_is_reference('v')}")
    ),
    "named": _any(
        "texts",
        f"v != '' && {cel_is_named_secret('k', 'v')} && !{cel_is_file('v')} && "
        f"!{cel_is_reference('v')}",
    ),
    "line": (
        f"variables.size <= {LONGEST_WITH_LINES} && " + _any("texts", cel_has_secret_line("k", "v"))
    ),
    "binary": _any("bytes", f"v != '' && {cel_names_secret('k')}"),
    **{
        f"binary{number}": _any("bytes", cel_has_form_in_base64(form, "v"))
        for number, form in enumerate(FORMS)
    },
}
_CEL_DATA = " || ".join(f"variables.{name}" for name in _IN_DATA)
_TEXT = "'%s'.format([p.annotations[k]])"
_MARKED = (
    "(object.kind == 'ConfigMap' ? [] : variables.pods).filter(p, p.annotations.exists(k, "
    f"{cel_has_token(_TEXT)}))"
)


def _admission() -> Admission:
    """A ConfigMap has data and no pods, and everything else has pods."""
    found = pods_or_object(
        (("", "configmaps"), *POD_KINDS),
        [Fault(broken=_CEL_DATA, says=cel.literal(_CONFIG))],
        of_containers(
            " + ".join(f"variables.{name}" for name in _IN_PODS),
            [Fault(broken="true", says=cel.literal(_VARIABLE))],
        ),
    )
    marked = of_pods(_MARKED, [Fault(broken="true", says=cel.literal(_ANNOTATION))])
    return replace(
        found,
        shared={**found.shared, **CEL_SIZES},
        variables={**_IN_PODS, **_IN_DATA},
        fault=f"[{found.fault}].map(own, own == '' ? {marked.fault} : own)[0]",
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
