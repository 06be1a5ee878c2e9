"""A quantity of a resource must be one that Kubernetes can read.

Such as `8`, `500m` or `64Gi`. A placeholder that nobody filled in (`$GPU_PER_NODE`, `${GPUS}`,
`{{ gpus }}`, `<gpus>`, `PLACEHOLDER_GPUS`) is told as one. With nothing behind `nvidia.com/gpu:` a
pod gets no GPUs, so that no other rule takes it for a pod with GPUs. Kinds of others, such
as a Workflow or a training job, take any text there, and only their pods fail, later. What cannot
be counted is told here alone: the rules that count leave such a pod to this one.
"""

import re
from collections.abc import Iterator

from policies.language import cel
from policies.language.cel import RESOURCES
from policies.language.cel_forms import Fault, of_pods
from policies.language.pods import Pod, pods, subject
from policies.language.quantities import IS_READABLE, IS_UNREADABLE, unreadable
from policies.language.rule import Manifest, Rule, Settings

_PLACEHOLDER = r"\$|\{\{|<[^>]*>|__[A-Z]|PLACEHOLDER"
_UNFILLED = "must have a quantity as {resource}: the placeholder '{value}' was not filled in."
_TEXT = "must have a quantity such as 8 or 64Gi as {resource}, not '{value}'."
_NOTHING = "must have a quantity as {resource}: nothing stands there, which gives none."
_OTHER = "must have a quantity such as 8 or 64Gi as {resource}."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Return what nobody can read of the quantities of an object's pods."""
    return [
        f"{subject(manifest, pod)} {fault}"
        for pod in pods(manifest)
        for fault in dict.fromkeys(_faults(pod))
    ]


def _faults(pod: Pod) -> Iterator[str]:
    for holder in (*pod.containers, pod.spec):
        for found in unreadable(holder):
            if found.value is None:
                yield _NOTHING.format(resource=found.resource)
            elif not isinstance(found.value, str):
                yield _OTHER.format(resource=found.resource)
            else:
                says = _UNFILLED if re.search(_PLACEHOLDER, found.value) else _TEXT
                yield says.format(resource=found.resource, value=found.value)


_HOLDER = (
    f"(p.containers + [p.spec]).filter(c, {RESOURCES}.exists(r, r.exists(k, {IS_UNREADABLE})))"
)
_PART = f"{_HOLDER}.map(c, {RESOURCES}.filter(r, r.exists(k, {IS_UNREADABLE}))[0])[0]"
_VALUE = {"resource": "string(k)", "value": "string(r[k])"}
_SAYS = (
    f"dyn(r[k]) == null ? {cel.text(_NOTHING, resource='string(k)')} : "
    f"type(r[k]) != string ? {cel.text(_OTHER, resource='string(k)')} : "
    f"string(r[k]).matches({cel.literal(_PLACEHOLDER)}) ? {cel.text(_UNFILLED, **_VALUE)} : "
    f"{cel.text(_TEXT, **_VALUE)}"
)

RULE = Rule(
    id="numa/quantities",
    sentence="A quantity of a resource must be one that Kubernetes can read.",
    why=(
        "What cannot be read cannot be placed: the object of an operator is taken, each of its "
        "pods is refused, and the gang waits with the GPUs that it has."
    ),
    source="https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/",
    predicate=violations,
    admission=of_pods(
        "variables.pods",
        [
            Fault(
                broken=f"!({IS_READABLE})",
                says=(
                    f"[{_PART}].map(r, r.map(k, k).filter(k, {IS_UNREADABLE})"
                    f".map(k, {_SAYS})[0])[0]"
                ),
            )
        ],
    ),
)
