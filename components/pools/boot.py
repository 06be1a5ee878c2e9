"""The boot data of a pool's machines: a plain part with the tuning, a secret part that joins.

Every pool component takes a `PoolBoot`, and has the plain part as an input of its own, so that
rules can read each line even where the user data is secret or not yet known.
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
    """A pool cannot be made as it is described; the text is one sentence."""


@dataclass(frozen=True, kw_only=True)
class ClusterJoin:
    """The cluster that machines join; only the token is secret."""

    name: str
    endpoint: str
    ca_cert_hash: str
    token: pulumi.Input[str] = field(repr=False)


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
    efa: bool = False  # True where the machines load the driver of their EFA interfaces

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


def _chosen(tuning: Tuning) -> dict[str, object]:
    """Return the settings that differ from the defaults."""
    values, defaults = asdict(tuning), asdict(Tuning())
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value != defaults[name]
    }


def join_part(
    cluster: ClusterJoin, hostname: str | None, tunnel: TunnelEnd | None = None
) -> pulumi.Output[str]:
    """Return the secret Ignition that joins a machine; without `hostname` it keeps its own name."""
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
    """Return the user data of a machine, which is secret because it contains the join part.

    Raises PoolError where it is longer than `limit_bytes`; None is for no limit.
    """
    cluster = boot.cluster
    end = None if tunnel is None else (tunnel.address, SAMPLE_KEY)
    sample = _join_ignition(cluster, hostname, SAMPLE_TOKEN, end)
    _whole(boot, limit_bytes, sample)  # refuses data that is too long before anything is made
    return join_part(cluster, hostname, tunnel).apply(partial(_whole, boot, limit_bytes))


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
        raise PoolError(f"pool {boot.pool.name}: {error} for {boot.pool.hardware.name}.") from error


def _join_ignition(
    cluster: ClusterJoin, hostname: str | None, token: str, tunnel: tuple[str, str] | None = None
) -> str:
    """Return the join part; `tunnel` is the address and private key of the machine's end."""
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
