"""Registers lakeFS, where the stack file has a section for it."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import pulumi

from components.platform.lakefs.lakefs import LakefsService, LakefsServiceArgs
from components.platform.lakefs.server import Postgres
from components.platform.lakefs.values import Ingress
from components.platform.system_network import SystemNetwork, SystemNetworkArgs
from lakefs.resources.connection import Connection
from settings import AwsSite, Cluster, LakefsSettings, Settings
from settings.names import LAKEFS_NAMESPACE, labels, tags


def lakefs(
    settings: Settings,
    secrets: Mapping[str, pulumi.Output[str]],
    at_site: Mapping[str, pulumi.ResourceOptions],
) -> None:
    """Register lakeFS with its repositories; nothing without a section `lakefs`."""
    chosen, cluster = settings.lakefs, settings.cluster
    site = settings.sites[chosen.site] if chosen is not None else None
    if chosen is None or not isinstance(site, AwsSite):  # the settings refuse another site
        return
    args = LakefsServiceArgs(
        connection=Connection(
            endpoint=chosen.endpoint,
            access_key_id=secrets["lakefs_access_key_id"],
            secret_access_key=secrets["lakefs_secret_access_key"],
        ),
        database=Postgres(connection_string=secrets["lakefs_database"]),
        auth_encrypt_key=secrets["lakefs_auth_encrypt_key"],
        bucket=bucket_name(cluster, chosen.site),
        region=site.region,
        repositories=chosen.repositories,
        keep_days=chosen.keep_days,
        adopt=chosen.adopt,
        ingress=_ingress(chosen),
        tags=tags(cluster.name, labels(site=chosen.site)),
    )
    service = LakefsService("lakefs", args, at_site[chosen.site])
    network = SystemNetworkArgs(namespaces={LAKEFS_NAMESPACE: service.release})
    SystemNetwork("lakefs-network", network, at_site[chosen.site])


def _ingress(chosen: LakefsSettings) -> Ingress | None:
    """Return the ingress of the endpoint; None where the stack file has no certificate for it."""
    if chosen.tls_secret is None:
        return None
    host = urlsplit(chosen.endpoint).hostname or ""
    return Ingress(host=host, class_name="cilium", tls_secret=chosen.tls_secret)


def bucket_name(cluster: Cluster, site: str) -> str:
    """Return a globally unique name: it ends as the hash of the cluster's certificate does.

    The buckets of pools have the start of the hash, so no name is used twice.
    """
    return f"{cluster.name}-{site}-{cluster.ca_cert_hash[-12:]}"
