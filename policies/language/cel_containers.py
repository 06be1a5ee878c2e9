"""The CEL form of rules on every container of a pod, also those put into one that runs."""

from collections.abc import Sequence

from policies.language.cel import PODS, Fault, told_of
from policies.language.pods import KINDS
from policies.language.rule import Admission

EVERY = "(p.containers + p.spec.?ephemeralContainers.orValue([]))"
"""The containers of a pod `p`."""


def of_every_container(pods: str, faults: Sequence[Fault]) -> Admission:
    """Each container of the pods (a CEL list over `variables`) must have none of the faults.

    Like `cel.of_containers`, with the ephemeral ones.
    """
    broken = " || ".join(f"({fault.broken})" for fault in faults)
    says = " : ".join([*(f"{each.broken} ? {each.says}" for each in faults[:-1]), faults[-1].says])
    return Admission(
        kinds=KINDS,
        variables={
            **PODS,
            "broken": f"({pods}).filter(p, {EVERY}.exists(c, {broken}))",
            "container": f"variables.broken.map(p, {EVERY}.filter(c, {broken})[0])[0]",
            "fault": f"[variables.container].map(c, {says})[0]",
        },
        holds="size(variables.broken) == 0",
        message=(
            f'{told_of("variables.broken[0]")} + ": container \'" + '
            "variables.container.?name.orValue('') + \"' \" + variables.fault"
        ),
    )
