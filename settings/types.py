"""The types of a stack file; a field's `description` is what an error says is allowed."""

from collections.abc import Mapping
from dataclasses import dataclass as plain_dataclass
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from settings.forms import (
    HOST,
    STRICT,
    Cidr,
    Endpoint,
    FirstName,
    GroupName,
    HetznerCidr,
    HttpsEndpoint,
    ImageUrl,
    KeepDays,
    KubernetesVersion,
    LabelValue,
    MachineCount,
    Name,
    PodCidr,
    PriorityClassName,
    PublicKey,
    Region,
    RepositoryName,
    ServiceCidr,
    TunnelCidr,
    TunnelEndpoint,
    Version,
    VpcId,
)
from settings.reboots import Reboots
from settings.resolved import ResolvedPool


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Cluster:
    """The control plane that every machine joins, and the address ranges of pods and services."""

    name: Name
    endpoint: Endpoint
    ca_cert_hash: Annotated[
        str,
        Field(
            pattern=r"^sha256:[0-9a-f]{64}$",
            description="sha256: and 64 hexadecimal digits, as `kubeadm token create "
            "--print-join-command` shows it",
        ),
    ]
    pod_cidr: PodCidr
    service_cidr: ServiceCidr


@dataclass(frozen=True, kw_only=True, config=STRICT)
class GatewaySettings:
    """A gateway that this program makes, as a server of Hetzner Cloud."""

    site: str
    """The Hetzner site that the gateway is in, whose servers it routes to."""
    hardware: str


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Tunnel:
    """WireGuard from each machine of a site to a gateway, for a site without VPN or leased line.

    The gateway has the first address of `network`, and each machine an address of its own.
    """

    endpoint: TunnelEndpoint
    """The gateway's address and port as the machines reach it."""
    public_key: PublicKey
    """The public key of the gateway."""
    network: TunnelCidr
    networks: Annotated[
        tuple[Cidr, ...], Field(min_length=1, description="a list of one range or more")
    ]
    """The ranges behind the gateway."""
    gateway: GatewaySettings | None = None
    """None where someone else runs the gateway."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OnPremSite:
    """An on-premises site."""

    kind: Literal["on-prem"]
    cidr: Cidr
    was: FirstName = None
    bmc_cidr: Cidr | None = None
    """The range of the machines' BMCs, from which pods of teams are kept; a BMC whose address is in
    `bmc_address` needs none."""
    tunnel: Tunnel | None = None
    """None where a VPN or a leased line connects the site with the others."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class AwsSite:
    """A region of AWS."""

    kind: Literal["aws"]
    cidr: Cidr
    region: Annotated[
        Region,
        Field(description="a region that AWS has, such as us-east-1, none of GovCloud or China"),
    ]
    vpc: VpcId | None = None
    """The VPC of the subnets, where the security group of EFA interfaces is; None without EFA."""
    was: FirstName = None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class HetznerSite:
    """A location of Hetzner Cloud."""

    kind: Literal["hetzner"]
    cidr: HetznerCidr
    location: Literal["fsn1", "nbg1", "hel1", "ash", "hil", "sin"]
    was: FirstName = None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Queue:
    """A queue and the namespace of its jobs: its weight when the pool is full, its most GPUs."""

    weight: Annotated[int, Field(ge=1, le=65535, description="a whole number from 1 to 65535")]
    gpus: Annotated[int, Field(ge=0, description="a whole number of 0 or more")]
    pool: str | None = None
    """The pool on which its jobs run; None for all pools, owned and rented."""
    priorities: Annotated[
        tuple[PriorityClassName, ...],
        Field(description="a list of priority classes"),
    ] = ("research", "interactive", "scavenger")
    """The priority classes that its pods may name; pods that name none have priority 0."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Team:
    """A team that uses the fleet: its cost centre, its queues and its people."""

    cost_centre: LabelValue
    queues: Annotated[
        Mapping[Name, Queue],
        Field(min_length=1, description="a mapping from names to one queue or more"),
    ]
    groups: Annotated[tuple[GroupName, ...], Field(description="a list of groups")] = ()
    """The groups whose people may work in its queues; none for the cluster's administrators only.

    The API server learns them from an identity provider or a client's certificate.
    """
    was: FirstName = None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Versions:
    """The versions that override settings/versions.py, to roll out one environment at a time."""

    flatcar: Version | None = None
    kubernetes: KubernetesVersion | None = None
    nvidia_driver: Literal["535", "535-open", "550", "550-open", "570", "570-open"] | None = None
    """The branches that Flatcar publishes as system extensions."""
    nvidia_driver_extension: ImageUrl | None = None
    """A driver of another branch instead, built for exactly this release of Flatcar."""
    fabric_manager: ImageUrl | None = None
    """A system extension with NVIDIA Fabric Manager in exactly the driver's version."""
    efa: ImageUrl | None = None
    """A system extension with the EFA driver, built for exactly this release of Flatcar."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Budget:
    """The most that the environment may cost."""

    usd_per_day: Annotated[
        float,
        Field(
            gt=0,
            le=10_000_000,
            allow_inf_nan=False,
            description="a number above 0, 10000000 at most",
        ),
    ]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Allow:
    """The most machines that one update may take; beyond it `pulumi up` changes nothing."""

    replace: MachineCount = 1
    """Servers of Hetzner that are replaced or deleted."""
    drain: MachineCount = 1
    """Owned machines that begin to leave, and rented ones whose NodePool goes."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class LakefsSettings:
    """A lakeFS server in the cluster, and the repositories in it."""

    endpoint: HttpsEndpoint
    """The server's address as the machine that runs Pulumi reaches it."""
    site: str
    """The AWS site whose bucket holds the objects."""
    repositories: Annotated[
        tuple[RepositoryName, ...],
        Field(min_length=1, description="a list of one name or more"),
    ]
    """The repositories; their branch main takes only merges that name the source of their data."""
    keep_days: KeepDays | None = None
    """Days for which branches other than main keep deleted objects; None for ever."""
    tls_secret: (
        Annotated[
            str,
            Field(
                pattern=rf"^{HOST}$",
                description="the name of a Secret of type kubernetes.io/tls in the namespace "
                "lakefs",
            ),
        ]
        | None
    ) = None
    """The certificate of an Ingress behind a load balancer of Hetzner; None for your own access."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class MonitoringSettings:
    """The storage of Prometheus, and the pager that gets its alerts."""

    storage_class: (
        Annotated[
            str,
            Field(
                pattern=rf"^{HOST}$",
                description="the name of a storage class of the cluster, such as ceph-block",
            ),
        ]
        | None
    ) = None
    """None where a pool is on Hetzner: Prometheus then uses volumes of Hetzner."""
    pager: Literal["pagerduty"] | None = None
    """None for alerts in Alertmanager and Grafana only."""


AdmissionStage = Literal["audit", "deny"]
Site = OnPremSite | AwsSite | HetznerSite


@plain_dataclass(frozen=True, kw_only=True)
class Settings:
    """An environment, named like its stack; `policies.environment` adds the settings of rules.

    Sites, pools and teams are by id, the name that each was born with (`settings.ids`).
    `admission` says whether the API server warns of an object that breaks a rule, or refuses it.
    """

    environment: str
    cluster: Cluster
    sites: Mapping[str, Site]
    pools: Mapping[str, ResolvedPool]
    teams: Mapping[str, Team]
    versions: Versions
    budget: Budget
    lakefs: LakefsSettings | None
    monitoring: MonitoringSettings
    reboots: Reboots | None
    admission: AdmissionStage
    allow: Allow
    renamed_sites: Mapping[str, str]
    """The names in the stack file of those sites whose id is another one, by id."""
