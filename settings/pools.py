"""The types of pools in a stack file, one for each kind of provider."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic.dataclasses import dataclass

from ignition.plan.tuning import Purpose, Tuning
from settings.forms import (
    STRICT,
    CapacityType,
    Day,
    GpuLimit,
    HostName,
    Hours,
    HttpsUrl,
    MigLayout,
    Minutes,
    Replicas,
    Servers,
    Sharing,
    Snippets,
    TunnelAddress,
)


def _of_a_card(text: str) -> str:
    """Refuse the MAC address of zeros, which no card has."""
    if not text.strip("0:"):
        raise ValueError
    return text


@dataclass(frozen=True, kw_only=True, config=STRICT)
class MachineSettings:
    """A bare-metal machine, managed through its BMC."""

    name: HostName
    bmc_address: Annotated[
        str,
        Field(
            pattern=r"^(ipmi|redfish|redfish-virtualmedia|idrac-redfish|idrac-virtualmedia)"
            r"(\+https?)?://[^\s/@]+(/\S*)?$",
            description="a Metal3 address without user name, such as "
            "redfish-virtualmedia+https://10.10.250.11/redfish/v1/Systems/1",
        ),
    ]
    boot_mac_address: Annotated[
        str,
        Field(
            pattern=r"^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$",
            description="six hexadecimal pairs in quotes, the address of one card, such as "
            '"94:6d:ae:01:02:03"',
        ),
        AfterValidator(_of_a_card),
    ]
    tunnel_address: TunnelAddress | None = None
    """The machine's address in the tunnel of its site; None where the site has no tunnel."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ImageSettings:
    """The Flatcar image that Metal3 writes to a machine's disk."""

    url: HttpsUrl
    sha512: Annotated[
        str, Field(pattern=r"^[0-9a-f]{128}$", description="128 hexadecimal digits in quotes")
    ]
    format: Literal["qcow2", "raw"] = "qcow2"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class BareMetalPoolSettings:
    """Bare-metal machines that Metal3 installs."""

    kind: Literal["bare-metal"]
    site: str
    hardware: str
    purpose: Purpose
    image: ImageSettings
    machines: Annotated[
        tuple[MachineSettings, ...],
        Field(min_length=1, description="a list of one machine or more"),
    ]
    tuning: Tuning = Field(default_factory=Tuning)
    snippets: Snippets = ()
    sharing: Sharing = "whole"
    mig_layout: MigLayout | None = None
    replicas: Replicas | None = None
    """The number of clients among which time-slicing or MPS shares each GPU."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class AwsPoolSettings:
    """GPU instances that Karpenter launches and terminates, up to a number of GPUs."""

    kind: Literal["aws"]
    site: str
    hardware: str
    purpose: Purpose
    gpu_limits: Annotated[
        Mapping[CapacityType, GpuLimit],
        Field(
            min_length=1,
            description="a number of GPUs for one or more of reserved, spot and on-demand",
        ),
    ]
    """The most GPUs of each capacity type; each type is a NodePool with a limit of its own."""
    consolidate_after_minutes: Minutes
    tuning: Tuning = Field(default_factory=Tuning)
    snippets: Snippets = ()
    sharing: Sharing = "whole"
    mig_layout: MigLayout | None = None
    replicas: Replicas | None = None
    expire_after_hours: Hours | None = None
    """Karpenter replaces a node after these hours; None for never."""
    reserved_until: Day | None = None
    """The last day of the capacity block; EC2 terminates its machines before it ends."""

    @property
    def gpu_limit(self) -> int:
        """The most GPUs of all capacity types together."""
        return sum(self.gpu_limits.values())


@dataclass(frozen=True, kw_only=True, config=STRICT)
class HetznerPoolSettings:
    """Servers of Hetzner Cloud."""

    kind: Literal["hetzner"]
    site: str
    hardware: str
    purpose: Purpose
    nodes: Servers
    tuning: Tuning = Field(default_factory=Tuning)
    snippets: Snippets = ()


PoolSettings = BareMetalPoolSettings | AwsPoolSettings | HetznerPoolSettings
