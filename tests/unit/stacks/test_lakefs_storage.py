"""The data of an environment: lakeFS where its stack file has it, and nowhere else."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import pulumi

from components.pools.aws_boot import bucket_name as bucket_of_pool
from components.pools.boot import ClusterJoin
from policies.environment import Environment, load
from settings import stack_file
from settings.node_boot import node_versions
from stacks.compose import compose, pool_boot
from stacks.lakefs_storage import bucket_name
from tests.conftest import ROOT
from tests.support.environments import SECRETS
from tests.support.recorder import named, render

DEV = load(stack_file(ROOT, "dev"))


def test_without_a_section_there_is_nothing_of_lakefs_and_no_secret_of_it_is_needed() -> None:
    bare = dataclasses.replace(DEV, settings=dataclasses.replace(DEV.settings, lakefs=None))
    secrets = {name: text for name, text in SECRETS.items() if not name.startswith("lakefs")}

    def program() -> None:
        compose(bare, {name: pulumi.Output.secret(text) for name, text in secrets.items()})

    assert [each.name for each in render(program) if "lakefs" in each.name] == []


def test_lakefs_is_served_at_its_endpoint_where_there_is_a_certificate_for_it() -> None:
    assert DEV.settings.lakefs is not None
    served = dataclasses.replace(DEV.settings.lakefs, tls_secret="lakefs-tls")

    def values(environment: Environment) -> Mapping[str, Any]:
        def program() -> None:
            compose(
                environment, {name: pulumi.Output.secret(text) for name, text in SECRETS.items()}
            )

        releases = named(render(program), "Release")
        return {name: release.inputs.get("values", {}) for name, release in releases.items()}

    found, without = (
        values(dataclasses.replace(DEV, settings=dataclasses.replace(DEV.settings, lakefs=served))),
        values(DEV),
    )
    ingress = found["lakefs-server-release"]["ingress"]
    host = DEV.settings.lakefs.endpoint.removeprefix("https://")
    assert ingress["hosts"] == [{"host": host, "paths": ["/"]}]
    assert ingress["tls"] == [{"secretName": "lakefs-tls", "hosts": [host]}]
    assert ingress["ingressClassName"] == "cilium"
    assert found["cilium-release"]["ingressController"]["enabled"]
    assert not without["lakefs-server-release"]["ingress"]["enabled"]
    assert "ingressController" not in without["cilium-release"], "nothing else wants a way in"


def test_the_bucket_is_none_of_a_pool_even_where_the_pool_is_called_as_the_site() -> None:
    cluster = DEV.settings.cluster
    join = ClusterJoin(
        name=cluster.name,
        endpoint=cluster.endpoint,
        ca_cert_hash=cluster.ca_cert_hash,
        seed=pulumi.Output.secret("seed"),
    )
    boot = pool_boot(join, node_versions(DEV.settings.versions), DEV.settings.pools["burst"])
    assert bucket_name(cluster, "us-east-1") != bucket_of_pool(boot.cluster, boot.pool.name)


def test_the_longest_names_still_make_the_name_of_a_bucket() -> None:
    longest = dataclasses.replace(DEV.settings.cluster, name="a" * 24)
    assert len(bucket_name(longest, "b" * 24)) <= 63
