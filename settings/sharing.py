"""How the GPUs of a pool may be shared: the combinations that do not work, each with its reason."""

from collections.abc import Iterator

from hardware.catalogue import Hardware
from hardware.mig import layout_fault
from settings.pools import AwsPool, BareMetalPool
from settings.types import Versions

_NO_TRAINING = {
    "mig": "MIG instances have neither NVLink nor CUDA IPC between them, so a job on several GPUs "
    "cannot train on them",
    "time-slicing": "two slices may be of one GPU and share its memory unprotected, so a job on "
    "several GPUs cannot count on any",
    "mps": "a client gets a share of one GPU, so a job on several GPUs cannot train on it",
}


def faults(
    path: str, pool: AwsPool | BareMetalPool, hardware: Hardware, versions: Versions | None
) -> Iterator[str]:
    """What is wrong with `sharing` and what goes with it, one sentence each."""
    yield from _fields(path, pool)
    if pool.sharing == "whole":
        return
    if isinstance(pool, AwsPool):
        yield (
            f'{path}.sharing is "{pool.sharing}"; allowed: whole, because Karpenter counts the '
            "GPUs that EC2 lists and would make a machine for each share of one."
        )
    elif pool.purpose == "training":
        yield (
            f'{path}.sharing is "{pool.sharing}"; allowed for purpose training: whole, because '
            f"{_NO_TRAINING[pool.sharing]}."
        )
    if pool.sharing == "mig" and pool.mig_layout is not None:
        fault = layout_fault(hardware.gpus[0].model, pool.mig_layout)
        if fault is not None:
            yield f"{path}.mig_layout cannot be made: {fault}."
    driver = versions.nvidia_driver if versions is not None else None
    if pool.sharing == "mig" and driver is not None and driver.startswith("535"):
        yield (
            f'{path}.sharing is "mig" and versions.nvidia_driver is "{driver}"; allowed: 550 or '
            "newer, because an older driver makes no MIG instances of an H200."
        )


def _fields(path: str, pool: AwsPool | BareMetalPool) -> Iterator[str]:
    """`mig_layout` goes with MIG alone, `replicas` with the two that hand a GPU out repeatedly."""
    if pool.sharing == "mig":
        if pool.mig_layout is None:
            yield (
                f"{path}.mig_layout is missing; allowed: a mapping from MIG profiles to their "
                "number on a GPU."
            )
        if pool.replicas is not None:
            yield (
                f"{path}.replicas is {pool.replicas}, but sharing is mig: MPS does not work on MIG "
                "instances, and a finer mig_layout shares better than time slices of them."
            )
        return
    if pool.mig_layout is not None:
        yield f"{path}.mig_layout is given, but sharing is {pool.sharing}; allowed: with mig alone."
    if pool.sharing == "whole" and pool.replicas is not None:
        yield (
            f"{path}.replicas is {pool.replicas}, but sharing is whole; allowed: with time-slicing "
            "or mps alone."
        )
    if pool.sharing != "whole" and pool.replicas is None:
        yield (
            f"{path}.replicas is missing; allowed: a whole number from 2 to 48, how often "
            f"{pool.sharing} hands out each GPU."
        )
