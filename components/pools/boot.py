"""The boot data of a pool's machines: a plain part with the tuning, a secret part that joins.

Every pool component takes a `PoolBoot`, and has the plain part as an input of its own, so that
rules can read each line even where the user data is secret or not yet known.
"""

import hashlib
from dataclasses import asdict, dataclass, field
from functools import partial

import pulumi

from ignition.plan.tuning import Tuning
from ignition.write.payload import Merge, Payload, PayloadError, data_url, fit
from ignition.write.render import Join, join_ignition
from ignition.write.wireguard import WireGuardKey
from kube.resources.bootstrap_token import BootstrapTokenArgs
from kube.token_value import machine_token
from settings.resolved import ResolvedPool

SAMPLE_TOKEN = "000000.0000000000000000"  # noqa: S105  # as long as every token of kubeadm
SAMPLE_KEY = f"{'A' * 43}="  # as long as every key of WireGuard


class PoolError(ValueError):
    """A pool cannot be made as it is described; the text is one sentence."""


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The cluster that machines join, and how they know it; no secret."""

    name: str
    endpoint: str
    ca_cert_hash: str


@dataclass(frozen=True, kw_only=True)
class ClusterJoin(Cluster):
    """The cluster, with the secret from which the token of each machine follows."""

    seed: pulumi.Input[str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class TunnelEnd:
    """A machine's own address and key in its site's tunnel.

    The address has the length of the tunnel's network, such as 10.13.0.11/24.
    """

    address: str
    private_key: pulumi.Input[str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class PoolBoot:
    """A pool, the Flatcar release of its machines, and their plain Ignition."""

    cluster: ClusterJoin
    pool: ResolvedPool
    flatcar: str
    ignition: str

    @property
    def inputs(self) -> dict[str, object]:
        """The inputs of the pool component, which rules and previews read."""
        pool = self.pool
        return {
            "pool": pool.name,
            "site": pool.site,
            "hardware": pool.hardware.name,
            "purpose": pool.plan.purpose,
            "tuning": _chosen(pool.declared.tuning),
            "numaPlan": pool.plan.digest,
            "flatcar": self.flatcar,
            "ignition": self.ignition,
        }


def generation(*parts: str) -> str:
    """Return a digest of what a server is made from, for its label BOOT_LABEL.

    Two servers differ where their digests do, but for what is secret in their user data.
    """
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _chosen(tuning: Tuning) -> dict[str, object]:
    """Return the settings that differ from the defaults."""
    values, defaults = asdict(tuning), asdict(Tuning())
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value != defaults[name]
    }


def token(boot: PoolBoot, hostname: str) -> pulumi.Output[str]:
    """Return the secret bootstrap token of a machine: another one with each other boot data.

    So a server that is replaced for its boot data gets a new token with it, and a token is never
    the reason.
    """
    cluster = boot.cluster
    other = "\n".join((cluster.endpoint, cluster.ca_cert_hash, boot.flatcar, boot.ignition))
    seed = pulumi.Output.secret(cluster.seed)
    # an update with --target that leaves the seed out knows none, and makes no machine either: what
    # stands in its place opens nothing, and is another one's as soon as there is a seed
    return seed.apply(
        lambda known: machine_token(known, hostname, other) if known else SAMPLE_TOKEN
    )


def token_args(
    boot: PoolBoot, hostname: str, machine: pulumi.Input[str], hours: int
) -> BootstrapTokenArgs:
    """Return what makes the token of a machine valid for `hours` after the machine was made.

    `machine` is the identity of the machine itself, by which another of the same name is another.
    """
    return BootstrapTokenArgs(
        node=hostname, machine=machine, hours=hours, token=token(boot, hostname)
    )


def join_part(boot: PoolBoot, hostname: str, tunnel: TunnelEnd | None = None) -> pulumi.Output[str]:
    """Return the secret Ignition that joins a machine."""
    join = partial(join_ignition_of, boot.cluster, hostname)
    own = token(boot, hostname)
    if tunnel is None:
        return own.apply(join)
    address, key = tunnel.address, pulumi.Output.secret(tunnel.private_key)
    return pulumi.Output.all(own, key).apply(lambda known: join(known[0], (address, known[1])))


def user_data(
    boot: PoolBoot,
    hostname: str,
    limit_bytes: int | None = None,
    tunnel: TunnelEnd | None = None,
) -> pulumi.Output[str]:
    """Return the user data of a machine, which is secret because it contains the join part.

    Raises PoolError where it is longer than `limit_bytes`; None is for no limit.
    """
    cluster = boot.cluster
    end = None if tunnel is None else (tunnel.address, SAMPLE_KEY)
    sample = join_ignition_of(cluster, hostname, SAMPLE_TOKEN, end)
    _whole(boot, limit_bytes, sample)  # refuses data that is too long before anything is made
    return join_part(boot, hostname, tunnel).apply(partial(_whole, boot, limit_bytes))


def payload(
    boot: PoolBoot, join: Merge, *, limit_bytes: int | None, store: str | None = None
) -> Payload:
    """Return the user data that merges `join` into the plain part, in the form that fits.

    `store` is an address from which the machines could read the plain part. Raises PoolError where
    the user data would be too long.
    """
    try:
        return fit(boot.ignition, (join,), limit_bytes=limit_bytes, store=store)
    except PayloadError as error:
        raise PoolError(
            f"pool {boot.pool.title}: {error} for {boot.pool.hardware.name}."
        ) from error


def join_ignition_of(
    cluster: Cluster, hostname: str | None, token: str, tunnel: tuple[str, str] | None = None
) -> str:
    """Return the join part; without `hostname` the machine keeps its own name.

    `tunnel` is the address and private key of the machine's end.
    """
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
