"""What the machines of a pool boot with: the plain tuning part, and the secret part that joins.

Every pool component takes a `PoolBoot`, whatever its site, and hands the plain part on as an input
of its own, so that a rule can read each line even where the user data is secret or not yet known.
"""

from dataclasses import asdict, dataclass, field
from functools import partial

import pulumi

from ignition.plan.tuning import Tuning
from ignition.write.payload import Merge, Payload, PayloadError, data_url, fit
from ignition.write.render import Join, join_ignition
from ignition.write.wireguard import WireGuardKey
from settings.resolved import ResolvedPool

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
    """A pool, what its machines run, and the plain Ignition that follows from both."""

    cluster: ClusterJoin
    pool: ResolvedPool
    flatcar: str  # the release that the machines run
    ignition: str
    efa: bool = False  # whether its machines load the driver of their EFA interfaces

    @property
    def inputs(self) -> dict[str, object]:
        """What a pool component shows of itself to rules and in previews."""
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


def _chosen(tuning: Tuning) -> dict[str, object]:
    """The choices that differ from the defaults."""
    values, defaults = asdict(tuning), asdict(Tuning())
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value != defaults[name]
    }


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

    Raises PoolError where it is longer than `limit_bytes`; None is for no limit.
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
    the user data would be too long.
    """
    try:
        return fit(boot.ignition, (join,), limit_bytes=limit_bytes, store=store)
    except PayloadError as error:
        raise PoolError(f"pool {boot.pool.name}: {error} for {boot.pool.hardware.name}.") from error


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
