"""The provider `kubernetes`: an API server that is real, reached with the program's kubeconfig."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING

from rehearsal.providers.contract import Difference, Failure, Refusal
from rehearsal.providers.difference import difference
from rehearsal.providers.kubernetes import kubeconfig
from rehearsal.providers.kubernetes.api import Api
from rehearsal.providers.kubernetes.applying import Objects
from rehearsal.providers.kubernetes.discovery import Discovery
from rehearsal.providers.kubernetes.instance import KubernetesInstance
from rehearsal.providers.kubernetes.release import Releases
from rehearsal.providers.values import plain_properties

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rehearsal.providers.cloud import Cloud
    from rehearsal.providers.contract import Session
    from rehearsal.providers.values import Properties

UNSUPPORTED = {
    "renderYamlToDirectory": "a rehearsal applies to an API server and renders nothing",
    "alwaysRender": "a rehearsal applies to an API server and renders nothing",
    "enablePatchForce": "a rehearsal shows conflicts and never forces",
}


@dataclass(frozen=True, kw_only=True)
class KubernetesProvider:
    """Makes an instance for each `kubernetes.Provider(...)` of a program."""

    cloud: Cloud = field(repr=False)
    crds: Path

    @property
    def package(self) -> str:
        """The package's name."""
        return "kubernetes"

    @property
    def version(self) -> str:
        """The version of the SDK that it stands in for."""
        return version("pulumi-kubernetes")

    def check_config(self, config: Properties) -> Sequence[Failure]:
        """The arguments that a rehearsal cannot honour; the kubeconfig is read in Configure."""
        given = plain_properties(config)
        failures = [
            Failure(path=key, sentence=f"{key} cannot be rehearsed: {why}.")
            for key, why in UNSUPPORTED.items()
            if given.get(key) not in {None, "", "false"}
        ]
        if given.get("enableServerSideApply") == "false":
            failures.append(
                Failure(
                    path="enableServerSideApply",
                    sentence="enableServerSideApply is false, but a rehearsal only applies on the "
                    "server.",
                )
            )
        if not given.get("kubeconfig"):
            failures.append(
                Failure(
                    path="kubeconfig",
                    sentence="kubeconfig is missing: a rehearsal never falls back on your own.",
                )
            )
        return failures

    def diff_config(self, old: Properties, new: Properties) -> Difference:
        """Another API server is another cluster, and replaces everything in it."""
        servers = [_server(plain_properties(config)) for config in (old, new)]
        moved = None not in servers and servers[0] != servers[1]
        return difference(
            old, new, replace_on=("kubeconfig", "context", "cluster") if moved else ()
        )

    def configure(self, session: Session) -> KubernetesInstance:
        """Opens the connection that the kubeconfig describes."""
        config = plain_properties(session.config)
        if not config.get("kubeconfig"):
            raise Refusal(
                f"The kubernetes provider {session.name} has no kubeconfig, and a rehearsal never "
                "falls back on your own.",
                summary="no kubeconfig",
            )
        cluster = kubeconfig.cluster(
            str(config["kubeconfig"]),
            context=_text(config, "context"),
            name=_text(config, "cluster"),
        )
        api = Api.of(cluster, session.cancelled)
        kinds = Discovery(api)
        namespace = _text(config, "namespace") or cluster.namespace
        return KubernetesInstance(
            objects=Objects(
                api=api,
                kinds=kinds,
                namespace=namespace,
                adopts=config.get("upsertExistingObjects") == "true",
            ),
            releases=Releases(
                api=api, kinds=kinds, cloud=self.cloud, crds=self.crds, namespace=namespace
            ),
            mutable_config_maps=config.get("enableConfigMapMutable") == "true",
            mutable_secrets=config.get("enableSecretMutable") == "true",
        )


def _server(config: Properties) -> str | None:
    text = config.get("kubeconfig")
    if not isinstance(text, str):
        return None
    return kubeconfig.server_of(
        text, context=_text(config, "context"), name=_text(config, "cluster")
    )


def _text(config: Properties, key: str) -> str | None:
    value = config.get(key)
    return value if isinstance(value, str) and value else None
