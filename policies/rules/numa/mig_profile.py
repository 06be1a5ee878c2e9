"""A pod must ask only for MIG profiles that its pool has.

`nvidia.com/mig-1g.18gb` exists only where a pool's layout cuts its GPUs so; elsewhere the pod stays
pending for good. A profile with media engines, `1g.18gb+me`, is called `mig-1g.18gb.me` as a
resource. A pod that selects no pool may run on any that has the profiles.
"""

from collections.abc import Sequence

from policies.language import cel
from policies.language.manifest import mapping
from policies.language.pods import Pod, pods, subject
from policies.language.pool_table import POOL, cel_lines, lines, schema, selected
from policies.language.rule import Manifest, Rule, Settings

_ID = "numa/mig-profile"
_MIG = "nvidia.com/mig-"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the pods that ask for MIG profiles which their pool does not have."""
    faults = [(pod, _fault(pod, settings)) for pod in pods(manifest)]
    return [f"{subject(manifest, pod)} {fault}" for pod, fault in faults if fault]


def _fault(pod: Pod, settings: Settings) -> str | None:
    wanted = set(_wanted(pod))
    concerned = lines(settings, selected(pod)) if wanted else []
    if not concerned or any(wanted <= set(line[1:]) for line in concerned):
        return None
    return f"must ask for {' or '.join(map(_offer, concerned))}."


def _wanted(pod: Pod) -> list[str]:
    resources = [mapping(each.get("resources")) for each in pod.containers]
    named = [
        name
        for each in resources
        for part in ("limits", "requests")
        for name in mapping(each.get(part))
    ]
    return [
        name.removeprefix(_MIG).replace(".me", "+me") for name in named if name.startswith(_MIG)
    ]


def _offer(line: Sequence[str]) -> str:
    if len(line) == 1:
        return f"no MIG instance on pool '{line[0]}'"
    return f"MIG instances on pool '{line[0]}' of its profiles {' '.join(line[1:])} alone"


_SELECTED = f"p.spec.?nodeSelector[?'{POOL}'].orValue('')"
_CONCERNED = f"variables.lines.filter(e, {_SELECTED} == '' || e[0] == {_SELECTED})"
_PROFILE = f"k.replace('{_MIG}', '').replace('.me', '+me')"
_HAS = f"{cel.RESOURCES}.all(r, r.all(k, !k.startsWith('{_MIG}') || {_PROFILE} in e))"
_ASKS = f"{cel.RESOURCES}.exists(r, r.exists(k, k.startsWith('{_MIG}')))"
_OFFERS = (
    'size(e) == 1 ? "no MIG instance on pool \'" + e[0] + "\'" : '
    '"MIG instances on pool \'" + e[0] + "\' of its profiles " + '
    "e.filter(s, s != e[0]).join(' ') + ' alone'"
)

RULE = Rule(
    id=_ID,
    sentence="A pod must ask only for MIG profiles that its pool has.",
    why=(
        "An instance that no GPU of the pool is cut into is never there, so the pod stays pending "
        "for good and its queue counts what it asked for."
    ),
    source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
    schema=schema(
        "( [0-9a-z.+-]+)*",
        "Of each pool with GPUs its name, then the MIG profiles that its GPUs are cut into.",
    ),
    predicate=violations,
    admission=cel.of_pods(
        f"variables.pods.filter(p, p.containers.exists(c, {_ASKS}))",
        [
            cel.Fault(
                broken=f"(size({_CONCERNED}) > 0 && "
                f"!{_CONCERNED}.exists(e, p.containers.all(c, {_HAS})))",
                says=f"'must ask for ' + {_CONCERNED}.map(e, {_OFFERS}).join(' or ') + '.'",
            )
        ],
        variables={"lines": cel_lines(_ID)},
    ),
)
