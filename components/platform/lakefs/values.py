"""The values of lakeFS's chart, with the server's configuration in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from settings.versions import LAKEFS_IMAGE_TAG

AUTH_KEY = "auth_encrypt_secret_key"
DATABASE_KEY = "database_connection_string"
S3_ACCESS_KEY = "s3_access_key_id"
S3_SECRET_KEY = "s3_secret_access_key"  # noqa: S105  # the name of a key in a Secret

S3_ENVIRONMENT = {
    "LAKEFS_BLOCKSTORE_S3_CREDENTIALS_ACCESS_KEY_ID": S3_ACCESS_KEY,
    "LAKEFS_BLOCKSTORE_S3_CREDENTIALS_SECRET_ACCESS_KEY": S3_SECRET_KEY,
}
DYNAMODB_ENVIRONMENT = {
    "LAKEFS_DATABASE_DYNAMODB_AWS_ACCESS_KEY_ID": S3_ACCESS_KEY,
    "LAKEFS_DATABASE_DYNAMODB_AWS_SECRET_ACCESS_KEY": S3_SECRET_KEY,
}
# the loss of a node is not that of all replicas
_APART = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "lakefs"}},
}


@dataclass(frozen=True, kw_only=True)
class DynamoDbTable:
    """DynamoDB as the key-value store. lakeFS makes the table when it is not there."""

    table: str
    region: str


@dataclass(frozen=True, kw_only=True)
class S3:
    """The object store. `endpoint` is for stores other than AWS, which use paths, not hosts."""

    region: str
    endpoint: str | None = None


@dataclass(frozen=True, kw_only=True)
class Ingress:
    """The address outside the cluster, with TLS from a Secret of the same namespace."""

    host: str
    class_name: str
    tls_secret: str
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Serving:
    """Replicas and their resources, the nodes that they run on, and the ingress."""

    replicas: int = 2
    cpu: str = "1"
    memory: str = "2Gi"
    node_selector: Mapping[str, str] = field(default_factory=dict)
    ingress: Ingress | None = None

    def __post_init__(self) -> None:
        if self.replicas < 1:
            raise ValueError(f"replicas is {self.replicas}; allowed: 1 or more.")


def configuration(database: DynamoDbTable | None, store: S3) -> str:
    """Returns the server's configuration, which has no secret; `database` None is PostgreSQL."""
    if database is None:
        stored: dict[str, object] = {"type": "postgres"}
    else:
        dynamodb = {"table_name": database.table, "aws_region": database.region}
        stored = {"type": "dynamodb", "dynamodb": dynamodb}
    s3: dict[str, object] = {"region": store.region}
    if store.endpoint is not None:
        # such stores do not answer GetBucketRegion
        own = {"endpoint": store.endpoint, "force_path_style": True}
        s3 = {**s3, **own, "discover_bucket_region": False}
    return yaml.safe_dump(
        {
            "database": stored,
            "blockstore": {"type": "s3", "s3": s3},
            # nothing about a desk's data leaves it, not even how much there is or that there is any
            # (https://docs.lakefs.io/admin/outbound-connections/)
            "stats": {"enabled": False},
            "security": {"audit_check_url": "", "check_latest_version": False},
        },
        sort_keys=False,
    )


def chart_values(
    installation: str, database: DynamoDbTable | None, store: S3, serving: Serving
) -> dict[str, object]:
    """Returns the chart's values. Every secret is read from the Secret `<installation>-keys`."""
    secret = f"{installation}-keys"
    environment = {**S3_ENVIRONMENT, **(DYNAMODB_ENVIRONMENT if database is not None else {})}
    return {
        "fullnameOverride": installation,
        "replicaCount": serving.replicas,
        "image": {"community": {"tag": LAKEFS_IMAGE_TAG}},
        "useDevPostgres": False,
        "existingSecret": secret,
        "secretKeys": {
            "authEncryptSecretKey": AUTH_KEY,
            "databaseConnectionString": DATABASE_KEY if database is None else None,
        },
        "extraEnvVars": [
            {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
            for name, key in environment.items()
        ],
        "lakefsConfig": configuration(database, store),
        "resources": {
            "requests": {"cpu": serving.cpu, "memory": serving.memory},
            "limits": {"memory": serving.memory},
        },
        "nodeSelector": dict(serving.node_selector),
        "topologySpreadConstraints": [_APART],
        "ingress": _ingress(serving.ingress),
    }


def _ingress(ingress: Ingress | None) -> dict[str, object]:
    if ingress is None:
        return {"enabled": False}
    return {
        "enabled": True,
        "ingressClassName": ingress.class_name,
        "annotations": dict(ingress.annotations),
        "hosts": [{"host": ingress.host, "paths": ["/"]}],
        "tls": [{"secretName": ingress.tls_secret, "hosts": [ingress.host]}],
    }
