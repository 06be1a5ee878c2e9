"""What the machines of a pool are to run: image and plan, by the environment's stack file."""

from collections.abc import Mapping
from dataclasses import dataclass

from hardware.catalogue import Hardware
from settings import BareMetalPoolSettings, Settings
from settings.names import METAL3_PREFIX
from settings.resolved import ResolvedPool


class ReinstallError(RuntimeError):
    """A machine cannot be reinstalled; the text is a sentence with what to do."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """The state of the machines of one pool after their reinstallation."""

    environment: str
    pool: str
    namespace: str
    """Of the pool's hosts and Secrets."""
    image: Mapping[str, str]
    """As `spec.image` of a BareMetalHost."""
    plan: str
    """The value of the label fleet.gpu/numa-plan."""
    hardware: Hardware
    not_measured: str | None
    """Why workloads/acceptance cannot measure the machines; None where it does."""
    machines: Mapping[str, str]
    """The machines that stay in the pool: their BMC addresses by name."""

    @property
    def command(self) -> str:
        """The command that goes on."""
        return f"fleet reinstall {self.environment} {self.pool}"


def target_of(settings: Settings, pool: str) -> Target:
    """Return the target of a pool, by its name in the stack file.

    Raises ReinstallError for a pool without machines of one's own.
    """
    pools = {each.title: each for each in settings.pools.values()}
    found = pools.get(pool)
    if found is None or not isinstance(found.declared, BareMetalPoolSettings):
        kinds = {name: each.declared.kind for name, each in pools.items()}
        fitting = [name for name, kind in kinds.items() if kind == "bare-metal"]
        raise ReinstallError(
            f'"{pool}" is not a pool of bare-metal machines of {settings.environment}; allowed: '
            f"{', '.join(fitting) or 'there is none'}."
        )
    image = found.declared.image
    return Target(
        environment=settings.environment,
        pool=pool,
        namespace=f"{METAL3_PREFIX}{found.name}",
        image={
            "url": image.url,
            "checksum": image.sha512,
            "checksumType": "sha512",
            "format": image.format,
        },
        plan=found.plan.digest,
        hardware=found.hardware,
        not_measured=_not_measured(found),
        machines={
            each.name: each.bmc_address for each in found.declared.machines if not each.leaving
        },
    )


def _not_measured(pool: ResolvedPool) -> str | None:
    """Return why the measurements, which take all GPUs of a machine whole, would never begin."""
    if pool.sharing is None:
        return f"{pool.hardware.name} has no GPU"
    if pool.sharing.mode != "whole":
        return f"the pool shares its GPUs ({pool.sharing.mode})"
    return None
