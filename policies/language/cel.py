"""The words of the API server's language, CEL, in which rules say what they look at.

Kubernetes 1.34: optional fields (`a.?b`), `quantity()`, and lists of one type alone, so that what
differs in type is wrapped in `dyn()`. An object of a custom resource has its quantities as they
were written; a Pod has them canonical. See
https://kubernetes.io/docs/reference/using-api/cel/.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policies.language.pods import KINDS, OF_WORKFLOWS
from policies.language.rule import Admission

DESCRIBED = "object.kind + \" '\" + object.metadata.?name.orValue('') + \"'\""
"""What `manifest.describe` says of an object."""
DESCRIBED_SHORT = "object.kind + '/' + object.metadata.?name.orValue('')"
"""The name of an object in an exemption."""


def literal(text: str) -> str:
    """A text as CEL writes it."""
    return json.dumps(text)


def setting_key(rule_id: str, name: str) -> str:
    """The key of a rule's setting in the ConfigMap of settings."""
    return f"{rule_id.replace('/', '-')}.{name}"


def setting(rule_id: str, name: str) -> str:
    """The text of a setting of a rule; a list has its items between commas."""
    return f"params.data[{literal(setting_key(rule_id, name))}]"


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
    keys = f"{of_all}.map(k, k).filter(k, !(k in {own})) + {own}.map(k, k)"
    return f"({keys}).transformMapEntry(i, k, {{k: k in {own} ? {own}[k] : {of_all}[k]}})"


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
    """What a workflow of Argo says for all its pods."""
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

_ALONE = "''"
_NAMED = "t.?name.orValue('')"
_TASKS = f".map(t, {_pod(_NAMED, 't.?template')})"
_REPLICAS = f".map(role, {_pod('role', 'variables.roles[role].?template')})"
_TEMPLATES = f".map(t, {_argo('t')})"

PODS: Mapping[str, str] = {
    "shared": f"{_is('argoproj.io')} ? {_shared()} : {{}}",
    "roles": f"{_is('kubeflow.org')} ? {_ROLES} : {{}}",
    "pods": " : ".join(
        [
            f"object.kind == 'Pod' ? [{_pod(_ALONE, 'object')}]",
            f"object.kind == 'CronJob' ? [{_pod(_ALONE, 'object.spec.jobTemplate.spec.template')}]",
            f"{_is('batch.volcano.sh')} ? {listed('object.?spec', 'tasks')}{_TASKS}",
            f"{_is('kubeflow.org')} && object.kind != 'Notebook' ? variables.roles{_REPLICAS}",
            f"{_is('argoproj.io')} ? {listed(_WORKFLOW, 'templates')}{_TEMPLATES}",
            f"[{_pod(_ALONE, 'object.spec.template')}]",
        ]
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
    return (
        f"{container}.?resources.?requests[?'{resource}']"
        f".or({container}.?resources.?limits[?'{resource}'])"
    )


def amount(value: str) -> str:
    """A value as a quantity; `string()` knows no number in a custom resource, `format` does."""
    return f"quantity('%s'.format([{value}]).trim())"


def more_than_none(optional: str) -> str:
    """Whether an optional quantity is there and above 0; an error where it is malformed."""
    found = amount(f"{optional}.value()")
    return f"({optional}.hasValue() && {found}.isGreaterThan(quantity('0')))"


def whole(quantity: str) -> str:
    """Whether a quantity is a whole number; `isInteger` says no to `8000m` as it is written."""
    number = f"{quantity}.asApproximateFloat()"
    return f"({number} > 1e15 || double(int({number})) == {number})"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that can be wrong with a container `c`: when, and what is said after its name."""

    broken: str
    says: str


def of_containers(pods: str, faults: Sequence[Fault]) -> Admission:
    """Each container of the pods (a CEL list over `variables`) must have none of the faults.

    The message is `<object>[, '<pod>']: container '<name>' <what the first fault says>.`
    """
    broken = " || ".join(f"({fault.broken})" for fault in faults)
    says = " : ".join(f"{fault.broken} ? {fault.says}" for fault in faults[:-1])
    said = f"{says} : {faults[-1].says}" if says else faults[-1].says
    return Admission(
        kinds=KINDS,
        variables={
            **PODS,
            "broken": f"({pods}).filter(p, p.containers.exists(c, {broken}))",
            "container": f"variables.broken[0].containers.filter(c, {broken})[0]",
            "fault": f"[variables.container].map(c, {said})[0]",
        },
        holds="size(variables.broken) == 0",
        message=(
            f"{DESCRIBED} + (variables.broken[0].name == '' ? '' : \", '\" + "
            'variables.broken[0].name + "\'") + ": container \'" + '
            "variables.container.?name.orValue('') + \"' \" + variables.fault"
        ),
    )


def told_of(subject: str) -> str:
    """CEL for what a sentence begins with, for a map with the `name` of a pod's template."""
    return f"{DESCRIBED} + ({subject}.name == '' ? '' : \", '\" + {subject}.name + \"'\")"


def of_pods(
    things: str, faults: Sequence[Fault], *, variables: Mapping[str, str] | None = None
) -> Admission:
    """Each of the things (a CEL list of maps with the `name` of a pod) must have no fault.

    A fault speaks of `p`, and may use `variables` beside those of `PODS`. The message is
    `<object>[, '<pod>'] <what the first fault says>`.
    """
    broken = " || ".join(f"({fault.broken})" for fault in faults)
    says = " : ".join([*(f"{each.broken} ? {each.says}" for each in faults[:-1]), faults[-1].says])
    return Admission(
        kinds=KINDS,
        variables={
            **PODS,
            **(variables or {}),
            "broken": f"({things}).filter(p, {broken})",
            "fault": f"variables.broken.map(p, {says})[0]",
        },
        holds="size(variables.broken) == 0",
        message=f"{told_of('variables.broken[0]')} + ' ' + variables.fault",
    )
