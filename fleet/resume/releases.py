"""What Helm says of a release whose install or upgrade an update had begun.

Helm keeps each revision of a release in a Secret `sh.helm.release.v1.NAME.vN` of its namespace,
with status and version as labels (makeKey in pkg/storage/storage.go, newSecretsObject in
pkg/storage/driver/secrets.go of helm v4.3.1). The first one is `pending-install` until all objects
of the chart are ready. Helm upgrades nothing that is pending (prepareUpgrade in
pkg/action/upgrade.go), and Pulumi's provider reads it as if it were whole (Read in
provider/pkg/provider/helm_release.go of pulumi-kubernetes, as read at 94977969d641, 27 commits
after v4.32.0), so nobody else asks.
"""

import shlex
from collections.abc import Mapping
from typing import Any

from httpx2 import HTTPError
from lightkube.core.exceptions import ApiError

from fleet.resume.pending import CREATING, Pending
from kube.client import KubeError, client
from kube.kinds import Secret

DEPLOYED = "deployed"
UNINSTALL, ROLLBACK = "uninstall", "rollback"
REMEDIES = {
    "pending-install": UNINSTALL,
    "uninstalling": UNINSTALL,
    "pending-upgrade": ROLLBACK,
    "pending-rollback": ROLLBACK,
}
"""What Helm must do before it takes a release of this status again."""


class HalfDoneError(RuntimeError):
    """Helm has not ended a release; the text is a sentence with the command that a person runs."""

    def __init__(self, begun: Pending, status: str, verb: str) -> None:
        words = ("helm", "--namespace", *id_of(begun.inputs).split("/"))
        command = shlex.join((*words[:3], verb, words[3]))
        super().__init__(
            f"{begun.title}: its status is {status}, which is not the end. Where nothing works on "
            f"it any more, run `{command}`, and this command again."
        )
        self.begun = begun
        self.verb = verb


def id_of(inputs: Mapping[str, Any]) -> str:
    """Return the id of a release, by its inputs."""
    return f"{inputs['namespace']}/{inputs['name']}"


def is_there(begun: Pending, kubeconfig: str) -> bool:
    """Return whether Helm knows the release of a pending step, in a status that it goes on from.

    Raises HalfDoneError where it is in another one, KubeError where the cluster does not say.
    """
    status = _status(begun.inputs, kubeconfig)
    if status is None:
        return False
    verb = REMEDIES.get(status)
    if begun.operation == CREATING and status != DEPLOYED:
        verb = verb or UNINSTALL  # as of one that failed: an update would find nothing to do
    if verb:
        raise HalfDoneError(begun, status, verb)
    return True


def _status(inputs: Mapping[str, Any], kubeconfig: str) -> str | None:
    """Return the status of the last revision of a release; None where there is none."""
    try:
        found = [
            each.metadata.labels
            for each in client(kubeconfig).list(
                Secret,
                namespace=str(inputs["namespace"]),
                labels={"owner": "helm", "name": str(inputs["name"])},
            )
            if each.metadata and each.metadata.labels
        ]
    except ApiError as error:
        raise KubeError(f"The API server refuses it: {error.status.message}.") from None
    except HTTPError as error:
        raise KubeError(
            f"The API server does not answer ({type(error).__name__}): run the same command again."
        ) from None
    last = max(found, key=lambda labels: int(labels["version"]), default=None)
    return last["status"] if last else None
