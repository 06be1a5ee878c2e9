"""`python -m rehearsal.providers --directory .rehearsal/dev --crds .toolchain/crds`

Serves four gRPC servers, one for each package, and a fake of lakeFS on free ports of 127.0.0.1,
prints the ports of the packages as one JSON line when they are ready, and ends on SIGTERM.
"""

import argparse
import json
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc  # type: ignore[import-untyped]  # grpcio ships no types
from pulumi.runtime.proto import provider_pb2_grpc

from rehearsal import lakefs_server
from rehearsal.lakefs_server import LakefsServer
from rehearsal.providers.aws.package import package as aws
from rehearsal.providers.calls import CallLog
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.contract import Provider
from rehearsal.providers.dynamic import DynamicProvider
from rehearsal.providers.hcloud.package import package as hcloud
from rehearsal.providers.kubernetes.provider import KubernetesProvider
from rehearsal.providers.servicer import Servicer
from rehearsal.providers.simulated import SimulatedProvider

PARALLEL_CALLS = 32
MESSAGE_LIMIT_BYTES = 400 * 1024 * 1024  # the engine's own
STOP_GRACE_S = 0.5


def main() -> None:
    """Serves until SIGTERM."""
    arguments = _arguments()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    # Ctrl-C reaches the whole terminal; the engine must still be able to finish what runs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    arguments.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with served(arguments.directory, arguments.crds, arguments.programs) as ports:
        sys.stdout.write(json.dumps(ports) + "\n")
        sys.stdout.flush()
        sys.stdout = sys.stderr  # the program's own providers print their progress
        ended.wait()


@contextmanager
def served(directory: Path, crds: Path, programs: Mapping[str, Path]) -> Iterator[dict[str, int]]:
    """Serves the providers of the rehearsal in `directory`; yields the port of each package."""
    with lakefs_server.served(directory) as lakefs:
        providers = _providers(Cloud(directory), crds, programs, lakefs)
        with _served(providers, CallLog(directory)) as ports:
            yield ports


@contextmanager
def _served(providers: Sequence[Provider], log: CallLog) -> Iterator[dict[str, int]]:
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


def _providers(
    cloud: Cloud, crds: Path, programs: Mapping[str, Path], lakefs: LakefsServer
) -> tuple[Provider, ...]:
    return (
        SimulatedProvider(hcloud(), cloud),
        SimulatedProvider(aws(), cloud),
        KubernetesProvider(cloud=cloud, crds=crds, programs=programs),
        DynamicProvider(cloud=cloud, lakefs=lakefs),
    )


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


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rehearsal.providers", description=__doc__)
    parser.add_argument(
        "--directory", type=Path, required=True, help="where calls.jsonl and cloud.json are written"
    )
    parser.add_argument(
        "--crds", type=Path, required=True, help="CustomResourceDefinitions, one folder a system"
    )
    parser.add_argument(
        "--programs", type=_paths, default={}, help="the controllers' programs by name, as JSON"
    )
    return parser.parse_args()


def _paths(text: str) -> dict[str, Path]:
    return {str(name): Path(path) for name, path in json.loads(text).items()}


if __name__ == "__main__":
    main()
