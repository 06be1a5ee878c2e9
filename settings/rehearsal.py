"""What a stack file says of its rehearsals: how much a change may cost the jobs that run."""

from dataclasses import field
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from settings.forms import STRICT, MachineCount

Most = Annotated[
    float,
    Field(
        ge=0,
        le=10_000_000,
        allow_inf_nan=False,
        description="a number from 0 to 10000000",
    ),
]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class AllowedLoss:
    """The most that a rehearsed change may take from running jobs; beyond it a rehearsal fails."""

    jobs_ended: MachineCount = 0
    """Jobs that the change ends before they have ended by themselves, started again or not."""
    gpu_hours_lost: Most | None = None
    """Hours of work on GPUs that the ended jobs lose; without it whatever those jobs lose."""
    usd: Most | None = None
    """The price of that work and of machines that run twice while they are replaced; without it any
    price."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RehearsalSettings:
    """How the environment is rehearsed."""

    allow: AllowedLoss = field(default_factory=AllowedLoss)
    """What a change may take from running jobs, where it is rehearsed from another commit."""
