"""The provider `kubernetes`: resources become objects of the API server in the kubeconfig."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from rehearsal.api import Api
from rehearsal.controllers.controller import Controllers
from rehearsal.controllers.releases import ReleaseControllers
from rehearsal.errors import RefusedError
from rehearsal.processes import Processes
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.contract import (
    CheckResult,
    Failure,
    Naming,
    PropertyDifference,
    Resource,
    Session,
    State,
    UnfinishedError,
)
from rehearsal.providers.difference import difference
from rehearsal.providers.kubernetes import kubeconfig, readiness, release
from rehearsal.providers.kubernetes import objects as names
from rehearsal.providers.kubernetes import state as recorded
from rehearsal.providers.kubernetes.apply import Objects
from rehearsal.providers.kubernetes.readiness import Discovery
from rehearsal.providers.kubernetes.resource_types import immutable_fields, why_unsupported
from rehearsal.providers.values import Properties, Unknown, plain, plain_properties
from settings.names import RELEASE

IDENTIFIER = "clusterIdentifier"
ACCESS = ("kubeconfig", "context", "cluster")
"""The arguments that choose the active cluster of a kubeconfig."""
UNSUPPORTED_ARGUMENTS = {
    "renderYamlToDirectory": "a rehearsal applies to an API server and renders nothing",
    "alwaysRender": "a rehearsal applies to an API server and renders nothing",
    "enablePatchForce": "a rehearsal shows conflicts and never forces",
}


@dataclass(frozen=True, kw_only=True)
class KubernetesProvider:
    """Makes an instance for each `kubernetes.Provider(...)` of a program."""

    cloud: Cloud = field(repr=False)
    crds: Path
    programs: Mapping[str, Path] = field(default_factory=dict)
    """What runs the controllers of Releases; without it they are recorded alone."""

    @property
    def package(self) -> str:
        """The package's name."""
        return "kubernetes"

    @property
    def version(self) -> str:
        """The version of the SDK that it stands in for."""
        return version("pulumi-kubernetes")

    def check_config(self, config: Properties) -> Sequence[Failure]:
        """Refuses arguments that a rehearsal does not support; Configure reads the kubeconfig."""
        given = plain_properties(config)
        failures = [
            Failure(path=key, sentence=f"{key} cannot be rehearsed: {why}.")
            for key, why in UNSUPPORTED_ARGUMENTS.items()
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

    def diff_config(self, old: Properties, new: Properties) -> PropertyDifference:
        """Another cluster replaces the provider, and with it every object.

        The identity of a cluster is its `clusterIdentifier`. Where old and new arguments do not
        both have one, any change of the kubeconfig's active cluster entry counts as another
        cluster, be it only the CA or a proxy (`DiffConfig` in provider/pkg/provider/provider.go of
        pulumi-kubernetes).
        """
        before, after = plain_properties(old), plain_properties(new)
        known = _text(before, IDENTIFIER), _text(after, IDENTIFIER)
        if all(known):
            return difference(old, new, replace_on=() if known[0] == known[1] else (IDENTIFIER,))
        unknown = any(isinstance(after.get(key), Unknown) for key in ACCESS)
        entries = [_active_cluster(config) for config in (before, after)]
        moved = unknown or (None not in entries and entries[0] != entries[1])
        return difference(old, new, replace_on=ACCESS if moved else ())

    def configure(self, session: Session) -> "KubernetesInstance":
        """Connects to the API server of the kubeconfig."""
        config = plain_properties(session.config)
        if not config.get("kubeconfig"):
            raise RefusedError(
                f"The kubernetes provider {session.name} has no kubeconfig, and a rehearsal never "
                "falls back on your own.",
                summary="no kubeconfig",
            )
        cluster = kubeconfig.cluster(
            str(config["kubeconfig"]),
            context=_text(config, "context"),
            name=_text(config, "cluster"),
        )
        api = Api.connect(
            cluster.server,
            cluster.trust,
            headers={**cluster.headers, "User-Agent": "pulumi-kubernetes"},
            cancelled=session.cancelled,
        )
        kinds = Discovery(api)
        namespace = _text(config, "namespace") or cluster.namespace
        return KubernetesInstance(
            objects=Objects(
                api=api,
                kinds=kinds,
                namespace=namespace,
                adopts=config.get("upsertExistingObjects") == "true",
            ),
            releases=release.Releases(
                api=api,
                cloud=self.cloud,
                crds=self.crds,
                namespace=namespace,
                controllers=self._controllers(api, kinds),
            ),
            mutable_config_maps=config.get("enableConfigMapMutable") == "true",
            mutable_secrets=config.get("enableSecretMutable") == "true",
        )

    def _controllers(self, api: Api, kinds: Discovery) -> ReleaseControllers | None:
        if not self.programs:
            return None
        directory = self.cloud.directory.resolve()
        place = Controllers(
            api=api,
            directory=directory,
            processes=Processes(directory),
            environment=os.environ,
            root=Path.cwd(),
        )
        return ReleaseControllers(place=place, kinds=kinds, programs=self.programs)


@dataclass(frozen=True, kw_only=True)
class KubernetesInstance:
    """One configured `kubernetes.Provider`: the objects and Helm releases of one cluster."""

    objects: Objects
    releases: release.Releases
    mutable_config_maps: bool
    mutable_secrets: bool

    def check(
        self, resource: Resource, old: Properties, new: Properties, naming: Naming
    ) -> CheckResult:
        """Fills in name and namespace; the API server checks the rest."""
        if why := why_unsupported(resource.type):
            sentence = f"{resource.type} cannot be rehearsed: {why}."
            return CheckResult(inputs=new, failures=[Failure(path="", sentence=sentence)])
        if resource.type == RELEASE:
            return self.releases.check(resource, old, new, naming)
        failures = list(names.failures(new))
        if failures:
            return CheckResult(inputs=new, failures=failures)
        inputs = names.named(resource, old, new, naming)
        served = self.objects.served(resource, inputs)
        if served and served.namespaced:
            inputs = names.in_namespace(inputs, self.objects.namespace)
        return CheckResult(inputs=recorded.with_secret_fields(inputs))

    def diff(self, resource: Resource, state: State, new: Properties) -> PropertyDifference:
        """Compares inputs; a change of an immutable field replaces the object."""
        if resource.type == RELEASE:
            return self.releases.diff(state, new)
        served = self.objects.served(resource, new)
        old = self.objects.in_place(state.inputs, served)
        wanted = self.objects.in_place(new, served)
        return difference(
            old,
            wanted,
            replace_on=immutable_fields(
                *names.group_version_kind(resource.type, new),
                immutable=plain(new.get("immutable")) is True,
                mutable_config_maps=self.mutable_config_maps,
                mutable_secrets=self.mutable_secrets,
            ),
            fixed_name=names.identity(old) == names.identity(wanted),
        )

    def create(
        self, resource: Resource, inputs: Properties, *, preview: bool, timeout_s: float
    ) -> tuple[str, Properties]:
        """Creates an object; a preview is a dry run, where one is possible."""
        if resource.type == RELEASE:
            return self.releases.create(resource, inputs, preview=preview)
        manager = recorded.new_manager()
        if preview:
            dry = self.objects.preview(resource, inputs, manager, new=True)
            return "", recorded.outputs(dry, inputs, manager) if dry else inputs
        live = self.objects.create(resource, inputs, manager)
        id_, outputs = names.identity(live), recorded.outputs(live, inputs, manager)
        if names.group_version_kind(resource.type, inputs) == readiness.CRD:
            self._await_kind(id_, outputs, timeout_s)
        return id_, outputs

    def read(self, resource: Resource, state: State) -> State | None:
        """The live object; None when it or its kind is gone."""
        if resource.type == RELEASE:
            return self.releases.read(state)
        live = self.objects.live(resource, state)
        if live is None:
            return None
        inputs = recorded.read_inputs(live, state.inputs)
        manager = recorded.manager_of(state.outputs)
        outputs = recorded.outputs(live, inputs, manager)
        return State(id=state.id, inputs=inputs, outputs=outputs)

    def update(
        self,
        resource: Resource,
        state: State,
        new: Properties,
        *,
        preview: bool,
        timeout_s: float,
    ) -> Properties:
        """Applies the changed object as its field manager."""
        del timeout_s
        if resource.type == RELEASE:
            return self.releases.update(resource, state, new, preview=preview)
        manager = recorded.manager_of(state.outputs)
        if preview:
            dry = self.objects.preview(resource, new, manager, new=False, ignored=state.ignored)
            return recorded.outputs(dry, new, manager) if dry else new
        live = self.objects.update(resource, new, manager, state.ignored)
        return recorded.outputs(live, new, manager)

    def delete(self, resource: Resource, state: State, *, timeout_s: float) -> None:
        """Deletes the object and waits until it is gone."""
        if resource.type == RELEASE:
            self.releases.delete(state)
        else:
            self.objects.delete(resource, state, limit_s=timeout_s)

    def invoke(self, token: str, arguments: Properties) -> Properties:
        """Refuses every function: all of them unfold manifests or charts."""
        del arguments
        why = why_unsupported(token) or "the stand-in answers no function of this package"
        raise RefusedError(f"{token} cannot be rehearsed: {why}.", summary="unknown")

    def _await_kind(self, name: str, outputs: Properties, timeout_s: float) -> None:
        try:
            readiness.until_established(
                self.objects.api, self.objects.kinds, name, limit_s=timeout_s
            )
        except RefusedError as refusal:
            raise UnfinishedError(
                str(refusal), id_=name, outputs=outputs, summary=refusal.summary
            ) from None


def _active_cluster(config: Properties) -> Mapping[str, object] | None:
    text = config.get("kubeconfig")
    if not isinstance(text, str):
        return None
    return kubeconfig.active_cluster(
        text, context=_text(config, "context"), name=_text(config, "cluster")
    )


def _text(config: Properties, key: str) -> str | None:
    value = config.get(key)
    return value if isinstance(value, str) and value else None
