"""The API server's rules for jobs in a queue's namespace: their own queue, and whole gangs.

Of a gang for which some of the idle machines suffice, Volcano calls as many pods schedulable and
the others not; Karpenter looks at the others alone, finds that they fit the same idle machines and
makes none, for ever. A gang with hard network topology is tried only where it fits whole, so that
all of its pods wait alike, and Karpenter makes what is missing in one round.

The MPI and training operators cannot say that of the PodGroups that they make. Their groups are
taken without it, and may wait while a part of them fits idle machines of the pool.

Which node a pod gets there is the schedulers' word alone: whoever may bind pods would pass queue,
taints and NUMA by a request of his own.
"""

from collections.abc import Collection, Mapping, Sequence

import pulumi
from pulumi_kubernetes.admissionregistration.v1 import (
    MatchConditionArgs,
    MatchResourcesArgs,
    NamedRuleWithOperationsArgs,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicyBindingSpecArgs,
    ValidatingAdmissionPolicySpecArgs,
    ValidationArgs,
)
from pulumi_kubernetes.meta.v1 import (
    LabelSelectorArgs,
    LabelSelectorRequirementArgs,
    ObjectMetaArgs,
)

from components.platform.pool_domains import TIER
from components.platform.volcano import NODE_POOL_LABEL
from policies.rules.idle.own_queue import cel_says
from settings.names import POOL_LABEL, PREFIX, VOLCANO_NAMESPACE
from settings.types import Queue

NAME, PODS_NAME, BINDINGS_NAME = "fleet-queues", "fleet-queue-pods", "fleet-queue-bindings"
SPANNING_NAME = "fleet-queue-pools"
# any resource of NVIDIA's: whole GPUs, parts of them, and GPUs under other names
HAS_GPUS = (
    "(object.spec.containers + object.spec.?initContainers.orValue([])).exists(c,"
    " c.?resources.?limits.orValue({}).exists(k, k.startsWith('nvidia.com/'))"
    " || c.?resources.?requests.orValue({}).exists(k, k.startsWith('nvidia.com/')))"
)
_SCHEDULERS = (
    "system:kube-scheduler",
    f"system:serviceaccount:{VOLCANO_NAMESPACE}:volcano-scheduler",
)
# the API server asks these masters for no right either, and the rehearsal's scheduler is one
BY_SCHEDULER = (
    f"request.userInfo.username in {list(_SCHEDULERS)}"
    " || 'system:masters' in request.userInfo.?groups.orValue([])"
)
OF_A_TEAM = LabelSelectorRequirementArgs(key=f"{PREFIX}/team", operator="Exists")
_QUEUE = "{}.spec.?queue.orValue('default')"
# Volcano's webhook gives a new PodGroup of the queue `default` that of the namespace, and looks at
# none later (v1.14.1, podgroups/mutate): one that went back to `default` would be in no bound
OWN_QUEUE = (
    f"{_QUEUE.format('object')} == namespaceObject.metadata.name"
    f" || ({_QUEUE.format('object')} == 'default'"
    f" && (oldObject == null || {_QUEUE.format('dyn(oldObject)')} == 'default'))"
)
CHANGED = "oldObject == null || dyn(object).spec != dyn(oldObject).spec"
# a Volcano Job has the one, a PodGroup the other, and `dyn` keeps the API server from asking for
# both; Volcano's webhook has filled in a Job's
MEMBERS = "dyn(object).spec.?minAvailable.orValue(dyn(object).spec.?minMember.orValue(1))"
WHOLE = (
    "object.spec.?networkTopology.mode.orValue('') == 'hard'"
    f" && object.spec.networkTopology.?highestTierAllowed.orValue(0) == {TIER}"
)

# a PodGroup of another controller has no policies: what restarts it is that controller's own
RESTARTS = (
    "!has(dyn(object).spec.tasks) || dyn(object).spec.?policies.orValue([]).exists(p,"
    " p.?action.orValue('') == 'RestartJob'"
    " && ([p.?event.orValue('')] + p.?events.orValue([])).exists(e, e in ['PodEvicted', '*']))"
)


def queue_rules(
    name: str,
    queues: Mapping[str, Queue],
    rented: Collection[str],
    operators: Collection[str],
    opts: pulumi.ResourceOptions,
) -> None:
    """Register the policies for the queues.

    `operators` are the user names of controllers that make PodGroups and know no topology.
    """
    of_pools = {key: each.pool for key, each in queues.items() if not each.pools}
    spans = {key: each.pools for key, each in queues.items() if each.pools}
    ValidatingAdmissionPolicy(
        f"{name}-rules",
        metadata=ObjectMetaArgs(name=NAME),
        spec=ValidatingAdmissionPolicySpecArgs(
            failure_policy="Fail",
            match_constraints=MatchResourcesArgs(
                namespace_selector=LabelSelectorArgs(match_expressions=[OF_A_TEAM]),
                resource_rules=[
                    _written("batch.volcano.sh", "v1alpha1", "jobs"),
                    _written("scheduling.volcano.sh", "v1beta1", "podgroups"),
                ],
            ),
            match_conditions=[MatchConditionArgs(name="changed", expression=CHANGED)],
            validations=[
                ValidationArgs(
                    expression=OWN_QUEUE,
                    message_expression=cel_says(
                        "namespaceObject.metadata.name", _QUEUE.format("object")
                    ),
                ),
                *_gangs(of_pools, rented, operators),
                *_spanning(spans),
            ],
        ),
        opts=opts,
    )
    _bind(f"{name}-rules-bound", NAME, opts)
    _hold_pods(
        f"{name}-pods",
        PODS_NAME,
        ["pods"],
        ValidationArgs(
            expression=f"!{HAS_GPUS} || object.spec.schedulerName == 'volcano'",
            message="a pod with GPUs in the namespace of a queue must be scheduled by "
            "Volcano; its webhook, which gives pods that name, has not seen this one",
        ),
        opts,
    )
    if spans:
        _hold_pods(f"{name}-spanning", SPANNING_NAME, ["pods"], _unseen(spans), opts)
    _hold_pods(
        f"{name}-bindings",
        BINDINGS_NAME,
        ["pods/binding", "bindings"],
        ValidationArgs(
            expression=BY_SCHEDULER,
            message="a pod in the namespace of a queue must be bound to its node by a scheduler",
        ),
        opts,
    )


def _hold_pods(
    name: str,
    called: str,
    resources: list[str],
    validation: ValidationArgs,
    opts: pulumi.ResourceOptions,
) -> None:
    """Register a policy for what is made of pods in the namespaces of queues."""
    written = [_written("", "v1", resource, ["CREATE"]) for resource in resources]
    ValidatingAdmissionPolicy(
        name,
        metadata=ObjectMetaArgs(name=called),
        spec=ValidatingAdmissionPolicySpecArgs(
            failure_policy="Fail",
            match_constraints=MatchResourcesArgs(
                namespace_selector=LabelSelectorArgs(match_expressions=[OF_A_TEAM]),
                resource_rules=written,
            ),
            validations=[validation],
        ),
        opts=opts,
    )
    _bind(f"{name}-bound", called, opts)


def _bind(name: str, policy: str, opts: pulumi.ResourceOptions) -> None:
    ValidatingAdmissionPolicyBinding(
        name,
        metadata=ObjectMetaArgs(name=policy),
        spec=ValidatingAdmissionPolicyBindingSpecArgs(
            policy_name=policy, validation_actions=["Deny"]
        ),
        opts=opts,
    )


def _gangs(
    queues: Mapping[str, str | None], rented: Collection[str], operators: Collection[str]
) -> list[ValidationArgs]:
    """Returns the rules for gangs that wait for Karpenter; none where no pool is rented."""
    if not rented:
        return []
    bursting = sorted(queue for queue, pool in queues.items() if pool in rented)
    anywhere = sorted(queue for queue, pool in queues.items() if pool is None)
    return [
        ValidationArgs(
            expression=f"{_outside(bursting)} || {MEMBERS} <= 1 || ({WHOLE}) "
            f"|| {_of_operator(operators)}",
            message="a gang on rented machines must have networkTopology: {mode: hard, "
            f"highestTierAllowed: {TIER}}}; else it waits for ever where a part of it fits",
        ),
        ValidationArgs(
            # Volcano asks for room once, when no pod of the gang has a machine: the rest of one
            # that lost a part would wait for ever, and hold the machines that it has
            expression=f"{_outside(bursting)} || {MEMBERS} <= 1 || {RESTARTS}",
            message="a gang on rented machines must have policies: [{event: PodEvicted, action: "
            "RestartJob}]; else what is left of it after an interruption waits and pays",
        ),
        ValidationArgs(
            expression=f"{_outside(anywhere)} || {MEMBERS} <= 1",
            message="a gang must be in a queue that has a pool: spread over owned and rented "
            "machines it waits for ever where a part of it fits",
        ),
    ]


def _spanning(spans: Mapping[str, Sequence[str]]) -> list[ValidationArgs]:
    """Returns the rule for gangs of queues with several pools."""
    several = sorted(queue for queue, pools in spans.items() if len(pools) > 1)
    if not several:
        return []
    mode = "dyn(object).spec.?networkTopology.?mode.orValue('')"
    return [
        ValidationArgs(
            expression=f"{_outside(several)} || {mode} != 'hard'",
            message="a gang in a queue with several pools must not have networkTopology of mode "
            "hard: its machines may come from each of them",
        )
    ]


def _unseen(spans: Mapping[str, Sequence[str]]) -> ValidationArgs:
    """Returns the rule for pods of such queues: fleet-gang-buffer alone asks for their machines."""
    pools = {queue: list(each) for queue, each in sorted(spans.items())}
    terms = (
        "object.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution"
        ".?nodeSelectorTerms.orValue([])"
    )
    of_pool = (
        f"t.?matchExpressions.orValue([]).exists(e, e.key == '{POOL_LABEL}' && e.operator == 'In' "
        f"&& e.?values.orValue([]).all(v, v in {pools}[namespaceObject.metadata.name]))"
    )
    unseen = (
        f"{terms}[0].?matchExpressions.orValue([]).exists(e, e.key == '{NODE_POOL_LABEL}' "
        "&& e.operator == 'DoesNotExist')"
    )
    return ValidationArgs(
        expression=f"{_outside(sorted(spans))} || !{HAS_GPUS} || (size({terms}) > 0 && {unseen} "
        f"&& {terms}.all(t, {of_pool}))",
        message="a pod with GPUs in a queue with `pools` must have no affinity of its own: it gets "
        "that of the queue, by which fleet-gang-buffer alone rents machines for it",
    )


def _of_operator(operators: Collection[str]) -> str:
    """CEL: whether an operator makes the group, names its queue and says what it asks for.

    The MPI and training operators cannot set a network topology and write their own view of a group
    again and again, so that nobody else can either. The name in the request is the API server's
    word, not the object's.
    """
    return (
        f"(object.kind == 'PodGroup' && request.userInfo.username in {sorted(operators)} && "
        f"{_QUEUE.format('object')} == namespaceObject.metadata.name && "
        "size(dyn(object).spec.?minResources.orValue({})) > 0)"
    )


def _outside(queues: list[str]) -> str:
    return f"!(namespaceObject.metadata.name in {queues})"


def _written(
    group: str, version: str, resource: str, operations: Sequence[str] = ("CREATE", "UPDATE")
) -> NamedRuleWithOperationsArgs:
    return NamedRuleWithOperationsArgs(
        api_groups=[group],
        api_versions=[version],
        operations=list(operations),
        resources=[resource],
    )
