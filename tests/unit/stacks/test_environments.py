"""Invariants of the program in every environment, and the numbers of machines."""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote

import pytest

from policies.language.manifest import items
from policies.rules import ALL
from settings import load, stack_file
from settings.names import RELEASE, is_system_namespace
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS, NEVER_SHOWN, SECRETS, program, resources
from tests.support.recorder import Registered, Secret, exported, named, plain
from tests.unit.stacks.described import opened

everywhere = pytest.mark.parametrize("environment", ENVIRONMENTS)


def children(environment: str) -> list[Registered]:
    return [each for each in resources(environment) if not each.is_provider]


def texts(value: object) -> Iterator[str]:
    """Yield every text in a value, at any depth, data URLs also decoded."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)
    elif isinstance(value, str):
        yield value
        if value.startswith("{"):
            with suppress(ValueError):  # a template of Grafana's begins so too
                yield from texts(json.loads(value))
        head, comma, body = value.partition(",")
        if comma and head.startswith("data:"):
            decoded = base64.b64decode(body).decode() if ";base64" in head else unquote(body)
            yield from texts(decoded)


@everywhere
def test_preview_and_update_register_the_same_resources(environment: str) -> None:
    preview = resources(environment, preview=True)
    update = resources(environment)
    assert Counter((each.type, each.name) for each in preview) == Counter(
        (each.type, each.name) for each in update
    ), "a resource made inside apply would be missing from the preview"


@everywhere
def test_every_resource_but_a_provider_is_in_a_component(environment: str) -> None:
    for each in children(environment):
        parent_type = each.parent.split("::")[2].rsplit("$", 1)[-1]
        if each.custom:
            assert parent_type.startswith("gpu:"), f"{each.name} has no component as its parent"


@everywhere
def test_every_resource_has_the_provider_of_its_site(environment: str) -> None:
    providers = {"kubernetes": "cluster", "hcloud": "hetzner", "aws": "aws-us-east-1"}
    for each in children(environment):
        if each.custom and not each.type.startswith("pulumi-python:"):  # whose engine is Python
            wanted = providers[each.type.split(":")[0]]
            assert f"::{wanted}::" in each.provider, f"{each.name} has {each.provider or 'none'}"


@everywhere
def test_names_are_unique(environment: str) -> None:
    named_twice = [
        key
        for key, count in Counter((each.type, each.name) for each in children(environment)).items()
        if count > 1
    ]
    assert not named_twice
    objects = [
        (each.type, metadata.get("namespace"), metadata["name"])
        for each in children(environment)
        if isinstance(metadata := each.inputs.get("metadata"), dict)
    ]
    assert len(objects) == len(set(objects))


@everywhere
def test_children_are_named_after_their_component(environment: str) -> None:
    for each in children(environment):
        owner = each.parent.rsplit("::", 1)[-1]
        if "gpu:" in each.parent:
            assert each.name.startswith(f"{owner}-"), f"{each.name} is a child of {owner}"


@everywhere
@pytest.mark.parametrize("preview", [False, True])
def test_no_plain_input_holds_a_secret(environment: str, preview: bool) -> None:
    for each in resources(environment, preview=preview):
        shown = "\n".join(texts(plain(each.inputs)))
        for name, secret in NEVER_SHOWN.items():
            assert secret not in shown, f"{each.name} shows {name}"


@everywhere
def test_the_kubeconfig_stands_beside_the_cluster_alone(environment: str) -> None:
    """So a new one changes no other resource, and deletions never use an old one."""
    holders = {
        each.name
        for each in resources(environment)
        if SECRETS["kubeconfig"] in texts(opened(each.inputs))
    }
    assert holders == {"cluster"}


def test_the_test_for_secrets_looks_into_boot_data() -> None:
    server = named(resources("dev"), "Server")["cpu-1"]
    user_data = server.inputs["userData"]
    assert isinstance(user_data, Secret)
    assert re.search(r"[a-z0-9]{6}\.[a-z0-9]{16}", "\n".join(texts(user_data.value)))


@everywhere
def test_each_pool_shows_its_plain_ignition_at_preview(environment: str) -> None:
    pools = [
        each
        for each in resources(environment, preview=True)
        if each.type.startswith("gpu:pools:") and "Pool" in each.type
    ]
    shared = {"slices", "turns"} if environment == "research" else set()
    assert {each.name for each in pools} == {"dgx", "burst", "cpu", *shared}
    for each in pools:
        ignition = each.inputs["ignition"]
        assert isinstance(ignition, str), f"the Ignition of {each.name} is secret or unknown"
        assert json.loads(ignition)["ignition"]["version"] == "3.4.0"
        assert each.inputs["hardware"] in {"dgx-h200", "p5e.48xlarge", "ccx33"}


@pytest.mark.parametrize(
    ("environment", "dgx", "servers", "gpu_limit", "groups"),
    [("dev", 2, 3, 16, 1), ("research", 8, 6, 32, 1), ("prod", 16, 9, 64, 1)],
)
def test_an_environment_has_the_machines_of_its_stack_file(
    environment: str, dgx: int, servers: int, gpu_limit: int, groups: int
) -> None:
    found = resources(environment)
    assert len(named(found, "BareMetalHost")) == dgx
    assert len(named(found, "Server")) == servers
    assert len(named(found, "PlacementGroup")) == groups
    limits = [
        int(each.inputs["spec"]["limits"]["nvidia.com/gpu"])  # type: ignore[index]  # a NodePool's
        for each in named(found, "NodePool").values()
    ]
    assert sum(limits) == gpu_limit


def test_the_summary_is_whole_and_holds_no_secret() -> None:
    summary = exported(program("dev"))
    assert summary["environment"] == "dev"
    pools = summary["pools"]
    assert isinstance(pools, dict)
    assert pools["dgx"]["nodes"] == ["dev-dgx-01", "dev-dgx-02"]
    assert pools["burst"]["gpu_limit"] == 16
    assert pools["cpu"]["nodes"] == ["fleet-dev-cpu-1", "fleet-dev-cpu-2", "fleet-dev-cpu-3"]
    for secret in NEVER_SHOWN.values():
        assert secret not in repr(summary)


@everywhere
def test_no_queue_may_have_the_name_of_a_namespace_of_the_program_its_charts_or_rules(
    environment: str,
) -> None:
    teams = load(stack_file(ROOT, environment)).teams.values()
    queues = {queue for team in teams for queue in team.queues}
    made = {
        str(found.inputs["metadata"]["name"])  # type: ignore[index]  # the test fails without one
        for found in resources(environment)
        if found.type == "kubernetes:core/v1:Namespace"
    }
    of_charts = {
        str(found.inputs["namespace"])
        for found in resources(environment)
        if found.type == RELEASE and isinstance(found.inputs["namespace"], str)
    }
    of_rules = {name for rule in ALL for name in items(rule.defaults().get("namespaces"))}
    assert {"kured", "gpu-operator", "volcano-system"} <= of_charts
    assert "fleet-acceptance" in of_rules
    names = (made | of_charts | {str(name) for name in of_rules}) - queues
    assert [name for name in sorted(names) if not is_system_namespace(name)] == []


# DaemonSets and controllers that an update brings back
HOLDS_NOTHING = {
    "join-tokens-namespace",
    "node-check-namespace",
    "rdma-namespace",
    "scratch-namespace",
}


@everywhere
def test_what_holds_machines_jobs_or_data_is_protected_and_no_server_is(environment: str) -> None:
    """A server comes back in minutes; a wiped machine, a namespace and data do not."""
    found = children(environment)
    protected = {(each.kind, each.name) for each in found if each.protect}
    wanted = {
        (each.kind, each.name)
        for each in found
        if each.kind in {"BareMetalHost", "Repository"}
        or (each.kind == "Namespace" and each.name not in HOLDS_NOTHING)
        or each.name == "lakefs-store-bucket"
    }
    assert wanted <= protected
    assert {name for _, name in protected - wanted} <= {
        each.name for each in found if each.name.startswith("lakefs-store-")
    }
    assert {kind for kind, _ in protected} >= {"BareMetalHost", "Namespace"}


@everywhere
def test_a_rotated_credential_deletes_nothing_in_the_cluster(environment: str) -> None:
    """The provider's own behaviour is in tests/unit/rehearsal/providers/test_kubeconfig.py."""
    (cluster,) = [each for each in resources(environment) if each.name == "cluster"]
    settings = load(stack_file(ROOT, environment))
    assert cluster.inputs["clusterIdentifier"] == settings.cluster.name
    assert cluster.inputs["enableSecretMutable"] == "true"
    assert cluster.inputs["enableConfigMapMutable"] == "true"


@everywhere
def test_only_a_new_host_gets_its_image_from_the_program(environment: str) -> None:
    hosts = named(resources(environment), "BareMetalHost")
    assert {host.ignore_changes for host in hosts.values()} == {("spec.image",)}
