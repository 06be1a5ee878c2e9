"""What a person's own programs would hear from the simulated clouds: Hetzner's API, AWS's command.

`fleet resume` and `fleet destroy` ask them, in a twin as for a real account.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import grpc  # type: ignore[import-untyped]  # grpcio ships no types
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from rehearsal.errors import RehearsalError
from rehearsal.providers import cloud
from rehearsal.providers.aws.facts import ACCOUNT
from rehearsal.providers.values import Properties, encode
from settings.names import RELEASE

HETZNER = "hcloud:index/"
KINDS = {
    "firewalls": "firewall:Firewall",
    "load_balancers": "loadBalancer:LoadBalancer",
    "networks": "network:Network",
    "placement_groups": "placementGroup:PlacementGroup",
    "primary_ips": "primaryIp:PrimaryIp",
    "servers": "server:Server",
    "volumes": "volume:Volume",
}
PORTS = "providers.json"
"""The file with the ports that the stand-in providers serve."""
ACCESS_KEY = "aws:iam/accessKey:AccessKey"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"


Answer = Callable[[str, Mapping[str, str]], Mapping[str, Any] | None]
"""What an API has under a path, for the keys of a query; None where it knows no such path."""


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """Serves Hetzner's API for the rehearsal in `directory`; yields its address."""

    def answer(kind: str, query: Mapping[str, str]) -> Mapping[str, Any] | None:
        return {kind: _found(directory, kind, query)} if kind in KINDS else None

    with json_api(answer) as address:
        yield address


@contextmanager
def json_api(answer: Answer) -> Iterator[str]:
    """Serves what `answer` returns as JSON on a free port of 127.0.0.1; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the protocol's name
            url = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            found = answer(url.path.strip("/"), query)
            text = json.dumps(found or {}).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_args: object) -> None:  # the base class prints
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def aws(directory: Path) -> Callable[[Sequence[str]], dict[str, Any]]:
    """Returns AWS's command as the simulated account answers it."""

    def answer(words: Sequence[str]) -> dict[str, Any]:
        match list(words):
            case ["sts", "get-caller-identity"]:
                return {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:user/rehearsal"}
            case ["iam", "list-access-keys", "--user-name", user]:
                keys = (each for each in cloud.read(directory) if each.type == ACCESS_KEY)
                own = [each.id for each in keys if each.inputs.get("user") == user]
                now = datetime.now(UTC).isoformat()  # none is older than the rehearsal
                return {
                    "AccessKeyMetadata": [{"AccessKeyId": id_, "CreateDate": now} for id_ in own]
                }
            case ["iam", "delete-access-key", "--user-name", _, "--access-key-id", key]:
                _delete(directory, ACCESS_KEY, key)
                return {}
            case ["ec2", "describe-security-groups", "--filters", filters, "--region", region]:
                return {"SecurityGroups": _security_groups(directory, filters, region)}
            case _:
                raise RehearsalError(f"`aws {' '.join(words)}` cannot be rehearsed.")

    return answer


def _security_groups(directory: Path, filters: str, region: str) -> list[dict[str, Any]]:
    """The groups of a region that match all filters, in the form that AWS's command takes."""
    asked = {each["Name"]: each["Values"] for each in json.loads(filters)}
    groups = (each for each in cloud.read(directory) if each.type == SECURITY_GROUP)
    return [
        {"GroupId": each.id, "GroupName": each.inputs["name"], "VpcId": each.outputs["vpcId"]}
        for each in groups
        if each.inputs.get("name") in asked["group-name"]
        and each.outputs.get("vpcId") in asked["vpc-id"]
        and each.outputs.get("region") == region
    ]


def wait_for_calls(directory: Path) -> None:
    """Waits until clouds and cluster have done what a killed engine has asked them for."""
    for package in ("aws", "hcloud", "kubernetes"):
        with _provider(directory, package):
            pass


def uninstall(directory: Path, release: Mapping[str, Any]) -> None:
    """Does what `helm uninstall` does with the release that has these inputs."""
    id_ = f"{release['namespace']}/{release['name']}"
    chart: Properties = {key: each for key, each in release.items() if isinstance(each, str | bool)}
    _delete(directory, RELEASE, id_, package="kubernetes", inputs=chart)


def _delete(
    directory: Path,
    type_: str,
    id_: str,
    *,
    package: str = "aws",
    inputs: Properties | None = None,
) -> None:
    """Deletes a thing that its provider has in memory."""
    urn = f"urn:pulumi:rehearsal::gpu-fleet::{type_}::{id_}"
    with _provider(directory, package) as provider:
        given = encode(inputs or {})
        provider.Delete(provider_pb2.DeleteRequest(id=id_, urn=urn, old_inputs=given))


@contextmanager
def _provider(directory: Path, package: str) -> Iterator[provider_pb2_grpc.ResourceProviderStub]:
    """Connects to a stand-in provider, as an engine does."""
    port = json.loads((directory / PORTS).read_text(encoding="utf-8"))[package]
    no_proxy = [("grpc.enable_http_proxy", 0)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=no_proxy) as channel:
        provider = provider_pb2_grpc.ResourceProviderStub(channel)
        access: Properties = {"region": "us-east-1"}
        if package == "kubernetes":
            access = {"kubeconfig": (directory / "kubeconfig").read_text(encoding="utf-8")}
        provider.Configure(provider_pb2.ConfigureRequest(args=encode(access), name=package))
        yield provider


def _found(directory: Path, kind: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
    """What is of a kind, and has the name and the labels asked for."""
    things = [each for each in cloud.read(directory) if each.type == HETZNER + KINDS[kind]]
    named = [each for each in things if query.get("name") in (None, each.inputs.get("name"))]
    return [
        {"id": int(each.id), "name": each.inputs.get("name")}
        for each in named
        if _selects(query.get("label_selector", ""), each.inputs.get("labels"))
    ]


def _selects(selector: str, labels: object) -> bool:
    """Returns whether labels match a selector: key, !key, key==value, joined by commas."""
    own = labels if isinstance(labels, dict) else {}
    for term in filter(None, selector.split(",")):
        key, equals, value = term.partition("==")
        if equals and own.get(key) != value:
            return False
        if not equals and (key.lstrip("!") in own) == key.startswith("!"):
            return False
    return True
