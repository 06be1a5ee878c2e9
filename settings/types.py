"""The types of a stack file; a field's `description` is what an error says is allowed."""

from collections.abc import Mapping
from dataclasses import dataclass as plain_dataclass
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from hardware.flatcar.own_driver import EXAMPLE
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
    MachineName,
    Minutes,
    Name,
    PodCidr,
    PoolName,
    PriorityClassName,
    PublicKey,
    Region,
    RepositoryName,
    ServiceCidr,
    SiteName,
    TunnelCidr,
    TunnelEndpoint,
    Version,
    VpcId,
)
from settings.reboots import Reboots
from settings.rehearsal import RehearsalSettings
from settings.resolved import ResolvedPool

OWN_DRIVER = f"https://images.fleet.example/sysext/{EXAMPLE}#sha512-{'0' * 128}"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Cluster:
    """The control plane that every machine joins, and the address ranges of pods and services."""

    name: Name
    """The name of the cluster, which servers, buckets and tags in the clouds begin with."""
    endpoint: Endpoint
    """The address of the API server as every machine reaches it."""
    ca_cert_hash: Annotated[
        str,
        Field(
            pattern=r"^sha256:[0-9a-f]{64}$",
            description="sha256: and 64 hexadecimal digits, as `kubeadm token create "
            "--print-join-command` shows it",
        ),
    ]
    """The hash of the cluster's CA, by which a machine knows the API server when it joins."""
    pod_cidr: PodCidr
    """The range of the pods' addresses in the whole cluster."""
    service_cidr: ServiceCidr
    """The range of the Services' addresses."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class GatewaySettings:
    """A gateway that this program makes, as a server of Hetzner Cloud."""

    site: SiteName
    """The Hetzner site that the gateway is in, whose servers it routes to."""
    hardware: MachineName
    """The server type of the gateway."""


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
    """The range of the tunnel's own addresses."""
    networks: Annotated[
        tuple[Cidr, ...], Field(min_length=1, description="a list of one range or more")
    ]
    """The ranges behind the gateway."""
    gateway: GatewaySettings | None = None
    """The server that is the gateway; without it someone else runs the gateway."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OnPremSite:
    """An on-premises site."""

    kind: Literal["on-prem"]
    """Who has the machines, by which an entry has other keys: `on-prem` is a hall of your own."""
    cidr: Cidr
    """The range of the machines' addresses."""
    was: FirstName = None
    """The name with which the entry was made, after it got a new name in this file."""
    bmc_cidr: Cidr | None = None
    """The range of the machines' BMCs, from which pods of teams are kept; a BMC whose address is in
    `bmc_address` needs none."""
    tunnel: Tunnel | None = None
    """WireGuard to a gateway; none where a VPN or a leased line connects the site."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class AwsSite:
    """A region of AWS."""

    kind: Literal["aws"]
    cidr: Cidr
    region: Annotated[
        Region,
        Field(description="a region that AWS has, such as us-east-1, none of GovCloud or China"),
    ]
    """The region of AWS."""
    vpc: VpcId | None = None
    """The VPC of the subnets, where the security group of EFA interfaces is; not needed without
    EFA."""
    was: FirstName = None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class HetznerSite:
    """A location of Hetzner Cloud."""

    kind: Literal["hetzner"]
    cidr: HetznerCidr
    location: Literal["fsn1", "nbg1", "hel1", "ash", "hil", "sin"]
    """The location of Hetzner Cloud."""
    was: FirstName = None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Queue:
    """A queue and the namespace of its jobs: its weight when the pool is full, its most GPUs."""

    weight: Annotated[int, Field(ge=1, le=65535, description="a whole number from 1 to 65535")]
    """The share of a full pool, beside the weights of the other queues."""
    gpus: Annotated[int, Field(ge=0, description="a whole number of 0 or more")]
    """The most GPUs that its jobs may have at one time."""
    pool: PoolName | None = None
    """The pool on which its jobs run; without it all pools, owned and rented."""
    pools: Annotated[
        tuple[PoolName, ...],
        Field(
            description="a list of pools, one of them rented, in place of `pool`",
            examples=[["dgx", "burst"]],
        ),
    ] = ()
    """The pools that one gang may span. fleet-gang-buffer rents what it lacks beside the idle
    machines, in one round; it needs Karpenter's CapacityBuffer, which is alpha."""
    give_back_after_minutes: Annotated[Minutes, Field(examples=[30])] = 30
    """After so long a gang of a queue with `pools` that still waits keeps no machine: those that
    came for it go when they are idle, and are asked for again after as long."""
    priorities: Annotated[
        tuple[PriorityClassName, ...],
        Field(description="a list of priority classes"),
    ] = ("research", "interactive", "scavenger")
    """The priority classes that its pods may name; pods that name none have priority 0."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Team:
    """A team that uses the fleet: its cost centre, its queues and its people."""

    cost_centre: LabelValue
    """Who pays: the label of the team's namespaces and pods."""
    queues: Annotated[
        Mapping[Name, Queue],
        Field(min_length=1, description="a mapping from names to one queue or more"),
    ]
    """The queues of the team, each with a namespace of its name."""
    groups: Annotated[tuple[GroupName, ...], Field(description="a list of groups")] = ()
    """The groups whose people may work in its queues; none for the cluster's administrators only.

    The API server learns them from an identity provider or a client's certificate.
    """
    was: FirstName = None
    """The name with which the entry was made, after it got a new name in this file."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Versions:
    """The versions that override settings/versions.py, to roll out one environment at a time."""

    flatcar: Version | None = None
    """The release of Flatcar."""
    kubernetes: KubernetesVersion | None = None
    """The release of the kubelet."""
    nvidia_driver: Literal["535", "535-open", "550", "550-open", "570", "570-open"] | None = None
    """The branch of NVIDIA's driver, one that Flatcar publishes as a system extension."""
    nvidia_driver_extension: Annotated[ImageUrl, Field(examples=[OWN_DRIVER])] | None = None
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
            examples=[3000],
        ),
    ]
    """The most that all machines may cost in a day; a rule refuses an update beyond it."""


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
    site: SiteName
    """The AWS site whose bucket holds the objects."""
    repositories: Annotated[
        tuple[RepositoryName, ...],
        Field(min_length=1, description="a list of one name or more"),
    ]
    """The repositories; their branch main takes only merges that name the source of their data."""
    keep_days: KeepDays | None = None
    """Days for which branches other than main keep deleted objects; without it for ever."""
    adopt: bool = False
    """Whether repositories that the server has already are taken over; one with another storage
    namespace is refused."""
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
    """The certificate of an Ingress behind a load balancer of Hetzner; without it, access is yours
    to arrange."""


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
    """The storage class of Prometheus' volume; not needed with a pool at Hetzner, whose volumes it
    then uses."""
    pager: Literal["pagerduty"] | None = None
    """The pager that gets the alerts; without it they are in Alertmanager and Grafana only."""


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
    rehearsal: RehearsalSettings
    renamed_sites: Mapping[str, str]
    """The names in the stack file of those sites whose id is another one, by id."""
