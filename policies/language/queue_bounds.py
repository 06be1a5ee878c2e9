"""What a Volcano Queue may have, as the settings of its environment say; in Python and in CEL.

Beyond `capability` a queue gets GPUs of others by four more fields: `weight` and `deserved` say
what it may take back, `guarantee` keeps machines idle for it, and `priority` puts it first.
"""

from policies.language import cel
from policies.language.facts import Queue
from policies.language.manifest import at, quantity
from policies.language.rule import Manifest
from settings.names import GPU

_MOST = (
    "must have at most the {gpus} GPUs of its settings in spec.{field}['{resource}']; it has "
    "{said}."
)
_WEIGHT = "must have the weight {weight} of its settings in spec.weight; it has {said}."
_NO = "must not have spec.{field}, which the settings do not give to any queue."
_BOUNDED = ("capability", "deserved")
_NEVER = ("guarantee", "priority")


def is_volcano_queue(manifest: Manifest) -> bool:
    """Return whether this is a Queue of Volcano."""
    group = str(manifest.get("apiVersion")).startswith("scheduling.volcano.sh/")
    return group and manifest.get("kind") == "Queue"


def beyond_settings(manifest: Manifest, queue: Queue) -> str | None:
    """Return the first field in which a queue has more than its settings."""
    for field in _BOUNDED:
        said = at(manifest, "spec", field, GPU)
        most = quantity(said)
        unbounded = field == "capability" if said is None else most is None or most > queue["gpus"]
        if unbounded:
            seen = "none" if said is None else said
            return _MOST.format(gpus=queue["gpus"], field=field, resource=GPU, said=seen)
    weight = at(manifest, "spec", "weight")
    weight = 1 if weight is None else weight  # the default of Volcano's kind
    if weight != queue.get("weight", weight):
        return _WEIGHT.format(weight=queue.get("weight"), said=weight)
    for field in _NEVER:
        if at(manifest, "spec", field) not in (None, 0, {}, {"resource": {}}):
            return _NO.format(field=field)
    return None


def by_program(accounts: str) -> str:
    """CEL: whether the program writes, whose settings may be newer than those of the policy.

    `accounts` is CEL of those that its kubeconfig may have. The field manager tells its writes from
    what an administrator writes by hand; alone it would prove nothing, as anybody may say any.
    """
    user = "'User/' + request.userInfo.username"
    groups = "request.userInfo.?groups.orValue([])"
    return (
        f"(({user} in {accounts} || {groups}.exists(g, 'Group/' + g in {accounts})) && "
        "has(request.options) && "
        "dyn(request.options).?fieldManager.orValue('').startsWith('pulumi-kubernetes'))"
    )


def _bounded(field: str) -> str:
    said = f"dyn(object).?spec.?{field}[?'{GPU}']"
    number = f"{cel.amount(f'{said}.value()')}.asApproximateFloat()"
    absent = "true" if field == "capability" else "false"
    return _fault(
        f"!{said}.hasValue() ? {absent} : {number} > double(q.gpus)",
        cel.text(
            _MOST,
            gpus="string(q.gpus)",
            field=cel.literal(field),
            resource=cel.literal(GPU),
            said=f"({said}.hasValue() ? '%s'.format([{said}.value()]) : 'none')",
        ),
    )


def _fault(broken: str, says: str) -> str:
    return f"({broken}) ? ' ' + {says} : "


def _never(field: str) -> str:
    empty = "[dyn(null), dyn(0), dyn({}), dyn({'resource': {}})]"
    return _fault(
        f"!(dyn(object).?spec.?{field}.orValue(null) in {empty})",
        cel.text(_NO, field=cel.literal(field)),
    )


_HAS = "double(dyn(object).?spec.?weight.orValue(dyn(1)))"
_OTHER_WEIGHT = _fault(
    f"q.?weight.hasValue() && {_HAS} != double(q.weight)",
    cel.text(_WEIGHT, weight="string(q.weight)", said=f"string(int({_HAS}))"),
)
FAULT = f"{''.join(map(_bounded, _BOUNDED))}{_OTHER_WEIGHT}{''.join(map(_never, _NEVER))}''"
"""CEL: what is said of a Queue of which the settings are `q`."""
