"""The types of single values in a stack file; `description` is what an error says is allowed."""

import base64
import binascii
from collections.abc import Mapping
from datetime import date
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Literal, TypeAlias, cast

from pydantic import AfterValidator, ConfigDict, Field, JsonValue
from pydantic.fields import FieldInfo

STRICT = ConfigDict(extra="forbid", strict=True, defer_build=True)
"""Every type refuses unknown keys and converts no value."""

UNUSABLE = tuple(map(IPv4Network, ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3")))
"""Ranges without addresses of machines: this host, loopback, link-local, multicast and above."""
PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""The private ranges of RFC 1918, the only ones that networks of Hetzner Cloud can have."""


def _network(text: str) -> str:
    network = IPv4Network(text)
    # Python takes 10.0.0.0 and 10.0.0.0/255.0.0.0 as networks, and no cloud does
    if str(network) != text or any(network.overlaps(other) for other in UNUSABLE):
        raise ValueError
    return text


def _hetzner_network(text: str) -> str:
    network = IPv4Network(_network(text))
    if network.prefixlen > 30 or not any(network.subnet_of(other) for other in PRIVATE):
        raise ValueError
    return text


def _between(largest: int, smallest: int) -> AfterValidator:
    """Return a validator of networks from /`largest` to /`smallest`."""

    def check(text: str) -> str:
        if not largest <= IPv4Network(_network(text)).prefixlen <= smallest:
            raise ValueError
        return text

    return AfterValidator(check)


def _not_of_kubernetes(group: str) -> str:
    """Refuse groups such as system:authenticated, in which everybody is."""
    if group.startswith("system:"):
        raise ValueError
    return group


def _named(text: str) -> str:
    """Refuse a host that resolvers take for an address, as its last label has digits alone."""
    if text.rpartition(".")[2].isdigit():
        raise ValueError
    return text


def _reachable(text: str) -> str:
    """Refuse host:port with an address that no machine has."""
    host = text.removeprefix("https://").partition(":")[0]
    if not host.rpartition(".")[2].isdigit():
        return text
    if any(IPv4Address(host) in network for network in UNUSABLE):
        raise ValueError
    return text


def _day(text: str) -> str:
    return date.fromisoformat(text).isoformat()


def _address(text: str) -> str:
    return str(IPv4Address(text))


def _public_key(text: str) -> str:
    """Refuse text that is not 32 bytes in base64, the form of a Curve25519 key."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError from error
    if len(decoded) != 32:
        raise ValueError
    return text


LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
HOST = rf"{LABEL}(\.{LABEL})*"
PORT = r"([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"


_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_ADDRESS = rf"{_OCTET}(\.{_OCTET}){{3}}"
_PRIVATE = rf"(10\.{_OCTET}|192\.168|172\.(1[6-9]|2[0-9]|3[01]))(\.{_OCTET}){{2}}"


def _as_range(least: int, most: int, address: str = _ADDRESS) -> dict[str, JsonValue]:
    """Return the form of an IPv4 range for a JSON schema, which cannot tell host bits."""
    return {"pattern": rf"^{address}/({'|'.join(map(str, range(least, most + 1)))})$"}


def _whole(least: int, most: int) -> FieldInfo:
    """Return the field of a whole number from `least` to `most`."""
    description = f"a whole number from {least} to {most}"
    return cast("FieldInfo", Field(ge=least, le=most, description=description))


Name: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[a-z]([a-z0-9-]{0,22}[a-z0-9])?$",
        description="1 to 24 lower-case letters, digits and hyphens, a letter first",
    ),
]
FirstName: TypeAlias = Name | None
"""The name with which a pool, a team or a site was made; see `settings.ids`."""
Cidr: TypeAlias = Annotated[
    str,
    AfterValidator(_network),
    Field(
        description="an IPv4 range whose host bits are zero, such as 10.10.0.0/16, and not of "
        "loopback, link-local or multicast addresses",
        json_schema_extra=_as_range(0, 32),
    ),
]
HetznerCidr: TypeAlias = Annotated[
    str,
    AfterValidator(_hetzner_network),
    Field(
        description="an IPv4 range of /30 or larger within 10.0.0.0/8, 172.16.0.0/12 or "
        "192.168.0.0/16 whose host bits are zero, such as 10.12.0.0/16",
        json_schema_extra=_as_range(0, 30, _PRIVATE),
    ),
]
PodCidr: TypeAlias = Annotated[
    str,
    _between(8, 22),
    Field(
        description="an IPv4 range from /8 to /22 whose host bits are zero, such as 10.14.0.0/16; "
        "each node takes a /24 of it",
        json_schema_extra=_as_range(8, 22),
    ),
]
ServiceCidr: TypeAlias = Annotated[
    str,
    _between(12, 28),
    Field(
        description="an IPv4 range from /12 to /28 whose host bits are zero, such as 10.15.0.0/16",
        json_schema_extra=_as_range(12, 28),
    ),
]
Region = Literal[
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-south-2",
    "ap-southeast-1",
    "ap-southeast-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-central-1",
    "ca-west-1",
    "eu-central-1",
    "eu-central-2",
    "eu-north-1",
    "eu-south-1",
    "eu-south-2",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
]
"""The regions of the pinned pulumi_aws, without those of other partitions."""
Zone: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[a-z]{2}-[a-z]+-[0-9][a-z]$",
        description="an availability zone such as us-east-1a",
    ),
]
VpcId: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^vpc-[0-9a-f]{8}([0-9a-f]{9})?$",
        description="the id of a VPC such as vpc-0a1b2c3d4e5f60718",
    ),
]
HostName: TypeAlias = Annotated[
    str,
    Field(
        pattern=rf"^{HOST}$",
        max_length=63,
        description="a host name of at most 63 lower-case letters, digits, hyphens and dots, and "
        "no IPv4 address",
        json_schema_extra={"pattern": rf"^(?!.*(^|\.)[0-9]+$){HOST}$"},
    ),
    AfterValidator(_named),
]
Endpoint: TypeAlias = Annotated[
    str,
    Field(
        pattern=rf"^{HOST}:{PORT}$",
        description="host:port of the API server, such as api.fleet.example:6443",
    ),
    AfterValidator(_reachable),
]
TunnelEndpoint: TypeAlias = Annotated[
    str,
    Field(
        pattern=rf"^{HOST}:{PORT}$",
        description="host:port of the gateway, such as gateway.fleet.example:51820",
    ),
    AfterValidator(_reachable),
]
TunnelCidr: TypeAlias = Annotated[
    str,
    AfterValidator(_hetzner_network),
    Field(
        description="an IPv4 range of /30 or larger within 10.0.0.0/8, 172.16.0.0/12 or "
        "192.168.0.0/16 whose host bits are zero, such as 10.13.0.0/24",
        json_schema_extra=_as_range(0, 30, _PRIVATE),
    ),
]
TunnelAddress: TypeAlias = Annotated[
    str,
    AfterValidator(_address),
    Field(
        description="an IPv4 address of the site's tunnel, such as 10.13.0.11",
        json_schema_extra={"pattern": rf"^{_ADDRESS}$"},
    ),
]
PublicKey: TypeAlias = Annotated[
    str,
    AfterValidator(_public_key),
    Field(
        description="32 bytes in base64, as `wg pubkey` prints them",
        json_schema_extra={"pattern": "^[A-Za-z0-9+/]{43}=$"},
    ),
]
HttpsEndpoint: TypeAlias = Annotated[
    str,
    Field(
        pattern=rf"^https://{HOST}(:{PORT})?$",
        description="an https:// address without a path, such as https://lakefs.fleet.example",
    ),
    AfterValidator(_reachable),
]
HttpsUrl: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^https://[^\s/@]+/\S+$",
        description="an https:// address of a file, without a user",
    ),
]
ImageUrl: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^https://[^\s/#@]+/[^\s#]+#sha512-[0-9a-f]{128}$",
        description="an https:// address of a file, without a user, with #sha512- and its "
        "checksum of 128 hexadecimal digits at the end",
    ),
]
Version: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$",
        description='three numbers with dots between them, in quotes, such as "4593.2.5"',
    ),
]
KubernetesVersion: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^1\.3[456]\.[0-9]{1,3}$",
        description="a release of 1.34, 1.35 or 1.36, which Flatcar tests, in quotes, such as "
        '"1.36.3"',
    ),
]
Sharing = Literal["whole", "mig", "time-slicing", "mps"]
MigLayout: TypeAlias = Annotated[
    Mapping[str, Annotated[int, Field(ge=1, description="a whole number of 1 or more")]],
    Field(min_length=1, description="a mapping from MIG profiles to their number on a GPU"),
]
Replicas: TypeAlias = Annotated[int, _whole(2, 48), Field(examples=[4])]
"""MPS serves at most 48 clients on a GPU."""
Servers: TypeAlias = Annotated[int, _whole(1, 100)]
"""A network of Hetzner Cloud has at most 100 servers."""
MOST_MACHINES = 5000
"""Kubernetes supports up to 5000 nodes."""
MachineCount: TypeAlias = Annotated[int, _whole(0, MOST_MACHINES)]
GpuLimit: TypeAlias = Annotated[int, _whole(1, 40_000)]
"""Kubernetes supports up to 5000 nodes, and no machine has more than 8 GPUs."""
Minutes: TypeAlias = Annotated[int, _whole(1, 7 * 24 * 60)]
Hours: TypeAlias = Annotated[int, _whole(1, 365 * 24)]
Day: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^20[0-9]{2}-[0-9]{2}-[0-9]{2}$",
        description='a day in quotes, such as "2027-01-31"',
    ),
    AfterValidator(_day),
]
KeepDays: TypeAlias = Annotated[int, _whole(1, 3650)]
CapacityType = Literal["reserved", "spot", "on-demand"]
RepositoryName: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9-]{2,62}$",
        description="3 to 63 lower-case letters, digits and hyphens, no hyphen first",
    ),
]
LabelValue: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$",
        description="1 to 63 letters, digits, hyphens, dots and underscores, in quotes where it "
        "looks like a number",
    ),
]
PriorityClassName: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$",
        description="the name of a priority class, such as production",
    ),
]
GroupName: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[!-~]([ -~]{0,254}[!-~])?$",
        description="a group as the API server knows it, with its prefix, such as oidc:research, "
        "and none of Kubernetes' own, which begin with system:",
        json_schema_extra={"pattern": "^(?!system:)[!-~]([ -~]{0,254}[!-~])?$"},
    ),
    AfterValidator(_not_of_kubernetes),
]
DriveId: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^[!-~]{1,128}$",
        description="text without blanks, in quotes, as `lsblk --nodeps --output NAME,SERIAL,WWN` "
        "prints it",
    ),
]
DriveText: TypeAlias = Annotated[
    str, Field(pattern=r"^[!-~]([ -~]{0,126}[!-~])?$", description="text of 1 to 128 characters")
]
DriveLink: TypeAlias = Annotated[
    str,
    Field(
        pattern=r"^/dev/disk/by-path/\S+$",
        description="a link such as /dev/disk/by-path/pci-0000:01:00.0-nvme-1; a name such as "
        "/dev/nvme0n1 may be another drive after the next boot",
    ),
]
Gigabytes: TypeAlias = Annotated[int, Field(ge=1, description="a whole number of 1 or more")]
Snippets: TypeAlias = Annotated[
    tuple[str, ...],
    Field(
        description="a list of Butane documents, each as text and not the name of a file",
    ),
]
InventoryName: TypeAlias = Annotated[
    str,
    Field(
        description="the path of a file from the stack file's folder, ending in .csv, .yaml or "
        ".yml",
        pattern=r"\.(csv|yaml|yml)$",
        examples=["prod-dgx.csv"],
    ),
]
SiteName: TypeAlias = Annotated[str, Field(description="the name of a site in gpu-fleet:sites")]
PoolName: TypeAlias = Annotated[str, Field(description="the name of a pool in gpu-fleet:pools")]
MachineName: TypeAlias = Annotated[
    str, Field(description="a machine of the catalogue, as `fleet hardware list` shows them")
]
