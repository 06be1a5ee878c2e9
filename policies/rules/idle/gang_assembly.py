"""A GPU NodePool of a training pool must keep an empty node until the gang is complete.

The machines of a gang do not come at the same minute. With hard network topology no pod of it
starts before all are there, so that the first machines stand empty: consolidation that is quicker
than the last machine takes the first away again, and the gang never starts. A NodePool is one of a
training pool by the label `fleet.gpu/purpose` of its nodes. Without `disruption` Karpenter
consolidates at once.
"""

from typing import cast

from policies.language import cel
from policies.language.cel_forms import Fault, of_object
from policies.language.gpu_node_pools import KINDS, VARIABLES, consolidate_after, is_gpu_node_pool
from policies.language.manifest import at, describe, seconds
from policies.language.rule import Manifest, Rule, Settings
from settings.names import PURPOSE_LABEL

ID = "idle/gang-assembly"
_MUST = "must have spec.disruption.consolidateAfter of at least {minutes}m."
_PURPOSE = ("spec", "template", "metadata", "labels", PURPOSE_LABEL)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what takes the machines of a gang away before the last one is there."""
    if not is_gpu_node_pool(manifest) or at(manifest, *_PURPOSE) != "training":
        return []
    minutes = cast("int", settings["assembly_minutes"])
    after = consolidate_after(manifest)
    length = seconds(after)
    if after == "Never" or (length is not None and length >= minutes * 60):
        return []
    return [f"{describe(manifest)} {_MUST.format(minutes=minutes)}"]


def keys(_manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns the keys with the two times that do not fit."""
    return ["pools.{pool}.consolidate_after_minutes", f"policies.{ID}.assembly_minutes"]


_MINUTES = f"string({cel.setting(ID, 'assembly_minutes')})"
_TRAINING = f"variables.labels[?'{PURPOSE_LABEL}'].orValue('') == 'training'"

RULE = Rule(
    id=ID,
    sentence=(
        "A GPU NodePool for training must not consolidate before the last machine of a gang is "
        "there."
    ),
    why=(
        "The first machines of a gang stand empty until the last has booted; where they are taken "
        "away meanwhile, the gang is never complete and machines come and go without work."
    ),
    source="https://karpenter.sh/docs/concepts/disruption/",
    schema={
        "assembly_minutes": {
            "type": "integer",
            "minimum": 0,
            "maximum": 240,
            "default": 5,
            "description": "Minutes from the first machine of a gang to the last.",
        }
    },
    predicate=violations,
    keys=keys,
    admission=of_object(
        KINDS,
        f"variables.isGpuPool && {_TRAINING}",
        [
            Fault(
                broken=(
                    "variables.after != 'Never' && "
                    f"duration(variables.after) < duration({_MINUTES} + 'm')"
                ),
                says=cel.text(_MUST, minutes=_MINUTES),
            )
        ],
        VARIABLES,
    ),
)
