"""lakeFS itself: its chart's values, and the Secret that holds every secret of it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml

from components.platform.lakefs.server import (
    LakefsServer,
    LakefsServerArgs,
    Postgres,
    checked_connection,
    checked_key,
    digest,
)
from components.platform.lakefs.values import S3, DynamoDbTable, Ingress, Serving, configuration
from settings.versions import LAKEFS, LAKEFS_IMAGE_TAG
from tests.support.recorder import Registered, Secret, named, render

KEY = "6f1ed002ab5595859014ebf0951522d9a1b2c3d4e5f60718293a4b5c6d7e8f90"
CONNECTION = "postgres://lakefs:hunter2@db.example:5432/lakefs"
AWS = S3(region="us-east-1")


def program(**changes: Any) -> Callable[[], None]:
    given = {
        "auth_encrypt_key": KEY,
        "database": Postgres(connection_string=CONNECTION),
        "store": AWS,
        "s3_access_key_id": "AKIASTORE",
        "s3_secret_access_key": "store-secret",
        **changes,
    }

    def declare() -> None:
        LakefsServer("lakefs", LakefsServerArgs(**given))

    return declare


def release(resources: list[Registered]) -> Mapping[str, Any]:
    return named(resources, "Release")["lakefs-release"].inputs


def secret_data(resources: list[Registered]) -> Mapping[str, Any]:
    data = named(resources, "Secret")["lakefs-keys"].inputs["stringData"]
    assert isinstance(data, Secret), "pulumi-kubernetes makes the whole of it a secret"
    assert isinstance(data.value, Mapping)
    return data.value


def test_the_chart_and_its_image_are_pinned() -> None:
    found = release(render(program()))
    assert (found["chart"], found["version"]) == ("lakefs", LAKEFS.version)
    assert found["repositoryOpts"] == {"repo": LAKEFS.repository}
    assert found["values"]["image"] == {"community": {"tag": LAKEFS_IMAGE_TAG}}


def test_every_secret_is_in_one_kubernetes_secret_and_secret_to_the_engine() -> None:
    resources = render(program())
    assert secret_data(resources) == {
        "auth_encrypt_secret_key": KEY,
        "database_connection_string": CONNECTION,
        "s3_access_key_id": "AKIASTORE",
        "s3_secret_access_key": "store-secret",
    }
    for value in (KEY, CONNECTION, "AKIASTORE", "store-secret"):
        assert value not in str(release(resources)), "the values of a release are readable"


def test_the_chart_reads_that_secret_and_makes_none_of_its_own() -> None:
    resources = render(program())
    secret = named(resources, "Secret")["lakefs-keys"]
    values = release(resources)["values"]
    assert secret.inputs["metadata"] == {"name": "lakefs-keys", "namespace": "lakefs"}
    assert values["existingSecret"] == "lakefs-keys"
    assert values["secretKeys"] == {
        "authEncryptSecretKey": "auth_encrypt_secret_key",
        "databaseConnectionString": "database_connection_string",
    }
    assert values["useDevPostgres"] is False
    (chart,) = named(resources, "Release").values()
    assert any("lakefs-keys" in urn for urn in chart.depends_on)


def test_the_keys_of_the_store_come_from_the_secret_as_environment() -> None:
    found = {
        each["name"]: each["valueFrom"]
        for each in release(render(program()))["values"]["extraEnvVars"]
    }
    reference = found["LAKEFS_BLOCKSTORE_S3_CREDENTIALS_SECRET_ACCESS_KEY"]["secretKeyRef"]
    assert reference == {"name": "lakefs-keys", "key": "s3_secret_access_key"}
    assert "LAKEFS_DATABASE_DYNAMODB_AWS_ACCESS_KEY_ID" not in found


def test_nothing_is_kept_in_a_pod() -> None:
    for database in (Postgres(connection_string=CONNECTION), DynamoDbTable(table="t", region="r")):
        values = release(render(program(database=database)))["values"]
        written = yaml.safe_load(values["lakefsConfig"])
        assert written["database"]["type"] in ("postgres", "dynamodb")
        assert written["blockstore"]["type"] == "s3"
        assert written["stats"] == {"enabled": False}
        assert written["security"] == {"audit_check_url": "", "check_latest_version": False}


def test_replicas_do_not_share_a_node_while_there_is_another() -> None:
    (spread,) = release(render(program()))["values"]["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["maxSkew"]) == ("kubernetes.io/hostname", 1)


def test_with_dynamodb_there_is_no_connection_string_and_the_same_keys_serve() -> None:
    resources = render(program(database=DynamoDbTable(table="lakefs-dev", region="eu-central-1")))
    assert "database_connection_string" not in secret_data(resources)
    values = release(resources)["values"]
    assert values["secretKeys"].get("databaseConnectionString") is None
    assert yaml.safe_load(values["lakefsConfig"])["database"] == {
        "type": "dynamodb",
        "dynamodb": {"table_name": "lakefs-dev", "aws_region": "eu-central-1"},
    }
    assert "LAKEFS_DATABASE_DYNAMODB_AWS_ACCESS_KEY_ID" in str(values["extraEnvVars"])


@pytest.mark.parametrize("local", ["local", "mem", None])
def test_a_database_in_the_pod_is_refused(local: object) -> None:
    with pytest.raises(TypeError, match=f"database is {local!r}; allowed: PostgreSQL or DynamoDB"):
        render(program(database=local))


def test_dynamodb_does_not_take_the_keys_of_another_store() -> None:
    hetzner = S3(region="fsn1", endpoint="https://fsn1.your-objectstorage.com")
    with pytest.raises(ValueError, match="allowed: PostgreSQL for a store that is not on AWS"):
        render(program(database=DynamoDbTable(table="t", region="r"), store=hetzner))


def test_a_store_that_is_not_on_aws_is_reached_by_path() -> None:
    store = S3(region="fsn1", endpoint="https://fsn1.your-objectstorage.com")
    assert yaml.safe_load(configuration(None, store))["blockstore"]["s3"] == {
        "region": "fsn1",
        "endpoint": "https://fsn1.your-objectstorage.com",
        "force_path_style": True,
        "discover_bucket_region": False,
    }
    assert yaml.safe_load(configuration(None, AWS))["blockstore"]["s3"] == {"region": "us-east-1"}


def test_more_than_one_server_runs_unless_fewer_are_asked_for() -> None:
    assert release(render(program()))["values"]["replicaCount"] == 2
    with pytest.raises(ValueError, match="replicas is 0; allowed: 1 or more"):
        Serving(replicas=0)


def test_an_address_outside_of_the_cluster_has_tls() -> None:
    ingress = Ingress(host="lakefs.fleet.example", class_name="cilium", tls_secret="lakefs-tls")
    values = release(render(program(serving=Serving(ingress=ingress))))["values"]
    assert values["ingress"]["tls"] == [
        {"secretName": "lakefs-tls", "hosts": ["lakefs.fleet.example"]}
    ]
    assert values["ingress"]["hosts"][0]["host"] == "lakefs.fleet.example"
    assert release(render(program()))["values"]["ingress"] == {"enabled": False}


def test_another_secret_starts_other_pods_and_tells_nothing() -> None:
    before = release(render(program()))["values"]["podAnnotations"]["fleet.gpu/secret"]
    again = release(render(program()))["values"]["podAnnotations"]["fleet.gpu/secret"]
    after = release(render(program(s3_secret_access_key="rotated")))["values"]["podAnnotations"]
    assert before == again != after["fleet.gpu/secret"]
    data = {"auth_encrypt_secret_key": KEY, "s3_secret_access_key": "store-secret"}
    assert digest(data) != digest({**data, "auth_encrypt_secret_key": KEY[::-1]}), "it is keyed"


@pytest.mark.parametrize(
    "placeholder",
    [
        "",
        "hunter2",
        "a" * 64,
        "THIS_MUST_BE_CHANGED_IN_PRODUCTION",
        "some random secret string of a quickstart",
        "[ENCRYPTION_SECRET_KEY]-[ENCRYPTION_SECRET_KEY]",
    ],
)
def test_a_placeholder_is_no_encryption_key(placeholder: str) -> None:
    with pytest.raises(ValueError, match="is a placeholder or too short") as refused:
        checked_key(placeholder)
    assert not placeholder or placeholder not in str(refused.value)
    with pytest.raises(ValueError, match="is a placeholder or too short"):
        render(program(auth_encrypt_key=placeholder))


def test_a_random_key_is_taken_as_it_is() -> None:
    assert checked_key(KEY) == KEY


def test_a_connection_string_of_another_database_is_refused_without_being_shown() -> None:
    with pytest.raises(ValueError, match="must start with postgres://") as refused:
        checked_connection("mysql://lakefs:hunter2@db")
    assert "hunter2" not in str(refused.value)
    wrong = Postgres(connection_string="mysql://lakefs:hunter2@db")
    with pytest.raises(ValueError, match="must start with postgres://"):
        render(program(database=wrong))


def test_no_secret_is_in_the_repr_of_what_is_passed_around() -> None:
    args = LakefsServerArgs(
        auth_encrypt_key=KEY,
        database=Postgres(connection_string=CONNECTION),
        store=AWS,
        s3_access_key_id="AKIASTORE",
        s3_secret_access_key="store-secret",
    )
    assert not any(part in repr(args) for part in (KEY, "hunter2", "AKIASTORE", "store-secret"))


def test_preview_and_up_register_the_same() -> None:
    def kinds(resources: list[Registered]) -> list[tuple[str, str]]:
        return [(each.kind, each.name) for each in resources]

    assert kinds(render(program(), preview=True)) == kinds(render(program()))


def test_a_second_kind_of_store_is_a_second_installation() -> None:
    resources = render(program(installation="lakefs-fra"))
    assert release(resources)["name"] == release(resources)["namespace"] == "lakefs-fra"
    assert named(resources, "Secret")["lakefs-keys"].inputs["metadata"] == {
        "name": "lakefs-fra-keys",
        "namespace": "lakefs-fra",
    }
