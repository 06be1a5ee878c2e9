"""The lakeFS server: its pinned chart, and the Secret that it reads."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
from pulumi_kubernetes.core.v1 import Namespace, Secret
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.platform.lakefs.values import (
    AUTH_KEY,
    DATABASE_KEY,
    S3,
    S3_ACCESS_KEY,
    S3_SECRET_KEY,
    DynamoDbTable,
    Serving,
    chart_values,
)
from settings.names import PREFIX
from settings.versions import LAKEFS, LAKEFS_IMAGE_TAG

KEY_LENGTH = 32
PLACEHOLDER_WORDS = ("change", "encrypt", "example", "placeholder", "random", "secret")


@dataclass(frozen=True, kw_only=True)
class Postgres:
    """PostgreSQL as the key-value store."""

    connection_string: pulumi.Input[str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class LakefsServerArgs:
    """`auth_encrypt_key` signs sessions and encrypts keys: losing it locks everybody out."""

    auth_encrypt_key: pulumi.Input[str] = field(repr=False)
    database: Postgres | DynamoDbTable
    # the object stores of the sites are one kind of store, reached by one pair of keys
    store: S3
    s3_access_key_id: pulumi.Input[str] = field(repr=False)
    s3_secret_access_key: pulumi.Input[str] = field(repr=False)
    serving: Serving = field(default_factory=Serving)
    # release and namespace; a second kind of store is a second installation
    installation: str = "lakefs"

    def __post_init__(self) -> None:
        if not isinstance(self.database, (Postgres, DynamoDbTable)):
            raise TypeError(
                f"database is {self.database!r}; allowed: PostgreSQL or DynamoDB. The local store "
                "of the chart belongs to one process and is lost with its pod."
            )
        if isinstance(self.database, DynamoDbTable) and self.store.endpoint is not None:
            raise ValueError(
                f"store is {self.store.endpoint!r} and database is DynamoDB, which takes the same "
                "keys; allowed: PostgreSQL for a store that is not on AWS."
            )


class LakefsServer(pulumi.ComponentResource):
    """The chart, its namespace and the Secret; the chart's own defaults hold no data and no key."""

    release: Release
    endpoint: pulumi.Output[str]
    """The address inside the cluster; outside it is that of the ingress, if there is one."""

    def __init__(
        self, name: str, args: LakefsServerArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:LakefsServer", name, {"version": LAKEFS_IMAGE_TAG}, opts)
        child = pulumi.ResourceOptions(parent=self)
        installation = args.installation
        namespace = Namespace(
            f"{name}-namespace",
            metadata=ObjectMetaArgs(name=installation),
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        keys = ObjectMetaArgs(name=f"{installation}-keys", namespace=namespace.metadata["name"])
        data = _secret_data(args)
        secret = Secret(f"{name}-keys", metadata=keys, string_data=data, opts=child)
        table = args.database if isinstance(args.database, DynamoDbTable) else None
        values = chart_values(installation, table, args.store, args.serving)
        # pods read the Secret when they start: another one must start others
        restarts = {"podAnnotations": {f"{PREFIX}/secret": pulumi.Output.all(**data).apply(digest)}}
        self.release = Release(
            f"{name}-release",
            name=installation,
            namespace=namespace.metadata["name"],
            chart=LAKEFS.name,
            version=LAKEFS.version,
            repository_opts=RepositoryOptsArgs(repo=LAKEFS.repository),
            values={**values, **restarts},
            timeout=900,  # its first start makes the tables of the database
            # the chart names the Secret in its values, which is no edge of the graph
            opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[secret])),
        )
        self.endpoint = pulumi.Output.from_input(f"http://{installation}.{installation}.svc")
        self.register_outputs({"endpoint": self.endpoint})


def _secret_data(args: LakefsServerArgs) -> dict[str, pulumi.Output[str]]:
    data = {
        AUTH_KEY: pulumi.Output.secret(args.auth_encrypt_key).apply(checked_key),
        S3_ACCESS_KEY: pulumi.Output.secret(args.s3_access_key_id),
        S3_SECRET_KEY: pulumi.Output.secret(args.s3_secret_access_key),
    }
    if isinstance(args.database, Postgres):
        connection = pulumi.Output.secret(args.database.connection_string)
        data[DATABASE_KEY] = connection.apply(checked_connection)
    return data


def checked_key(key: str) -> str:
    """Returns the encryption key; ValueError for one that a guide or a quickstart prints."""
    lazy = len(set(key)) < KEY_LENGTH // 4
    if len(key) < KEY_LENGTH or lazy or any(word in key.lower() for word in PLACEHOLDER_WORDS):
        raise ValueError(
            f"The encryption key of lakeFS is a placeholder or too short; it must be at least "
            f"{KEY_LENGTH} random characters, such as `openssl rand -hex 32` prints."
        )
    return key


def checked_connection(connection: str) -> str:
    """Returns the connection string; ValueError where it is of another kind of database."""
    if not connection.startswith(("postgres://", "postgresql://")):
        raise ValueError(
            "The connection string of lakeFS must start with postgres:// and does not."
        )
    return connection


def digest(data: Mapping[str, str]) -> str:
    """Returns a digest of the Secret, keyed by its strongest part, so that nobody can guess it."""
    text = "\n".join(f"{key}={value}" for key, value in sorted(data.items()))
    return hmac.new(data[AUTH_KEY].encode(), text.encode(), hashlib.sha256).hexdigest()[:16]
