"""Four gRPC servers in one process, one for each package, on free ports of 127.0.0.1."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import grpc  # type: ignore[import-untyped]  # grpcio ships no types
from pulumi.runtime.proto import provider_pb2_grpc

from rehearsal.providers.aws.package import package as aws
from rehearsal.providers.calls import CallLog
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.dynamic import DynamicProvider
from rehearsal.providers.hcloud.package import package as hcloud
from rehearsal.providers.kubernetes.provider import KubernetesProvider
from rehearsal.providers.servicer import Servicer
from rehearsal.providers.simulated import SimulatedProvider

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rehearsal.providers.contract import Provider

PARALLEL_CALLS = 32
MESSAGE_LIMIT_BYTES = 400 * 1024 * 1024  # the engine's own
STOP_GRACE_S = 0.5


@contextmanager
def served(directory: Path, crds: Path) -> Iterator[dict[str, int]]:
    """Serves the stand-ins for the rehearsal in `directory`; gives the port of each package."""
    cloud, log = Cloud(directory), CallLog(directory)
    providers: tuple[Provider, ...] = (
        SimulatedProvider(hcloud(), cloud),
        SimulatedProvider(aws(), cloud),
        KubernetesProvider(cloud=cloud, crds=crds),
        DynamicProvider(cloud=cloud),
    )
    servicers = {provider.package: Servicer(provider, log) for provider in providers}
    servers = {name: _server(servicer) for name, servicer in servicers.items()}
    ports = {name: server.add_insecure_port("127.0.0.1:0") for name, server in servers.items()}
    for server in servers.values():
        server.start()
    try:
        yield ports
    finally:
        for servicer in servicers.values():
            servicer.stop()
        for stopped in [server.stop(STOP_GRACE_S) for server in servers.values()]:
            stopped.wait()


def _server(servicer: Servicer) -> grpc.Server:
    server = grpc.server(
        ThreadPoolExecutor(max_workers=PARALLEL_CALLS),
        options=[
            ("grpc.max_receive_message_length", MESSAGE_LIMIT_BYTES),
            ("grpc.max_send_message_length", MESSAGE_LIMIT_BYTES),
        ],
    )
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    return server
