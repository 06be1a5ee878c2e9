"""Facts of an environment, as rules are told them in tests."""

from policies.language.facts import KEY, Facts, Pool, Queue, Shape

SHAPE: Shape = {
    "gpus": 8,
    "cpus": 216,
    "cpus_in_multiples_of": 2,
    "memory_mib": 2083840,
    "hugepages_1gi_mib": 0,
    "hugepages_2mi_mib": 0,
}


def pool(name: str = "dgx", **known: object) -> Pool:
    """A pool of eight GPUs of which nothing else is known; `known` replaces what it names."""
    found = {
        "name": name,
        "purpose": "training",
        "gpus": 8,
        "exclusive": False,
        "shares_gpus": False,
        "spot": False,
        "rdma": "",
        "rdma_on_host": False,
        "hugepages_1gi_mib": 0,
        "hugepages_2mi_mib": 0,
        "shapes": [],
        "mig_profiles": [],
    }
    return {**found, **known}  # type: ignore[typeddict-item]  # keys by name


def shape(**offers: int) -> Shape:
    """The largest pod of a DGX; `offers` replace what they name."""
    return {**SHAPE, **offers}  # type: ignore[typeddict-item]  # keys by name


def of(*pools: Pool) -> Facts:
    """An environment with these pools and no queues."""
    return {"pools": pools, "queues": []}


def queues(**gpus: int) -> dict[str, Facts]:
    """The settings of a rule in an environment that has no pools and these queues."""
    found = [Queue(name=name, gpus=most) for name, most in gpus.items()]
    return {KEY: {"pools": [], "queues": found}}
