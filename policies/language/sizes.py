"""How much of an object the rules on its texts read, so that the API server can afford it.

It pays for every character, at most a million units for an expression and ten for a policy, and
refuses what costs more. What is larger than here is left out at every gate, and
`policies.language.unjudged` names it.
"""

from collections.abc import Iterator, Mapping

from policies.language.manifest import at, items, mapping
from policies.language.pods import pods
from policies.language.rule import Manifest

MOST_KEYS, LONGEST_KEYS = 1_000, 60_000
"""More keys of a ConfigMap, or more characters in them, are not read: the API server takes time by
the square of the keys, 0.2 s for these and 5 s for five times as many."""
LONGEST_WITH_URLS, LONGEST_WITH_LINES, LONGEST_BASE64 = 700_000, 60_000, 100_000
"""More characters, of all keys of a ConfigMap together, are not searched for addresses, for lines
that give a secret a value, and, of its `binaryData`, for tokens."""
LONGEST_OF_PODS = 120_000
"""More characters in the variables of all pods together, or in their commands, are not read."""
_PER_TEXT = 15
_HOLDERS = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")


def reads_keys(config_map: Manifest) -> bool:
    """Return whether a ConfigMap has few enough keys to be read."""
    keys = [key for field in ("data", "binaryData") for key in mapping(config_map.get(field))]
    return len(keys) <= MOST_KEYS and sum(map(len, keys)) <= LONGEST_KEYS


def size(config_map: Manifest, field: str = "data") -> int:
    """The characters in the values of a ConfigMap."""
    texts = mapping(config_map.get(field)).values()
    return sum(len(text) for text in texts if isinstance(text, str))


def words(container: Mapping[str, object]) -> list[str]:
    """The words of a container's command, and of those that its probes and hooks run."""
    found = [*items(container.get("command")), *items(container.get("args"))]
    for each in _HOLDERS:
        found += items(at(container, each, "exec", "command"))
    for each in _HOOKS:
        found += items(at(container, "lifecycle", each, "exec", "command"))
    return [str(word) for word in found if word is not None]


def headers(container: Mapping[str, object]) -> Iterator[object]:
    """The headers that a container's probes and hooks send."""
    for each in _HOLDERS:
        yield from items(at(container, each, "httpGet", "httpHeaders"))
    for each in _HOOKS:
        yield from items(at(container, "lifecycle", each, "httpGet", "httpHeaders"))


def reads_variables(manifest: Manifest) -> bool:
    """Return whether the variables of an object's pods are few and short enough to be read."""
    found = [
        len(str(at(each, field) or ""))
        for pod in pods(manifest)
        for container in (*pod.containers, *pod.ephemeral)
        for each in items(container.get("env"))
        for field in ("name", "value")
    ]
    return sum(found) + _PER_TEXT * len(found) // 2 <= LONGEST_OF_PODS


def reads_words(manifest: Manifest) -> bool:
    """Return whether the words of commands in an object's pods are few and short enough."""
    found = (
        len(word) + _PER_TEXT
        for pod in pods(manifest)
        for container in (*pod.containers, *pod.ephemeral)
        for word in words(container)
    )
    return sum(found) <= LONGEST_OF_PODS


def unread(manifest: Manifest) -> Iterator[str]:
    """Yield what of an object is too large to be read."""
    if manifest.get("kind") == "ConfigMap" and manifest.get("apiVersion") == "v1":
        if not reads_keys(manifest):
            yield f"its keys, more than {MOST_KEYS:,} or with more than {LONGEST_KEYS:,} characters"
        elif size(manifest) > LONGEST_WITH_LINES and _may_have_lines(manifest):
            yield f"the lines of its data, which has more than {LONGEST_WITH_LINES:,} characters"
        if size(manifest, "binaryData") > LONGEST_BASE64:
            yield f"its binaryData, which has more than {LONGEST_BASE64:,} characters"
        return
    if not reads_variables(manifest):
        yield f"its variables, which have more than {LONGEST_OF_PODS:,} characters together"
    if not reads_words(manifest):
        yield f"secrets in its commands, which have more than {LONGEST_OF_PODS:,} characters"


def _may_have_lines(config_map: Manifest) -> bool:
    return any(isinstance(each, str) for each in mapping(config_map.get("data")).values())


_LISTS = (
    "c.?command.orValue([])",
    "c.?args.orValue([])",
    *(f"c.?{each}.?exec.?command.orValue([])" for each in _HOLDERS),
    *(f"c.?lifecycle.?{each}.?exec.?command.orValue([])" for each in _HOOKS),
)
CEL_WORDS = f"({' + '.join(_LISTS)})"
"""CEL: `words` of a container `c`."""
CEL_HEADERS = (
    "("
    + " + ".join(
        f"c.?{each}.?httpGet.?httpHeaders.orValue([])"
        for each in (*_HOLDERS, *(f"lifecycle.?{hook}" for hook in _HOOKS))
    )
    + ")"
)
"""CEL: `headers` of a container `c`."""
_OF_VARIABLE = f"size(e.?name.orValue('')) + size(e.?value.orValue('')) + {_PER_TEXT}"
_EVERY = "variables.looked.map(p, p.containers.map(c, {}).sum()).sum()"


def _data(field: str) -> str:
    return f"(object.kind == 'ConfigMap' ? object.?{field}.orValue({{}}) : {{}})"


def _sum(field: str, of: str) -> str:
    return f"{_data(field)}.transformList(k, v, size({of})).sum()"


CEL_SIZES: Mapping[str, str] = {
    "looked": (
        "(object.kind == 'ConfigMap' ? [] : variables.pods).map(p, {'name': dyn(p.name), "
        "'containers': dyn(p.containers + p.spec.?ephemeralContainers.orValue([]))})"
    ),
    "readsVariables": (
        f"{_EVERY.format(f'c.?env.orValue([]).map(e, {_OF_VARIABLE}).sum()')} <= {LONGEST_OF_PODS}"
    ),
    "readsWords": (
        f"{_EVERY.format(f'{CEL_WORDS}.map(w, size(w) + {_PER_TEXT}).sum()')} <= {LONGEST_OF_PODS}"
    ),
    "readsKeys": (
        f"size({_data('data')}) + size({_data('binaryData')}) <= {MOST_KEYS} && "
        f"{_sum('data', 'k')} + {_sum('binaryData', 'k')} <= {LONGEST_KEYS}"
    ),
    "texts": f"variables.readsKeys ? {_data('data')} : {{}}",
    "bytes": (
        f"variables.readsKeys && {_sum('binaryData', 'v')} <= {LONGEST_BASE64} ? "
        f"{_data('binaryData')} : {{}}"
    ),
    "size": "variables.texts.transformList(k, v, size(v)).sum()",
}
"""Variables: the pods with all their containers, what of them is read, the data of a ConfigMap as
far as it is read, and the characters in its values."""
