"""What a stack file says of its rehearsals: who vouches for one, what a change may cost."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from settings.forms import STRICT, MachineCount, Name
from settings.signing_key import SigningKey

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
    keys: Annotated[
        Mapping[Name, SigningKey],
        Field(
            description="a mapping from names to public keys, each in one line of base64, as "
            "`openssl pkey -in KEY -pubout -outform DER | base64 -w0` prints it"
        ),
    ] = Field(default_factory=dict)
    """The public keys of those who may vouch for a rehearsal beside the workflow run that updates
    the environment, by names of your own; `fleet statement verify` takes what one has signed."""
