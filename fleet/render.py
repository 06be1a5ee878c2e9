"""Writes the boot data of each pool of an environment as files, for reviews.

A folder for each pool: `butane.yaml` is the source of the plain part, `ignition.json` its
translation, `join.json` the secret part with its secrets masked, `user-data.json` both parts in
one, the input of `fleet boot`.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ignition.write.render import (
    Join,
    NodeBoot,
    RenderError,
    data_url,
    join_ignition,
    tuning_butane,
    tuning_ignition,
    with_merge,
)
from ignition.write.wireguard import WireGuardKey
from settings import BareMetalPoolSettings, ResolvedPool, Settings, load, stack_file
from settings.node_boot import node_boot, node_versions
from settings.tunnels import of_site, with_length

# these have the forms of real secrets, so that the files boot
MASKED = "masked.0000000000000000"
MASKED_KEY = f"{'masked':A<43}="
HOSTNAME = "name-of-the-machine"


class OutputError(RuntimeError):
    """Files cannot be written, or boot data cannot be rendered; one sentence."""


def render(root: Path, environment: str, out: Path) -> tuple[Path, ...]:
    """Write the files of an environment of the checkout at `root` below `out`; return their paths.

    Raises SettingsError for a stack file with mistakes, OutputError for anything else.
    """
    settings = load(stack_file(root, environment))
    versions = node_versions(settings.versions)
    written: list[Path] = []
    for pool in settings.pools.values():
        try:
            tunnel = of_site(settings.sites[pool.site])
            boot = node_boot(pool, versions, tunnel)
            files = dict(_files(settings, pool, boot))
        except RenderError as error:
            raise OutputError(f"pool {pool.title}: {error}.") from error
        written.extend(_write(out / pool.title, files))
    return tuple(written)


def _files(settings: Settings, pool: ResolvedPool, boot: NodeBoot) -> Iterator[tuple[str, str]]:
    yield "butane.yaml", tuning_butane(boot)
    plain = tuning_ignition(boot)
    yield "ignition.json", _pretty(plain)
    secret = join_ignition(_join(settings, pool))
    yield "join.json", _pretty(secret)
    yield "user-data.json", _pretty(with_merge(plain, data_url(secret)))


def _join(settings: Settings, pool: ResolvedPool) -> Join:
    """The secret part of the pool's boot data; for a tunnel, that of the first machine."""
    join = Join(
        api_server_endpoint=settings.cluster.endpoint,
        token=MASKED,
        ca_cert_hash=settings.cluster.ca_cert_hash,
        hostname=None if pool.rented else HOSTNAME,  # EC2 names its own instances
    )
    tunnel = of_site(settings.sites[pool.site])
    declared = pool.declared
    address = (
        declared.machines[0].tunnel_address if isinstance(declared, BareMetalPoolSettings) else None
    )
    if tunnel is None or address is None:
        return join
    return replace(
        join,
        wireguard_key=WireGuardKey(private_key=MASKED_KEY),
        wireguard_address=with_length(tunnel, address),
    )


def _pretty(text: str) -> str:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def _write(folder: Path, files: dict[str, str]) -> Iterator[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
            yield folder / name
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}.") from error
