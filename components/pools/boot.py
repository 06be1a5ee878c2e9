"""What the machines of a pool boot with: the plain tuning part, and the secret part that joins.

Every pool component takes a `PoolBoot`, whatever its site, and hands the plain part on as an input
of its own, so that a rule can read each line even where the user data is secret or not yet known.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial

import pulumi

from hardware.catalogue import Hardware
from ignition.plan.numa_plan import NumaPlan
from ignition.plan.tuning import Tuning
from ignition.write.payload import Merge, Payload, PayloadError, data_url, fit
from ignition.write.render import Join, NodeBoot, Taint, join_ignition
from ignition.write.wireguard import WireGuardKey
from settings.gpu_sharing import GpuSharing, sharing_labels
from settings.names import labels

GPU_TAINT = Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule")
# Karpenter takes a node over only if it registers with this taint, and adds nothing to user data
UNREGISTERED_TAINT = Taint(key="karpenter.sh/unregistered", value="", effect="NoExecute")
SAMPLE_TOKEN = "000000.0000000000000000"  # noqa: S105  # as long as every token of kubeadm
SAMPLE_KEY = f"{'A' * 43}="  # as long as every key of WireGuard


class PoolError(ValueError):
    """A pool that cannot be made as it is described; one sentence."""


@dataclass(frozen=True, kw_only=True)
class ClusterJoin:
    """The cluster that machines join. Name, endpoint and hash are plain, the token is secret."""

    name: str
    endpoint: str
    ca_cert_hash: str
    token: pulumi.Input[str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class TunnelEnd:
    """A machine's own end of its site's tunnel, beside the plain part that its pool shares.

    The address has the length of the tunnel's network.
    """

    address: str
    private_key: pulumi.Input[str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class PoolBoot:
    """A pool's place, its hardware and plan, and the plain Ignition that follows from them."""

    cluster: ClusterJoin
    site: str
    pool: str
    hardware: Hardware
    plan: NumaPlan
    tuning: Tuning  # what the plan was made from
    flatcar: str  # the release that the machines run
    ignition: str
    sharing: GpuSharing | None = None  # of its GPUs, where it has any
    efa: bool = False  # whether its machines load the driver of their EFA interfaces

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the pool's objects, which its nodes have too."""
        return pool_labels(self.site, self.pool, self.plan)

    @property
    def node_labels(self) -> dict[str, str]:
        """The labels that the pool's nodes register with."""
        return node_labels(self.site, self.pool, self.plan, self.sharing)

    @property
    def inputs(self) -> dict[str, object]:
        """What a pool component shows of itself to rules and in previews."""
        return {
            "pool": self.pool,
            "site": self.site,
            "hardware": self.hardware.name,
            "purpose": self.plan.purpose,
            "tuning": _chosen(self.tuning),
            "numaPlan": self.plan.digest,
            "flatcar": self.flatcar,
            "ignition": self.ignition,
        }


@dataclass(frozen=True, kw_only=True)
class NodeVersions:
    """What runs on a node. The driver is the suffix of Flatcar's extension, e.g. 570-open."""

    flatcar: str
    kubernetes: str
    nvidia_driver: str
    nvidia_runtime: str
    fabric_manager: str | None
    efa: str | None = None


def _chosen(tuning: Tuning) -> dict[str, object]:
    """The choices that differ from the defaults."""
    values, defaults = asdict(tuning), asdict(Tuning())
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value != defaults[name]
    }


def pool_labels(site: str, pool: str, plan: NumaPlan) -> dict[str, str]:
    """The labels by which a pool's nodes and objects are found."""
    return labels(
        site=site, pool=pool, hardware=plan.hardware, purpose=plan.purpose, numa_plan=plan.digest
    )


def node_labels(site: str, pool: str, plan: NumaPlan, sharing: GpuSharing | None) -> dict[str, str]:
    """The labels that every node of a pool registers with."""
    shared = {} if sharing is None else sharing_labels(pool, sharing)
    return {**pool_labels(site, pool, plan), **shared}


def node_boot(
    hardware: Hardware,
    plan: NumaPlan,
    labelled: Mapping[str, str],
    versions: NodeVersions,
    *,
    snippets: tuple[str, ...] = (),
) -> NodeBoot:
    """What a pool's machines boot from; GPU extensions only where there is a GPU.

    `snippets` are Butane documents that are merged last.
    """
    gpu = hardware.gpu_count > 0
    taints: tuple[Taint, ...] = (GPU_TAINT,) if gpu else ()
    if hardware.kind == "aws":
        taints += (UNREGISTERED_TAINT,)
    return NodeBoot(
        hardware=hardware,
        plan=plan,
        labels=labelled,
        taints=taints,
        kubernetes_version=versions.kubernetes,
        nvidia_driver=versions.nvidia_driver if gpu else None,
        nvidia_runtime=versions.nvidia_runtime if gpu else None,
        fabric_manager=versions.fabric_manager if hardware.nvswitch else None,
        flatcar=versions.flatcar,
        efa=versions.efa if hardware.efa_interfaces else None,
        snippets=snippets,
    )


def join_part(
    cluster: ClusterJoin, hostname: str | None, tunnel: TunnelEnd | None = None
) -> pulumi.Output[str]:
    """The secret Ignition that joins a machine; `hostname` None keeps the machine's own name."""
    join = partial(_join_ignition, cluster, hostname)
    token = pulumi.Output.secret(cluster.token)
    if tunnel is None:
        return token.apply(join)
    address, key = tunnel.address, pulumi.Output.secret(tunnel.private_key)
    return pulumi.Output.all(token, key).apply(lambda known: join(known[0], (address, known[1])))


def user_data(
    boot: PoolBoot,
    hostname: str,
    limit_bytes: int | None = None,
    tunnel: TunnelEnd | None = None,
) -> pulumi.Output[str]:
    """The whole user data of one machine, secret because the join part stands in it.

    Where it is longer than `limit_bytes` (None for no limit) the plain part is compressed in it;
    raises PoolError where even that is too long.
    """
    cluster = boot.cluster
    end = None if tunnel is None else (tunnel.address, SAMPLE_KEY)
    sample = _join_ignition(cluster, hostname, SAMPLE_TOKEN, end)
    _whole(
        boot, limit_bytes, sample
    )  # as long as the real one, and refused before anything is made
    return join_part(cluster, hostname, tunnel).apply(partial(_whole, boot, limit_bytes))


def payload(
    boot: PoolBoot, join: Merge, *, limit_bytes: int | None, store: str | None = None
) -> Payload:
    """The user data that merges `join` into the plain part, in the form that fits the limit.

    `store` is an address from which the machines could read the plain part. Raises PoolError where
    no form fits.
    """
    try:
        return fit(boot.ignition, (join,), limit_bytes=limit_bytes, store=store)
    except PayloadError as error:
        raise PoolError(f"pool {boot.pool}: {error} for {boot.hardware.name}.") from error


def _join_ignition(
    cluster: ClusterJoin, hostname: str | None, token: str, tunnel: tuple[str, str] | None = None
) -> str:
    """With a `tunnel`, address and private key of its end."""
    address, key = (None, None) if tunnel is None else tunnel
    return join_ignition(
        Join(
            api_server_endpoint=cluster.endpoint,
            token=token,
            ca_cert_hash=cluster.ca_cert_hash,
            hostname=hostname,
            wireguard_key=None if key is None else WireGuardKey(private_key=key),
            wireguard_address=address,
        )
    )


def _whole(boot: PoolBoot, limit_bytes: int | None, join: str) -> str:
    return payload(boot, Merge(source=data_url(join)), limit_bytes=limit_bytes).user_data
