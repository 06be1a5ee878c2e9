"""The words of the API server's language, CEL, in which rules say what they look at.

Kubernetes 1.36: optional fields (`a.?b`), `quantity()`, and lists of one type alone, so that what
differs in type is wrapped in `dyn()`. An object of a custom resource has its quantities as they
were written; a Pod has them canonical. See
https://kubernetes.io/docs/reference/using-api/cel/.
"""

import json
from collections.abc import Mapping, Sequence
from string import Formatter

from policies.language.argo import OF_WORKFLOWS, TEMPLATE, WORK
from policies.language.merging import cel_merged
from policies.language.pod_kinds import SHIPPED, PodKind, Step, called, steps

DESCRIBED = "object.kind + \" '\" + object.metadata.?name.orValue('') + \"'\""
"""CEL: `manifest.describe` of an object."""
DESCRIBED_SHORT = "object.kind + '/' + object.metadata.?name.orValue('')"
"""The name of an object in an exemption."""


def literal(value: object) -> str:
    """A plain value as CEL writes it; the values of a map may be of several types."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{literal(k)}: dyn({literal(v)})' for k, v in value.items())}}}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value)


def text(template: str, **values: str) -> str:
    """A text with `{name}` where a value goes, each value CEL of a text."""
    parts = []
    for before, name, _, _ in Formatter().parse(template):
        parts += [literal(before)] if before else []
        parts += [values[name]] if name is not None else []
    return " + ".join(parts)


def name_of(rule_id: str) -> str:
    """The name of a rule among the variables of its policy: `gpu_node_pool`."""
    return rule_id.partition("/")[2].replace("-", "_")


def setting(rule_id: str, name: str) -> str:
    """A setting of a rule, in the type that its schema says."""
    return f"variables.{name_of(rule_id)}_{name}"


def _pod(name: str, template: str) -> str:
    spec = _said(f"{template}.?spec")
    labels, annotations = (
        _said(f"{template}.?metadata.?{each}") for each in ("labels", "annotations")
    )
    containers = f"{listed(spec, 'initContainers')} + {listed(spec, 'containers')}"
    return _entry(name, labels, annotations, spec, containers)


def _said(optional: str) -> str:
    """The fields of a map that are not null, which custom resources may have."""
    return f"{_given(f'{optional}.orValue({{}})', '{}')}.transformMap(k, v, v != null, v)"


_TEXT = "dyn('%s'.format([{}]))"
_VARIABLE = f"e.transformMap(f, x, x != null, f in ['name', 'value'] ? {_TEXT.format('x')} : x)"
_FIELD = (
    f"k == 'env' ? dyn(v.filter(e, e != null).map(e, {_VARIABLE})) : "
    f"k in ['command', 'args'] ? dyn(v.map(w, {_TEXT.format('w')})) : v"
)
_CONTAINER = f"c.transformMap(k, v, v != null, {_FIELD})"
"""A container `c` without nulls; its words and the values of its variables are texts."""


def _entry(name: str, labels: str, annotations: str, spec: str, containers: str) -> str:
    found = f"({containers}).filter(c, c != null).map(c, {_CONTAINER})"
    return (
        f"{{'name': dyn({name}), 'labels': dyn({labels}), 'annotations': dyn({annotations}), "
        f"'spec': dyn({spec}), 'containers': dyn({found})}}"
    )


def _is(group: str) -> str:
    return f"object.apiVersion.startsWith('{group}/')"


def listed(holder: str, field: str) -> str:
    """The items of a list; none where there is no such list."""
    return _given(f"{holder}.?{field}.orValue([])", "[]")


def _given(value: str, otherwise: str) -> str:
    """A value that a custom resource may have as null, which is as good as none."""
    return f"(dyn({value}) == null ? {otherwise} : {value})"


def _merged(of_all: str, own: str) -> str:
    """The entries of two maps; those of the second one win."""
    keys = f"{of_all}.map(k, k).filter(k, !(k in own)) + own.map(k, k)"
    merged = f"({keys}).transformMapEntry(i, k, {{k: k in own ? own[k] : {of_all}[k]}})"
    return f"[{own}].map(own, {merged})[0]"


def _argo(name: str, template: str) -> str:
    parts = [
        listed(template, "initContainers"),
        *(f"(has({template}.{one}) ? [{template}.{one}] : [])" for one in ("container", "script")),
        listed(f"{template}.?containerSet", "containers"),
        listed(template, "sidecars"),
    ]
    labels, annotations = (
        _merged(
            f"variables.shared.{each}",
            _given(f"{template}.?metadata.?{each}.orValue({{}})", "{}"),
        )
        for each in ("labels", "annotations")
    )
    own = f"{template}.transformMap(k, v, v != null, v)"
    spec = _merged("variables.shared.spec", own)
    return _entry(name, labels, annotations, spec, " + ".join(parts))


def _shared() -> str:
    """Return the fields that a workflow of Argo sets for all its pods."""
    of_all = f"{_WORKFLOW}.?podMetadata"
    labels, annotations = (
        _given(f"{of_all}.?{each}.orValue({{}})", "{}") for each in ("labels", "annotations")
    )
    named = f"k in {list(OF_WORKFLOWS)} && v != null"
    spec = f"{_WORKFLOW}.orValue({{}}).transformMap(k, v, {named}, v)"
    return f"{{'labels': dyn({labels}), 'annotations': dyn({annotations}), 'spec': dyn({spec})}}"


_ROLES = (
    "([object.?spec.?pytorchReplicaSpecs, object.?spec.?tfReplicaSpecs, "
    "object.?spec.?mpiReplicaSpecs, object.?spec.?xgbReplicaSpecs, "
    "object.?spec.?paddleReplicaSpecs, object.?spec.?jaxReplicaSpecs]"
    ".filter(found, found.hasValue()).map(found, found.value()) + [{}])[0]"
)
_WORKFLOW = "(object.kind == 'CronWorkflow' ? object.?spec.?workflowSpec : object.?spec)"


_TEMPLATES = listed(_WORKFLOW, "templates")
_HAS_INLINE = "dyn(s.?inline.orValue(null)) != null"


def _inline(of_template: str) -> str:
    """The templates that stand inline in those of a workflow; CEL joins maps, and no lists."""
    return f"{_TEMPLATES}.transformMapEntry(i, t, {of_template}).transformList(k, v, v)"


def _step(found: str, *indices: str) -> str:
    key = ".".join(["%d"] * len(indices))
    entry = (
        f"{{'{key}'.format([{', '.join(indices)}]): "
        "dyn({'name': dyn(s.?name.orValue('')), 'template': dyn(s.inline)})}"
    )
    return f"{found}.transformMapEntry({indices[-1]}, s, {_HAS_INLINE}, {entry})"


_OF_TASKS = _inline(_step(listed("t.?dag", "tasks"), "i", "j"))
_OF_STEPS = _inline(
    f"{listed('t', 'steps')}.transformMapEntry(j, g, {_step('dyn(g)', 'i', 'j', 'l')})"
)
_FITTING = (
    f"variables.defaults.transformMap(k, v, !(k in {list(WORK)}) || "
    "dyn(t.template[?k].orValue(null)) != null, v)"
)
_COMPLETE = (
    f"{{'name': dyn(t.name), 'template': dyn({cel_merged(_FITTING, 't.template', TEMPLATE)})}}"
)
_DEFAULTS = _given(f"{_WORKFLOW}.?templateDefaults.orValue({{}})", "{}")
_OWN = f"{_TEMPLATES}.map(t, {{'name': dyn(t.?name.orValue('')), 'template': dyn(t)}})"


def _entries(holder: str, left: Sequence[Step], way: Sequence[str], depth: int = 0) -> str:
    """CEL: the templates at a place, each with its name: a list, or within a list a map."""
    plain: list[str] = []
    for number, step in enumerate(left):
        if step.holds:
            return _of_items(_in(holder, plain), step, left[number + 1 :], _on(way, plain), depth)
        plain.append(step.field)
    there, entry = _entry_of(_in(holder, plain), _on(way, plain))
    if depth:
        return f"({there} ? {{{_key(depth)}: dyn({entry})}} : {{}})"
    return f"({there} ? [{entry}] : [])"


def _of_items(holder: str, step: Step, left: Sequence[Step], way: Sequence[str], depth: int) -> str:
    index, item = f"i{depth + 1}", f"e{depth + 1}"
    empty = "[]" if step.holds == "[]" else "{}"
    found = _given(f"{holder}.?{step.field}.orValue({empty})", empty)
    number = f"'{step.field}[' + string({index}) + ']'"
    named = f"{item}.?name.orValue({item}.?groupName.orValue({number}))"
    onward = [*way, named if step.holds == "[]" else index]
    if not depth and not any(each.holds for each in left):
        fields = [each.field for each in left]
        _, entry = _entry_of(_in(item, fields), _on(onward, fields))
        return f"{found}.transformList({index}, {item}, {entry})"
    entries = (
        f"{found}.transformMapEntry({index}, {item}, {_entries(item, left, onward, depth + 1)})"
    )
    return entries if depth else f"{entries}.transformList(k, v, v)"


def _entry_of(optional: str, way: Sequence[str]) -> tuple[str, str]:
    """CEL: whether there is a template, and the template with its name."""
    name = " + '.' + ".join(way) if way else "''"
    entry = f"{{'name': dyn({name}), 'template': dyn({optional}.orValue({{}}))}}"
    return f"dyn({optional}.orValue(null)) != null", entry


def _in(holder: str, fields: Sequence[str]) -> str:
    return holder + "".join(f".?{field}" for field in fields)


def _on(way: Sequence[str], fields: Sequence[str]) -> list[str]:
    """The way, in CEL, with those of the fields that a pod is called by."""
    return [*way, *(literal(field) for field in called(fields).split(".") if field)]


def _key(depth: int) -> str:
    numbers = ", ".join(f"i{number}" for number in range(1, depth + 1))
    return f"'{'.'.join(['%s'] * depth)}'.format([{numbers}])"


def templates(kinds: Sequence[PodKind]) -> str:
    """CEL: the templates in an object of one of the kinds, each with the name of its pod."""
    branches = (
        f"variables.resource in {found} ? "
        f"{' + '.join(_entries('object', steps(place), ()) for place in places)} : "
        for places, found in _by_places(kinds).items()
    )
    return f"{''.join(branches)}[]"


def _by_places(kinds: Sequence[PodKind]) -> dict[tuple[str, ...], list[str]]:
    """Return the resources of the kinds by the places of their templates."""
    found: dict[tuple[str, ...], list[str]] = {}
    for each in kinds:
        if each.templates:
            found.setdefault(each.templates, []).append(f"{each.group}/{each.resource}")
    return found


_SHIPPED = {
    f"templates{number}": templates([each for each in SHIPPED if each.templates == places])
    for number, places in enumerate(_by_places(SHIPPED))
}
"""A variable for each set of places: the type checker of CEL needs the square of the time for an
expression that is twice as long (cel-go v0.26.0, checker/mapping.go: it copies all types that it
has inferred at each overload that it tries)."""


PODS: Mapping[str, str] = {
    "shared": f"{_is('argoproj.io')} ? {_shared()} : {{}}",
    "defaults": f"{_is('argoproj.io')} ? {_DEFAULTS} : {{}}",
    "roles": f"{_is('kubeflow.org')} ? {_ROLES} : {{}}",
    "given": f"{_is('argoproj.io')} ? {_OWN} + {_OF_TASKS} + {_OF_STEPS} : []",
    **_SHIPPED,
    "completed": (
        f"size(variables.defaults) == 0 ? variables.given : variables.given.map(t, {_COMPLETE})"
    ),
    "templates": (
        f"{_is('argoproj.io')} ? variables.completed : object.kind == 'Pod' ? "
        "[{'name': dyn(''), 'template': dyn(object)}] : "
        f"{' + '.join(f'variables.{each}' for each in (*_SHIPPED, 'declared'))}"
    ),
    "pods": (
        f"{_is('argoproj.io')} ? variables.templates.map(t, {_argo('t.name', 't.template')}) : "
        f"variables.templates.map(t, {_pod('t.name', 't.template')})"
    ),
}
"""Variables: an object's pods, each with name, labels, annotations, spec and containers."""


RESOURCES = (
    "[c.?resources.?limits.orValue({}), c.?resources.?requests.orValue({})]"
    ".filter(r, dyn(r) != null)"
)
"""The maps of a container `c` in which the names of resources stand."""


def asked(container: str, resource: str) -> str:
    """An optional: what a container asks for of a resource, its request or else its limit."""
    return asked_by(container, f"'{resource}'")


def asked_by(container: str, key: str) -> str:
    """The same of the resource that is called as the CEL `key` says."""
    return f"{container}.?resources.?requests[?{key}].or({container}.?resources.?limits[?{key}])"


def amount(value: str) -> str:
    """A value as a quantity; `string()` knows no number in a custom resource, `format` does."""
    return f"quantity('%s'.format([{value}]).trim())"


def is_some(value: str) -> str:
    """CEL: `manifest.is_some` of a value."""
    return f"(dyn({value}) != null && '%s'.format([{value}]) != '0')"


def more_than_none(optional: str) -> str:
    """Return whether an optional quantity is there and above 0; an error where it is malformed."""
    found = amount(f"{optional}.value()")
    return f"({optional}.hasValue() && {found}.isGreaterThan(quantity('0')))"


def whole(quantity: str) -> str:
    """Return whether a quantity is a whole number; `isInteger` is false for `8000m`."""
    number = f"{quantity}.asApproximateFloat()"
    return f"({number} > 1e15 || double(int({number})) == {number})"
