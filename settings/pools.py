"""The types of pools in a stack file, one for each kind of provider."""

from collections.abc import Mapping
from ipaddress import ip_network
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema
from pydantic.dataclasses import dataclass

from ignition.plan.tuning import Purpose, Tuning
from settings.bmc import same_bmc
from settings.forms import (
    STRICT,
    CapacityType,
    Day,
    DriveId,
    DriveLink,
    DriveText,
    FirstName,
    Gigabytes,
    GpuLimit,
    HostName,
    Hours,
    HttpsUrl,
    InventoryName,
    MachineName,
    MigLayout,
    Minutes,
    Replicas,
    Servers,
    Sharing,
    SiteName,
    Snippets,
    TunnelAddress,
    Zone,
)


def _of_a_card(text: str) -> str:
    """Refuse the MAC address of zeros, which no card has."""
    if not text.strip("0:"):
        raise ValueError
    return text


def _of_a_bmc(address: str) -> str:
    same_bmc(address)
    return address


def _way_out(value: object) -> object:
    """Read true as deprovision and false as staying; an inventory in CSV has both as text."""
    said = str(value).lower() if isinstance(value, str | bool) else ""
    return {"true": "deprovision", "false": None}.get(said, value)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class MachineSettings:
    """A bare-metal machine, managed through its BMC."""

    name: HostName
    """The name of the machine, of its node and of its BareMetalHost."""
    bmc_address: Annotated[
        str,
        Field(
            pattern=r"^(ipmi|redfish|redfish-virtualmedia|idrac-redfish|idrac-virtualmedia)"
            r"(\+https?)?://[^\s/@]+(/\S*)?$",
            description="a Metal3 address without user name, such as "
            "redfish-virtualmedia+https://10.10.250.11/redfish/v1/Systems/1",
        ),
        AfterValidator(_of_a_bmc),
    ]
    """The address of the machine's BMC, as Metal3 writes it."""
    boot_mac_address: Annotated[
        str,
        Field(
            pattern=r"^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$",
            description='six hexadecimal pairs in quotes, such as "94:6d:ae:01:02:03", not all '
            "of them zero and the first one even: an odd one begins the address of a group "
            "(multicast), which no card has",
            json_schema_extra={
                "pattern": "^(?!00(:00){5}$)[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$"
            },
        ),
        AfterValidator(_of_a_card),
    ]
    """The MAC address of the network card that the machine boots from."""
    tunnel_address: TunnelAddress | None = None
    """The machine's address in the tunnel of its site; none where the site has no tunnel."""
    system_drive_serial: DriveId | None = None
    """The serial number of the drive that Flatcar is installed on."""
    system_drive_wwn: DriveId | None = None
    """The World Wide Name of that drive, for drives that report no serial number."""
    leaving: Annotated[
        Literal["deprovision", "detach"] | None,
        BeforeValidator(_way_out),
        Field(description="true or deprovision, or detach; false or no such key where it stays"),
        WithJsonSchema({"enum": ["deprovision", "detach", True, False, None]}),
    ] = None
    """What Metal3 does with the machine when its entry goes; it is drained first.

    `deprovision`, the same as true, wipes its partition tables and powers it off; `detach` leaves
    it as it is.
    """

    @property
    def bmc_range(self) -> str | None:
        """The address of its BMC as a range of one; None where the BMC is given by name."""
        try:
            return str(ip_network(urlsplit(self.bmc_address).hostname or ""))
        except ValueError:
            return None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SystemDrive:
    """Hints on the drive that Flatcar is installed on, the same for all machines of a pool.

    The names are those of `rootDeviceHints` in Metal3's BareMetalHost. What differs by machine, the
    serial number and the WWN, is said of each machine.
    """

    minSizeGigabytes: Gigabytes | None = None  # noqa: N815  # the CRD's name
    """The least size of the drive."""
    model: DriveText | None = None
    """A part of the model's name."""
    vendor: DriveText | None = None
    """A part of the vendor's name."""
    rotational: bool | None = None
    """Whether the drive rotates."""
    hctl: DriveText | None = None
    """The SCSI address of the drive."""
    deviceName: DriveLink | None = None  # noqa: N815  # the CRD's name
    """A link to the drive that stays the same from boot to boot."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ImageSettings:
    """The Flatcar image that Metal3 writes to a machine's disk."""

    url: HttpsUrl
    """The address of Flatcar's OpenStack image of the environment's release, unpacked."""
    sha512: Annotated[
        str, Field(pattern=r"^[0-9a-f]{128}$", description="128 hexadecimal digits in quotes")
    ]
    """The checksum of that file."""
    format: Literal["qcow2", "raw"] = "qcow2"
    """The format of that file."""


def _machines_or_inventory(schema: dict[str, JsonValue]) -> None:
    """Say in a JSON schema that a pool has one of two keys: parsing reads the file before."""
    required = schema["required"]
    if isinstance(required, list):
        required.remove("machines")
    schema["oneOf"] = [{"required": ["machines"]}, {"required": ["inventory"]}]


@dataclass(
    frozen=True,
    kw_only=True,
    config=ConfigDict(**STRICT, json_schema_extra=_machines_or_inventory),
)
class BareMetalPoolSettings:
    """Bare-metal machines that Metal3 installs."""

    kind: Literal["bare-metal"]
    """Who has the machines, by which an entry has other keys: `bare-metal` are your own, `aws` and
    `hetzner` rented ones."""
    site: SiteName
    """The site where the machines are."""
    hardware: MachineName
    """The machine, whose topology the NUMA plan is computed from."""
    purpose: Purpose
    """What runs there: the defaults of the tuning and some rules follow from it."""
    image: ImageSettings
    """The image of Flatcar that Metal3 writes to each machine."""
    machines: Annotated[
        tuple[MachineSettings, ...],
        Field(
            min_length=1,
            description="a list of one machine or more, or in its place `inventory:` with the name "
            "of a file that has them",
        ),
    ]
    """The machines of the pool, an entry for each."""
    fabric: (
        Annotated[
            Literal["infiniband", "roce"],
            Field(description="infiniband or roce, or no such key where there is no such network"),
        ]
        | None
    ) = None
    """The network of the rails, through which pods speak RDMA; none where there is no such."""
    inventory: InventoryName | None = None
    """The file beside the stack file that has the machines, in place of `machines`."""
    system_drive: SystemDrive = Field(default_factory=SystemDrive)
    """The drive that Flatcar is installed on, where it is alike in all machines."""
    tuning: Tuning = Field(default_factory=Tuning)
    """What a pool chooses; all else of the plan follows from the machine's topology."""
    snippets: Snippets = ()
    """Butane documents (flatcar 1.1.0) that are merged over the boot data of the machines."""
    was: FirstName = None
    """The name with which the entry was made, after it got a new name in this file."""
    sharing: Sharing = "whole"
    """How pods get GPUs: whole, as MIG instances, as time slices or as clients of MPS."""
    mig_layout: MigLayout | None = None
    """The MIG instances of each GPU, with sharing `mig`: their number by profile."""
    replicas: Replicas | None = None
    """The number of clients among which time-slicing or MPS shares each GPU."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class AwsPoolSettings:
    """GPU instances that Karpenter launches and terminates, up to a number of GPUs."""

    kind: Literal["aws"]
    site: SiteName
    hardware: MachineName
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
    """Karpenter removes a node on which no pod has run for so long."""
    zone: Zone | None = None
    """The availability zone of its machines; without it any, and a gang may then span several."""
    tuning: Tuning = Field(default_factory=Tuning)
    snippets: Snippets = ()
    was: FirstName = None
    sharing: Sharing = "whole"
    mig_layout: MigLayout | None = None
    replicas: Replicas | None = None
    expire_after_hours: Hours | None = None
    """Karpenter replaces a node after these hours; without it never."""
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
    site: SiteName
    hardware: MachineName
    purpose: Purpose
    nodes: Servers
    """The number of servers."""
    tuning: Tuning = Field(default_factory=Tuning)
    snippets: Snippets = ()
    was: FirstName = None


PoolSettings = BareMetalPoolSettings | AwsPoolSettings | HetznerPoolSettings
