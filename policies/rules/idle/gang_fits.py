"""A gang must fit its queue, and a queue the pools that its jobs can run on.

A gang starts whole or not at all, so that one larger than its queue's capability, or than all the
machines of its pool, waits for ever; a queue larger than its pool promises what nobody can get.

- A gang is a Job of Volcano or a PodGroup. Its GPUs are those of its `minAvailable` smallest pods
  (without it the `minAvailable` of its tasks, and all pods without that), or its `minResources`.
  Its queue is `spec.queue`, else the one with the name of its namespace. A PodGroup of several
  pods without `minResources` is refused: Volcano counts it as nothing when it lets it in.
- A training job of Kubeflow is a gang of all its replicas, or of what `minAvailable` says in
  `spec.runPolicy.schedulingPolicy`, where its queue stands, too; with `minResources` there it
  needs those GPUs at the least. The training operator writes this into a PodGroup of Volcano and
  makes no pod before that one may start, whatever `schedulerName` and `elasticPolicy` say
  (https://github.com/kubeflow/training-operator/blob/v1.9.0/pkg/controller.v1/common/job.go).
  An operator without gang scheduling makes no PodGroup, which a job does not show; the job is held
  to the same, as its ranks wait for each other and a queue's namespace has that queue's GPUs.
- A queue's pool is what Volcano's admission configuration gives its namespace; a queue that has
  none may use all pools.
- A queue of the environment stays within its settings, whoever writes it. Teams may not write
  queues; who may is an administrator, and a bound that was moved by hand is the next update's to
  move back. The program itself, by its account and its field manager, moves queue and rule in one
  update.
- A pool has the GPUs of its BareMetalHosts by the hardware catalogue, and those that the limits of
  its NodePools allow.

What the stack does not hold (another project's queue, an unknown machine) is not judged. A gang
that is judged alone, as at the API server, counts without its largest pods.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import yaml

from policies.language import cel
from policies.language.gangs import (
    KINDS,
    UNSIZED,
    VARIABLES,
    gpus,
    is_gang,
    least,
    queue_of,
    unsized,
)
from policies.language.gpu_node_pools import is_gpu_node_pool
from policies.language.inventory import machines
from policies.language.manifest import at, describe, items, quantity
from policies.language.pool_table import facts
from policies.language.queue_bounds import (
    FAULT,
    beyond_settings,
    by_program,
    is_volcano_queue,
)
from policies.language.rule import Admission, Manifest, Rule, Settings
from policies.language.stack import of_kinds
from settings.names import GPU, POOL_LABEL, RELEASE

ID = "idle/gang-fits"
_UNSIZED = (
    "must have spec.minResources['nvidia.com/gpu'] for its {pods} pods, or resources without GPUs; "
    "Volcano lets a group without them in, whatever room its queue has."
)
_SAYS_UNSIZED = cel.text(_UNSIZED, pods="string(object.spec.minMember)")


def alone(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what makes a gang wait for ever, or a queue of the environment more than it is."""
    known = {queue["name"]: queue for queue in facts(settings)["queues"]}
    if is_volcano_queue(manifest):
        queue = known.get(str(at(manifest, "metadata", "name")))
        fault = None if queue is None else beyond_settings(manifest, queue)
        return [] if fault is None else [f"{describe(manifest)} {fault}"]
    if not is_gang(manifest) or queue_of(manifest) not in known:
        return []
    queue, many, wanted = known[queue_of(manifest)], unsized(manifest), least(manifest)
    if many is not None:
        return [f"{describe(manifest)} {_UNSIZED.format(pods=many)}"]
    if wanted is None or wanted <= queue["gpus"]:
        return []
    return [_too_large(manifest, str(queue["gpus"]), f"queue '{queue['name']}'", wanted)]


def violations(manifest: Manifest, _settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Returns what makes a queue promise too much, or a gang wait for ever."""
    if is_volcano_queue(manifest):
        return _queue(manifest, stack)
    return _gang(manifest, stack) if is_gang(manifest) else []


def _too_large(gang: Manifest, most: str, of: str, wanted: Decimal) -> str:
    must = f"must be a gang of at most the {most} GPUs of {of}"
    return f"{describe(gang)} {must}; it asks for {wanted:f} at once."


def _queue(queue: Manifest, stack: Sequence[Manifest]) -> list[str]:
    most = _capability(queue)
    pool, room = _room(str(at(queue, "metadata", "name")), stack)
    if most is None or room is None or most <= room:
        return []
    must = f"must have at most the {room:f} GPUs of {pool} in spec.capability['{GPU}']"
    return [f"{describe(queue)} {must}; it has {most:f}."]


def _gang(gang: Manifest, stack: Sequence[Manifest]) -> list[str]:
    wanted, name = gpus(gang), queue_of(gang)
    queue = next((each for each in of_kinds(stack, "Queue") if _is_queue(each, name)), None)
    if queue is None or wanted is None:
        return []
    pool, room = _room(name, stack)
    limits = [(f"queue '{name}'", _capability(queue)), (pool, room)]
    for of, most in limits:
        if most is not None and wanted > most:
            return [_too_large(gang, f"{most:f}", of, wanted)]
    return []


def _is_queue(manifest: Manifest, name: str) -> bool:
    return is_volcano_queue(manifest) and at(manifest, "metadata", "name") == name


def _capability(queue: Manifest) -> Decimal | None:
    return quantity(at(queue, "spec", "capability", GPU))


def _room(queue: str, stack: Sequence[Manifest]) -> tuple[str, Decimal | None]:
    """What a queue's jobs can run on: in words, and its GPUs; None where the stack has none."""
    pool = _pools(stack).get(queue)
    added = map(_gpus_of, of_kinds(stack, "BareMetalHost", "NodePool"))
    gpus = [found for found in added if found is not None and pool in (None, found[0])]
    of = "all pools" if pool is None else f"pool '{pool}'"
    return of, sum((amount for _, amount in gpus), Decimal(0)) if gpus else None


def _gpus_of(manifest: Manifest) -> tuple[str, Decimal] | None:
    """A pool's name and the GPUs that a resource adds to it."""
    if manifest.get("kind") == "BareMetalHost":
        found = machines(manifest)
        return None if found is None else (found.pool, Decimal(found.hardware.gpu_count))
    if not is_gpu_node_pool(manifest):
        return None
    pool = at(manifest, "spec", "template", "metadata", "labels", POOL_LABEL)
    limit = quantity(at(manifest, "spec", "limits", GPU))
    return None if pool is None or limit is None else (str(pool), limit)


def _pools(stack: Sequence[Manifest]) -> Mapping[str, str]:
    """The pool of each namespace, from the configuration that Volcano's chart is given."""
    found = {}
    for release in of_kinds(stack, RELEASE):
        if at(release, "spec", "chart") == "volcano":
            custom = at(release, "spec", "values", "custom")
            text = at(custom, "admission_config_override")
            groups = items(at(yaml.safe_load(str(text)), "resourceGroups")) if text else ()
            for group in groups:
                pool = at(group, "labels", POOL_LABEL)
                spaces = () if pool is None else items(at(group, "object", "value"))
                found.update({str(namespace): str(pool) for namespace in spaces})
    return found


_BY_PROGRAM = by_program(cel.setting(ID, "program"))
RULE = Rule(
    id=ID,
    sentence="A gang must fit its queue, and a queue the machines of its pool.",
    why=(
        "A gang that can never start waits without a word, and what it was promised stands empty "
        "or is never rented."
    ),
    source="https://volcano.sh/en/docs/queue/",
    schema={
        "program": {
            "type": "array",
            "items": {"type": "string", "pattern": "^(User|Group)/.+$"},
            "default": ["Group/kubeadm:cluster-admins", "Group/system:masters"],
            "description": "Users and groups of the program's kubeconfig, who may change queues.",
        }
    },
    predicate=alone,
    across=violations,
    admission=Admission(
        kinds=(*KINDS, ("scheduling.volcano.sh", "queues")),
        shared=VARIABLES,
        variables={
            "named_queue": "object.kind == 'Queue' ? object.metadata.name : variables.queue",
            "bound": "variables.queues.filter(q, q.name == variables.named_queue)",
        },
        fault=(
            "size(variables.bound) == 0 ? '' : "
            f"object.kind == 'Queue' ? ({_BY_PROGRAM} ? '' : variables.bound.map(q, {FAULT})[0])"
            f" : {UNSIZED} ? ' ' + {_SAYS_UNSIZED} : "
            "variables.wanted <= double(variables.bound[0].gpus) ? '' : "
            + cel.text(
                " must be a gang of at most the {most} GPUs of queue '{queue}'; it asks for "
                "{wanted} at once.",
                most="string(variables.bound[0].gpus)",
                queue="variables.queue",
                wanted="string(int(variables.wanted))",
            )
        ),
    ),
)
