"""Bootstrap tokens in the cluster: made valid for a while, and deleted.

A bootstrap token is a Secret of a fixed type and name in kube-system. The API server refuses it
after its `expiration`, and the controller manager then deletes it (kubernetes.io, "Authenticating
with bootstrap tokens"). The group is the one that kubeadm's ClusterRoleBindings let join nodes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import httpx2
from lightkube import Client
from lightkube.core.exceptions import ApiError
from lightkube.models.meta_v1 import ObjectMeta

from kube.client import KubeError
from kube.kinds import Secret
from kube.token_value import secret_name

NAMESPACE = "kube-system"
TYPE = "bootstrap.kubernetes.io/token"
JOINERS = "system:bootstrappers:kubeadm:default-node-token"
MACHINE_LABEL = "fleet.gpu/machine"
"""The label of a token's Secret with the name of its machine."""


def enable(client: Client, token: str, machine: str, life: timedelta) -> datetime:
    """Make `token` valid for `life` from now, so that `machine` can join; return when it ends.

    A token that is there already gets the new end. Raises KubeError where the cluster refuses.
    """
    end = datetime.now(UTC).replace(microsecond=0) + life
    token_id, _, secret = token.partition(".")
    wanted = Secret(
        metadata=ObjectMeta(
            name=secret_name(token), namespace=NAMESPACE, labels={MACHINE_LABEL: machine}
        ),
        type=TYPE,
        stringData={
            "token-id": token_id,
            "token-secret": secret,
            "expiration": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": JOINERS,
            "description": f"gpu-fleet: {machine} joins",
        },
    )
    with _sentence(f"the bootstrap token of {machine} could not be made valid"):
        client.apply(wanted, force=True)
    return end


def revoke(client: Client, token: str) -> None:
    """Delete the token; nothing happens where it is gone. Raises KubeError."""
    name = secret_name(token)
    with _sentence(f"the Secret {NAMESPACE}/{name} could not be deleted"):
        try:
            client.delete(Secret, name, namespace=NAMESPACE)
        except ApiError as error:
            if error.status.code != 404:
                raise


@contextmanager
def _sentence(what: str) -> Iterator[None]:
    try:
        yield
    except (ApiError, httpx2.HTTPError) as error:
        reason = str(error) or type(error).__name__
        raise KubeError(f"In the cluster, {what}: {reason}.") from None
