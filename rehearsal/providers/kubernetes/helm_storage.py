"""What Helm keeps of a release in the cluster: a Secret for each revision, with its status.

Names, labels and type are those of newSecretsObject in pkg/storage/driver/secrets.go and makeKey in
pkg/storage/storage.go of helm v4.3.1. The release itself, which the real Secret has packed, is in
`cloud.json`.
"""

from dataclasses import dataclass

from rehearsal.api import Api
from rehearsal.providers.values import Properties

MANAGER = "helm"
DEPLOYED, SUPERSEDED, PENDING = "deployed", "superseded", "pending-install"


@dataclass(frozen=True, kw_only=True)
class HelmStorage:
    """The revisions of one release."""

    api: Api
    namespace: str
    name: str

    def status(self, revision: int = 1) -> str | None:
        """The status of a revision; None where there is none."""
        found = self.api.get(self._path(revision))
        return str(found["metadata"]["labels"]["status"]) if found else None

    def write(self, status: str, revision: int = 1) -> None:
        """Writes a revision; the one before it is not the last any more."""
        if revision > 1 and status == DEPLOYED:
            self.write(SUPERSEDED, revision - 1)
        labels: Properties = {"name": self.name, "owner": "helm", "status": status}
        secret: Properties = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "helm.sh/release.v1",
            "metadata": {
                "name": f"sh.helm.release.v1.{self.name}.v{revision}",
                "namespace": self.namespace,
                "labels": {**labels, "version": str(revision)},
            },
        }
        self.api.apply(self._path(revision), secret, manager=MANAGER)

    def forget(self) -> None:
        """Deletes all revisions."""
        revision = 1
        while self.status(revision) is not None:
            self.api.delete(self._path(revision), dependents="Background")
            revision += 1

    def _path(self, revision: int) -> str:
        secrets = f"/api/v1/namespaces/{self.namespace}/secrets"
        return f"{secrets}/sh.helm.release.v1.{self.name}.v{revision}"
