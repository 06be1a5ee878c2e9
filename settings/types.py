"""The types of a stack file. A field's description says in words what is allowed there."""

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
    HetznerCidr,
    HttpsEndpoint,
    ImageUrl,
    KeepDays,
    KubernetesVersion,
    LabelValue,
    Name,
    PodCidr,
    PublicKey,
    RepositoryName,
    ServiceCidr,
    TunnelCidr,
    TunnelEndpoint,
    Version,
)
from settings.reboots import Reboots
from settings.resolved import ResolvedPool


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Cluster:
    """The control plane that every machine joins, and the ranges of its pods and services."""

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
class Gateway:
    """A gateway that is made with the environment, as a server of Hetzner Cloud."""

    site: str
    """The Hetzner site that it stands in, whose servers it leads to."""
    hardware: str


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Tunnel:
    """WireGuard from each machine of a hall to a gateway, for a hall that no line leads to.

    The gateway has the first address of `network`, and each machine one of its own.
    """

    endpoint: TunnelEndpoint
    """Where the gateway is reached from the hall."""
    public_key: PublicKey
    """The gateway's."""
    network: TunnelCidr
    networks: Annotated[
        tuple[Cidr, ...], Field(min_length=1, description="a list of one range or more")
    ]
    """What is behind the gateway."""
    gateway: Gateway | None = None
    """None where the gateway is somebody else's."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OnPremSite:
    """A hall of ours."""

    kind: Literal["on-prem"]
    cidr: Cidr
    tunnel: Tunnel | None = None
    """None where lines or routers of the hall lead to the other sites."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class AwsSite:
    """A region of AWS."""

    kind: Literal["aws"]
    cidr: Cidr
    region: Annotated[
        str,
        Field(
            pattern=r"^(af|ap|ca|eu|il|me|mx|sa|us)-(north|south|east|west|central)(east|west)?-[0-9]$",
            description="an AWS region such as us-east-1",
        ),
    ]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class HetznerSite:
    """A location of Hetzner Cloud."""

    kind: Literal["hetzner"]
    cidr: HetznerCidr
    location: Literal["fsn1", "nbg1", "hel1", "ash", "hil", "sin"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Queue:
    """A queue and the namespace of its jobs: its share of its full pool, and its most GPUs."""

    weight: Annotated[int, Field(ge=1, le=65535, description="a whole number from 1 to 65535")]
    gpus: Annotated[int, Field(ge=0, description="a whole number of 0 or more")]
    pool: str | None = None
    """The one pool on which its jobs run; None for any, owned and rented."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Team:
    """Who uses the fleet: a team's queues, and who pays for them."""

    cost_centre: LabelValue
    queues: Annotated[
        Mapping[Name, Queue],
        Field(min_length=1, description="a mapping from names to one queue or more"),
    ]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Versions:
    """What an environment runs instead of settings/versions.py, for rollouts one by one."""

    flatcar: Version | None = None
    kubernetes: KubernetesVersion | None = None
    nvidia_driver: Literal["535", "535-open", "550", "550-open", "570", "570-open"] | None = None
    """The branches that Flatcar publishes as system extensions."""
    fabric_manager: ImageUrl | None = None
    """System extension with NVIDIA Fabric Manager of exactly the driver's version."""
    efa: ImageUrl | None = None
    """System extension with the EFA driver, built for this very release of Flatcar."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Budget:
    """What the environment may cost."""

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
class Lakefs:
    """A lakeFS server in the cluster, and the repositories in it."""

    endpoint: HttpsEndpoint
    """Where the server is reached from the machine on which Pulumi runs."""
    site: str
    """The AWS site whose bucket holds the objects."""
    repositories: Annotated[
        tuple[RepositoryName, ...],
        Field(min_length=1, description="a list of one name or more"),
    ]
    """Into the branch main of each leads only a merge that says where its data comes from."""
    keep_days: KeepDays | None = None
    """How long branches other than main keep what they let go of; None keeps everything."""
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
    """Serves the endpoint through a load balancer of Hetzner; None leaves the way to you."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Monitoring:
    """Where Prometheus keeps its series, and who is told of alerts."""

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
    """None where a pool is Hetzner's: then volumes of Hetzner hold them."""
    pager: Literal["pagerduty"] | None = None
    """None shows alerts in Alertmanager and Grafana alone."""


Admission = Literal["audit", "deny"]
Site = OnPremSite | AwsSite | HetznerSite


@plain_dataclass(frozen=True, kw_only=True)
class Settings:
    """One environment; its name is the stack's. `policies.environment` reads what it says of rules.

    `admission` is what the API server does with an object that breaks a rule: warn, or refuse it.
    """

    environment: str
    cluster: Cluster
    sites: Mapping[str, Site]
    pools: Mapping[str, ResolvedPool]
    teams: Mapping[str, Team]
    versions: Versions
    budget: Budget
    lakefs: Lakefs | None
    monitoring: Monitoring
    reboots: Reboots | None
    admission: Admission
