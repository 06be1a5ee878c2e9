"""A pod must ask only for MIG profiles that its pool has.

`nvidia.com/mig-1g.18gb` exists only where a pool's layout cuts its GPUs so; elsewhere the pod stays
pending for good. A profile with media engines, `1g.18gb+me`, is called `mig-1g.18gb.me` as a
resource. A pod that selects no pool may run on any that has the profiles.
"""

from policies.language import cel
from policies.language.cel_forms import of_pods
from policies.language.facts import Pool
from policies.language.manifest import mapping
from policies.language.pods import Pod, pods, subject
from policies.language.pool_table import cel_no_pool_fits, open_to, selected, with_pools
from policies.language.rule import Manifest, Rule, Settings

_MIG = "nvidia.com/mig-"
_NONE = "no MIG instance on pool '{name}'"
_SOME = "MIG instances on pool '{name}' of its profiles {profiles} alone"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the pods that ask for MIG profiles which their pool does not have."""
    faults = [(pod, _fault(pod, settings)) for pod in pods(manifest)]
    return [f"{subject(manifest, pod)} {fault}" for pod, fault in faults if fault]


def _fault(pod: Pod, settings: Settings) -> str | None:
    wanted = set(_wanted(pod))
    concerned = [pool for pool in open_to(settings, selected(pod)) if wanted and pool["gpus"]]
    if not concerned or any(wanted <= set(pool["mig_profiles"]) for pool in concerned):
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


def _offer(pool: Pool) -> str:
    if not pool["mig_profiles"]:
        return _NONE.format(name=pool["name"])
    return _SOME.format(name=pool["name"], profiles=" ".join(pool["mig_profiles"]))


_PROFILE = f"k.replace('{_MIG}', '').replace('.me', '+me')"
_HAS = f"{cel.RESOURCES}.all(r, r.all(k, !k.startsWith('{_MIG}') || {_PROFILE} in e.mig_profiles))"
_ASKS = f"{cel.RESOURCES}.exists(r, r.exists(k, k.startsWith('{_MIG}')))"
_OFFERS = f"size(e.mig_profiles) == 0 ? {cel.text(_NONE, name='e.name')} : " + cel.text(
    _SOME, name="e.name", profiles="e.mig_profiles.join(' ')"
)

RULE = Rule(
    id="numa/mig-profile",
    sentence="A pod must ask only for MIG profiles that its pool has.",
    why=(
        "An instance that no GPU of the pool is cut into is never there, so the pod stays pending "
        "for good and its queue counts what it asked for."
    ),
    source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
    predicate=violations,
    admission=of_pods(
        with_pools(f"variables.pods.filter(p, p.containers.exists(c, {_ASKS}))", "e.gpus > 0"),
        [cel_no_pool_fits(f"p.containers.all(c, {_HAS})", _OFFERS)],
    ),
)
