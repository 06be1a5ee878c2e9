"""Records each `kubernetes:helm.sh/v3:Release` and applies the CRDs of its chart.

Of a chart whose controllers run here their rights, settings and webhooks are applied, too. Nothing
else of a chart is installed: what policies must see are resources of the program itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal.api import Api
from rehearsal.controllers.releases import ReleaseControllers
from rehearsal.errors import RefusedError
from rehearsal.providers import sdk_types
from rehearsal.providers.checks import InputCheck, matching
from rehearsal.providers.cloud import Cloud, CloudObject
from rehearsal.providers.contract import (
    CheckResult,
    Failure,
    Naming,
    PropertyDifference,
    Resource,
    State,
)
from rehearsal.providers.difference import difference
from rehearsal.providers.kubernetes.helm_storage import DEPLOYED, MANAGER, PENDING, HelmStorage
from rehearsal.providers.kubernetes.objects import metadata, name_of
from rehearsal.providers.kubernetes.readiness import (
    CRD_PATH,
    definitions,
    install_crds,
    until_gone,
)
from rehearsal.providers.naming import automatic_name
from rehearsal.providers.secrets import conceal_properties
from rehearsal.providers.type_check import problems
from rehearsal.providers.values import UNKNOWN, Properties, Secret, plain, plain_properties
from settings.names import RELEASE

GONE_WITHIN_S = 60.0
INPUTS = "__inputs"
INPUT_CHECKS = (
    InputCheck(
        "version", matching(r"v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?", "one version, as 1.14.1")
    ),
    InputCheck(
        "name", matching(r"[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?", "a DNS label of at most 53")
    ),
    InputCheck(
        "repositoryOpts.repo", matching(r"(https?|oci)://\S+", "the URL of a chart repository")
    ),
)

CRDS_OF_CHART = {
    "cilium": "cilium",
    "volcano": "volcano",
    "karpenter-crd": "karpenter",
    "karpenter": "karpenter",
    "kube-prometheus-stack": "prometheus-operator",
}
"""The charts that bring CRDs, each with the folder of the toolchain that has them.

Cilium's come with its operator, and before a node is Ready: its agents wait for them.
"""

CRDS_AMONG_TEMPLATES = frozenset({"volcano", "karpenter-crd"})
"""The charts whose CRDs are templates: skipCrds does not leave them out, and an uninstall deletes
them with every object of their kinds. Helm never deletes CRDs of a chart's folder `crds`.
"""


@dataclass(frozen=True, kw_only=True)
class Releases:
    """The Helm releases of one cluster."""

    api: Api
    cloud: Cloud = field(repr=False)
    crds: Path
    namespace: str
    controllers: ReleaseControllers | None = None

    def check(
        self, resource: Resource, old: Properties, new: Properties, naming: Naming
    ) -> CheckResult:
        """Checks that chart, one exact version and values are given; fills in the name."""
        inputs = dict(new)
        if not inputs.get("name"):
            inputs["name"] = old.get("name") or automatic_name(
                resource, naming, digits=8, path="name"
            )
        if not inputs.get("namespace"):
            inputs["namespace"] = self.namespace
        shape = sdk_types.inputs("pulumi_kubernetes.helm.v3", "Release")
        failures = [*problems(shape, inputs), *_unpinned(resource, inputs)]
        failures += [failure for check in INPUT_CHECKS for failure in check.failures(inputs)]
        return CheckResult(inputs=inputs, failures=failures)

    def diff(self, state: State, new: Properties) -> PropertyDifference:
        """Another name or namespace replaces the release."""
        return difference(state.inputs, new, replace_on=("name", "namespace"))

    def create(
        self, resource: Resource, inputs: Properties, *, preview: bool
    ) -> tuple[str, Properties]:
        """Records the release and applies the CRDs of its chart."""
        if preview:
            return "", {**inputs, "status": UNKNOWN, "resourceNames": UNKNOWN}
        given = plain_properties(inputs)
        id_ = f"{given['namespace']}/{given['name']}"
        storage = self._storage(given)
        if self.cloud.get(RELEASE, id_) or storage.status():
            raise RefusedError(
                f"Release {resource.name}: the name {id_} is still in use by another release.",
                summary="name in use",
            )
        self._ensure_namespace(resource, given)
        storage.write(PENDING)
        try:
            self._apply_definitions(given)
            self._start(given)
            self.api.pause(0)  # an engine that was killed takes its provider with it
        except RefusedError:
            if not self.api.cancelled.is_set():
                storage.forget()
            raise
        storage.write(DEPLOYED)
        return id_, self._record(resource, id_, inputs, revision=1)

    def update(
        self, resource: Resource, state: State, new: Properties, *, preview: bool
    ) -> Properties:
        """Records the release again, with the next revision; refuses where it is gone, as Helm."""
        if preview:
            return {**new, "status": UNKNOWN, "resourceNames": UNKNOWN}
        given = plain_properties(new)
        thing = self.cloud.get(RELEASE, state.id)
        if thing is None:
            raise RefusedError(
                f'Release {resource.name}: "{given["name"]}" has no deployed releases.',
                summary="gone",
            )
        self._apply_definitions(given)
        self._start(given)
        revision = _revision(thing) + 1
        self._storage(given).write(DEPLOYED, revision)
        return self._record(resource, state.id, new, revision=revision)

    def read(self, state: State) -> State | None:
        """The release as recorded; None where it is gone.

        Inputs come from the outputs. Without them there it is an import, which makes them up (Read
        in provider/pkg/provider/helm_release.go of pulumi-kubernetes).
        """
        thing = self.cloud.get(RELEASE, state.id)
        if thing is None:
            return None
        inputs = plain(state.outputs.get(INPUTS))
        if not isinstance(inputs, dict):
            chart: Properties = {"chart": _chart(thing.inputs), "atomic": False, "skipAwait": False}
            inputs = {**thing.inputs, **chart}
        concealed = conceal_properties(inputs, state.inputs)
        outputs = conceal_properties(thing.outputs, concealed)
        return State(id=state.id, inputs=concealed, outputs={**outputs, INPUTS: Secret(concealed)})

    def delete(self, state: State) -> None:
        """Deletes the record, and the CRDs that Helm would delete with the release."""
        given = plain_properties(state.inputs)
        if self.controllers:
            self.controllers.end(given)
        folder = folder_of_kinds(given)
        if folder and _chart(given) in CRDS_AMONG_TEMPLATES:
            for definition in definitions(self.crds / folder):
                path = f"{CRD_PATH}/{name_of(definition)}"
                gone = self.api.delete(path)
                if gone is not None:
                    until_gone(self.api, path, metadata(gone).get("uid"), limit_s=GONE_WITHIN_S)
        self._storage(given).forget()
        self.cloud.remove(RELEASE, state.id)

    def _ensure_namespace(self, resource: Resource, given: Properties) -> None:
        name = str(given["namespace"])
        path = f"/api/v1/namespaces/{name}"
        if self.api.get(path) is not None:
            return
        if not given.get("createNamespace"):
            raise RefusedError(
                f'Release {resource.name}: namespaces "{name}" not found; create it first, or set '
                "createNamespace.",
                summary="no namespace",
            )
        body: Properties = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.api.apply(path, body, manager=MANAGER)

    def _apply_definitions(self, given: Properties) -> None:
        if folder := folder_of_kinds(given):
            install_crds(self.api, self.crds / folder, manager=MANAGER)

    def _start(self, given: Properties) -> None:
        if self.controllers:
            self.controllers.start(given)

    def _record(
        self, resource: Resource, id_: str, inputs: Properties, *, revision: int
    ) -> Properties:
        given = plain_properties(inputs)
        outputs: Properties = {
            **given,
            "resourceNames": {},
            "status": {
                "appVersion": "",
                "chart": _chart(given),
                "name": given["name"],
                "namespace": given["namespace"],
                "revision": revision,
                "status": "deployed",
                "version": given["version"],
            },
        }
        thing = CloudObject(
            provider="kubernetes",
            type=RELEASE,
            id=id_,
            name=resource.name,
            inputs=given,
            outputs=outputs,
        )
        self.cloud.put(thing)
        return {**conceal_properties(outputs, inputs), INPUTS: Secret(dict(inputs))}

    def _storage(self, given: Properties) -> HelmStorage:
        return HelmStorage(api=self.api, namespace=str(given["namespace"]), name=str(given["name"]))


def folder_of_kinds(release: Mapping[str, object]) -> str | None:
    """The folder with the CRDs of a release with these inputs; None where it has none."""
    if release.get("skipCrds") and _chart(release) not in CRDS_AMONG_TEMPLATES:
        return None
    return CRDS_OF_CHART.get(_chart(release))


def _revision(thing: CloudObject) -> int:
    match thing.outputs.get("status"):
        case {"revision": int() | float() as revision}:
            return int(revision)
    return 1


def _chart(release: Mapping[str, object]) -> str:
    return str(release["chart"]).rpartition("/")[2]


def _unpinned(resource: Resource, inputs: Properties) -> Iterator[Failure]:
    if inputs.get("version") is None:
        yield Failure(
            path="version",
            sentence=f"version is missing: the release {resource.name} of the chart "
            f"{inputs.get('chart')} must be pinned to one version.",
        )
    chart, repository = inputs.get("chart"), inputs.get("repositoryOpts")
    if isinstance(chart, str) and not chart.startswith("oci://") and not repository:
        yield Failure(
            path="repositoryOpts",
            sentence=f'repositoryOpts is missing: the chart "{chart}" is no oci:// address, so '
            "repositoryOpts.repo must say where it is from.",
        )
