"""The words of the API server's language, CEL, in which rules say what they look at.

Kubernetes 1.34: optional fields (`a.?b`), `quantity()`, and lists of one type alone, so that what
differs in type is wrapped in `dyn()`. An object of a custom resource has its quantities as they
were written; a Pod has them canonical. See
https://kubernetes.io/docs/reference/using-api/cel/.
"""

import json
from collections.abc import Mapping, Sequence
from string import Formatter

from policies.language.pods import OF_WORKFLOWS

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
    spec = f"{template}.?spec.orValue({{}})"
    labels, annotations = (
        f"{template}.?metadata.?{each}.orValue({{}})" for each in ("labels", "annotations")
    )
    containers = f"{listed(spec, 'initContainers')} + {listed(spec, 'containers')}"
    return _entry(name, labels, annotations, spec, containers)


def _entry(name: str, labels: str, annotations: str, spec: str, containers: str) -> str:
    return (
        f"{{'name': dyn({name}), 'labels': dyn({labels}), 'annotations': dyn({annotations}), "
        f"'spec': dyn({spec}), 'containers': dyn({containers})}}"
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


def _argo(template: str) -> str:
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
    name = f"{template}.?name.orValue('')"
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


def _template(name: str, optional: str) -> str:
    """Return a pod's template with its name among those of its object."""
    return f"{{'name': dyn({name}), 'template': dyn({optional}.orValue({{}}))}}"


_ONE = (
    "object.kind == 'Pod' ? object : object.kind == 'CronJob' ? "
    "object.spec.jobTemplate.spec.template : object.spec.template"
)
_TASK = _template("t.?name.orValue('')", "t.?template")
_ROLE = _template("role", "variables.roles[role].?template")

PODS: Mapping[str, str] = {
    "shared": f"{_is('argoproj.io')} ? {_shared()} : {{}}",
    "roles": f"{_is('kubeflow.org')} ? {_ROLES} : {{}}",
    "templates": (
        f"{_is('argoproj.io')} ? [] : "
        f"{_is('batch.volcano.sh')} ? {listed('object.?spec', 'tasks')}.map(t, {_TASK}) : "
        f"{_is('kubeflow.org')} && object.kind != 'Notebook' ? "
        f"variables.roles.map(role, {_ROLE}) : "
        f"[{_ONE}].map(t, {{'name': dyn(''), 'template': dyn(t)}})"
    ),
    "pods": (
        f"{_is('argoproj.io')} ? {listed(_WORKFLOW, 'templates')}.map(t, {_argo('t')}) : "
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


def more_than_none(optional: str) -> str:
    """Return whether an optional quantity is there and above 0; an error where it is malformed."""
    found = amount(f"{optional}.value()")
    return f"({optional}.hasValue() && {found}.isGreaterThan(quantity('0')))"


def whole(quantity: str) -> str:
    """Return whether a quantity is a whole number; `isInteger` is false for `8000m`."""
    number = f"{quantity}.asApproximateFloat()"
    return f"({number} > 1e15 || double(int({number})) == {number})"
