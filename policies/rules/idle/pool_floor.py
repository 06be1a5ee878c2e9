"""A GPU pool must not have machines without work, unless somebody says why and until when.

A floor is `replicas` of a NodePool, `minSize` of an EKS node group, or of an Auto Scaling group
that names GPU instances. The reason stands in `fleet.gpu/keep-warm-reason` and its last day in
`fleet.gpu/keep-warm-until`, as annotations or tags. CEL has no clock: only the preview checks
whether the last day is over.
"""

from policies.language import cel
from policies.language.annotations import day, is_day, is_over
from policies.language.cel_forms import Fault, of_object
from policies.language.gpu_node_pools import KINDS, VARIABLES
from policies.language.manifest import describe
from policies.language.rule import Manifest, Rule, Settings
from policies.language.warm_capacity import REASON, UNTIL, cel_said, floor, said

_NO_REASON = (
    f"must have no machines without work, or say why and until when by {REASON} and {UNTIL} "
    "(2027-01-31)."
)
_OVER = f"must have no machines without work: the last day of its reason, by {UNTIL}, was {{0}}."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the GPU pools that keep machines without a valid reason."""
    if not floor(manifest):
        return []
    declared = said(manifest)
    end = day(declared.get(UNTIL))
    if end is None or not declared.get(REASON):
        return [f"{describe(manifest)} {_NO_REASON}"]
    return [f"{describe(manifest)} {_OVER.format(end)}"] if is_over(end, settings) else []


RULE = Rule(
    id="idle/pool-floor",
    sentence="A GPU pool must not have machines without work, unless for a reason with a last day.",
    why="A floor of one machine of eight H200 costs a million USD in three years, used or not.",
    source="https://karpenter.sh/docs/concepts/nodepools/",
    predicate=violations,
    admission=of_object(
        KINDS,
        "variables.isGpuPool && object.spec.?replicas.orValue(0) > 0",
        [
            Fault(
                broken=(f"!{is_day(cel_said(UNTIL))} || {cel_said(REASON)}.orValue('') == ''"),
                says=cel.literal(_NO_REASON),
            )
        ],
        VARIABLES,
    ),
)
