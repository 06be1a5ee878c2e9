"""A gang must fit its queue, and a queue the pools that its jobs can run on.

A gang starts whole or not at all, so that one larger than its queue's capability, or than all the
machines of its pool, waits for ever; a queue larger than its pool promises what nobody can get.

- A gang is a Job of Volcano or a PodGroup. Its GPUs are those of its `minAvailable` smallest pods
  (all pods without it), or its `minResources`. Its queue is `spec.queue`, else the one with the
  name of its namespace.
- A queue's pool is what Volcano's admission configuration gives its namespace; a queue that has
  none may use all pools.
- A pool has the GPUs of its BareMetalHosts by the hardware catalogue, and those that the limits of
  its NodePools allow.

What the stack does not hold (a queue of another project, an unknown machine) is not judged.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import yaml

from policies.rules.gpu_work import counted
from policies.rules.idle_gpu_node_pool import is_gpu_node_pool
from policies.rules.manifest import at, describe, items, mapping, quantity
from policies.rules.money import POOL, machines
from policies.rules.pods import GPU, Pod, asked, pods
from policies.rules.rule import Manifest, Rule, Settings

_VOLCANO = "batch.volcano.sh/"
_SCHEDULING = "scheduling.volcano.sh/"
_RELEASE = "kubernetes:helm.sh/v3:Release"


def violations(manifest: Manifest, _settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Returns what makes a queue promise too much, or a gang wait for ever."""
    kind, version = manifest.get("kind"), str(manifest.get("apiVersion"))
    if kind == "Queue" and version.startswith(_SCHEDULING):
        return _queue(manifest, stack)
    if (kind == "Job" and version.startswith(_VOLCANO)) or (
        kind == "PodGroup" and version.startswith(_SCHEDULING)
    ):
        return _gang(manifest, stack)
    return []


def _queue(queue: Manifest, stack: Sequence[Manifest]) -> list[str]:
    most = _capability(queue)
    pool, room = _room(str(at(queue, "metadata", "name")), stack)
    if most is None or room is None or most <= room:
        return []
    must = f"must have at most the {room:f} GPUs of {pool} in spec.capability['{GPU}']"
    return [f"{describe(queue)} {must}; it has {most:f}."]


def _gang(gang: Manifest, stack: Sequence[Manifest]) -> list[str]:
    wanted = _gpus(gang)
    named = at(gang, "spec", "queue")
    name = str(at(gang, "metadata", "namespace") if named in (None, "default") else named)
    queue = next((each for each in stack if _is_queue(each, name)), None)
    if queue is None or wanted is None:
        return []
    pool, room = _room(name, stack)
    limits = [(f"queue '{name}'", _capability(queue)), (pool, room)]
    for of, most in limits:
        if most is not None and wanted > most:
            must = f"must be a gang of at most the {most:f} GPUs of {of}"
            return [f"{describe(gang)} {must}; it asks for {wanted:f} at once."]
    return []


def _is_queue(manifest: Manifest, name: str) -> bool:
    return (
        manifest.get("kind") == "Queue"
        and str(manifest.get("apiVersion")).startswith(_SCHEDULING)
        and at(manifest, "metadata", "name") == name
    )


def _capability(queue: Manifest) -> Decimal | None:
    return quantity(at(queue, "spec", "capability", GPU))


def _gpus(gang: Manifest) -> Decimal | None:
    """The GPUs without which a gang does not start, None where nobody can say."""
    if gang.get("kind") == "PodGroup":
        return quantity(at(gang, "spec", "minResources", GPU))
    sizes: list[Decimal] = []
    for task, pod in zip(items(at(gang, "spec", "tasks")), pods(gang), strict=True):
        size = _size(pod)
        if size is None:
            return None
        sizes += [size] * (counted(mapping(task).get("replicas", 1)) or 0)
    members = counted(at(gang, "spec", "minAvailable")) or len(sizes)
    return sum(sorted(sizes)[:members], Decimal(0))


def _size(pod: Pod) -> Decimal | None:
    amounts = [asked(container, GPU) for container in pod.containers]
    found = [quantity(0 if amount is None else amount) for amount in amounts]
    return None if None in found else sum((each for each in found if each), Decimal(0))


def _room(queue: str, stack: Sequence[Manifest]) -> tuple[str, Decimal | None]:
    """What a queue's jobs can run on: in words, and its GPUs; None where the stack has none."""
    pool = _pools(stack).get(queue)
    gpus = [
        found for found in map(_gpus_of, stack) if found is not None and pool in (None, found[0])
    ]
    of = "all pools" if pool is None else f"pool '{pool}'"
    return of, sum((amount for _, amount in gpus), Decimal(0)) if gpus else None


def _gpus_of(manifest: Manifest) -> tuple[str, Decimal] | None:
    """A pool's name and the GPUs that a resource adds to it."""
    if manifest.get("kind") == "BareMetalHost":
        found = machines(manifest)
        return None if found is None else (found.pool, Decimal(found.hardware.gpu_count))
    if not is_gpu_node_pool(manifest):
        return None
    pool = at(manifest, "spec", "template", "metadata", "labels", POOL)
    limit = quantity(at(manifest, "spec", "limits", GPU))
    return None if pool is None or limit is None else (str(pool), limit)


def _pools(stack: Iterable[Manifest]) -> Mapping[str, str]:
    """The pool of each namespace, from the configuration that Volcano's chart is given."""
    found = {}
    for release in stack:
        if release.get("kind") == _RELEASE and at(release, "spec", "chart") == "volcano":
            custom = at(release, "spec", "values", "custom")
            text = at(custom, "admission_config_override")
            groups = items(at(yaml.safe_load(str(text)), "resourceGroups")) if text else ()
            for group in groups:
                for namespace in items(at(group, "object", "value")):
                    found[str(namespace)] = str(at(group, "labels", POOL))
    return found


RULE = Rule(
    id="idle/gang-fits",
    sentence="A gang must fit its queue, and a queue the machines of its pool.",
    why=(
        "A gang that can never start waits without a word, and what it was promised stands empty "
        "or is never rented."
    ),
    source="https://volcano.sh/en/docs/queue/",
    across=violations,
)
