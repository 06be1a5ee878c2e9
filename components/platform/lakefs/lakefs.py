"""lakeFS of an environment: its bucket, server, administrator and repositories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from components.platform.lakefs.governed_repository import (
    GovernedRepository,
    GovernedRepositoryArgs,
)
from components.platform.lakefs.server import LakefsServer, LakefsServerArgs, Postgres
from components.platform.lakefs.storage import (
    LakefsAccess,
    LakefsAccessArgs,
    ObjectStore,
    ObjectStoreArgs,
)
from components.platform.lakefs.values import S3, Ingress, Serving
from lakefs.resources.administrator import Administrator, AdministratorArgs
from lakefs.resources.connection import Connection


@dataclass(frozen=True, kw_only=True)
class LakefsServiceArgs:
    """`connection` is how Pulumi reaches the server; its keys become those of the administrator.

    The objects lie in `bucket`, a name that is unique in the world, in `region` of AWS. `adopt`
    takes over repositories that the server has already.
    """

    connection: Connection
    database: Postgres
    auth_encrypt_key: pulumi.Input[str] = field(repr=False)
    bucket: str
    region: str
    repositories: Sequence[str]
    keep_days: int | None = None
    adopt: bool = False
    ingress: Ingress | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


class LakefsService(pulumi.ComponentResource):
    """Registers the parts of lakeFS in the order in which one needs the other.

    The chart's Service is inside the cluster. Without `ingress`, the user's own network must lead
    from the endpoint to it.
    """

    release: Release

    def __init__(
        self, name: str, args: LakefsServiceArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Lakefs", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        store = ObjectStore(
            f"{name}-store", ObjectStoreArgs(bucket=args.bucket, tags=args.tags), child
        )
        access = LakefsAccess(
            f"{name}-access", LakefsAccessArgs(buckets=[args.bucket], tags=args.tags), child
        )
        server = LakefsServer(
            f"{name}-server",
            LakefsServerArgs(
                auth_encrypt_key=args.auth_encrypt_key,
                database=args.database,
                store=S3(region=args.region),
                s3_access_key_id=access.access_key_id,
                s3_secret_access_key=access.secret_access_key,
                serving=Serving(ingress=args.ingress),
            ),
            child,
        )
        self.release = server.release
        administrator = Administrator(
            f"{name}-administrator",
            AdministratorArgs(connection=args.connection),
            # with a repository, lakeFS writes to the bucket
            pulumi.ResourceOptions(parent=self, depends_on=[server, access, store]),
        )
        connection = _after(administrator, args.connection)
        for repository in args.repositories:
            GovernedRepository(
                f"{name}-{repository}",
                GovernedRepositoryArgs(
                    connection=connection,
                    repository=repository,
                    storage_namespace=pulumi.Output.concat(
                        store.storage_namespace, "/", repository
                    ),
                    keep_days=args.keep_days,
                    adopt=args.adopt,
                ),
                child,
            )
        self.register_outputs({"bucket": store.bucket})


def _after(administrator: Administrator, connection: Connection) -> Connection:
    """Returns the connection for resources that are made after the administrator and go before.

    A component's `depends_on` does not order its children in a destroy.
    """
    endpoint = pulumi.Output.all(connection.endpoint, administrator.urn).apply(_first)
    return replace(connection, endpoint=endpoint)


def _first(values: Sequence[str]) -> str:
    return values[0]
