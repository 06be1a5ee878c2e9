"""`kubernetes:helm.sh/v3:Release`: recorded, not installed; the kinds of its chart are applied.

A rehearsal has no charts. What policies and the scheduler must see are resources of the program
itself, so a Release needs only the CustomResourceDefinitions that its chart brings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import yaml

from rehearsal.providers import sdk_types
from rehearsal.providers.checks import Rule, matching
from rehearsal.providers.cloud import CloudObject
from rehearsal.providers.concealing import conceal_properties
from rehearsal.providers.contract import Checked, Difference, Failure, Refusal, State
from rehearsal.providers.difference import difference
from rehearsal.providers.kubernetes.charts import folder_of_kinds, takes_kinds_along
from rehearsal.providers.kubernetes.objects import metadata, name_of
from rehearsal.providers.kubernetes.waiting import CRD_PATH, until_established, until_gone
from rehearsal.providers.naming import automatic_name
from rehearsal.providers.type_check import problems
from rehearsal.providers.values import UNKNOWN, plain_properties

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rehearsal.providers.cloud import Cloud
    from rehearsal.providers.contract import Naming, Resource
    from rehearsal.providers.kubernetes.api import Api
    from rehearsal.providers.kubernetes.discovery import Discovery
    from rehearsal.providers.values import Properties

TYPE = "kubernetes:helm.sh/v3:Release"
ESTABLISHED_WITHIN_S = 60.0
GONE_WITHIN_S = 60.0
MANAGER = "helm"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Volcano's kinds are a megabyte of YAML: 0.2 s in C, 2 s in Python."""
RULES = (
    Rule("version", matching(r"v?\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?", "one version, as 1.14.1")),
    Rule("name", matching(r"[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?", "a DNS label of at most 53")),
    Rule("repositoryOpts.repo", matching(r"(https?|oci)://\S+", "the URL of a chart repository")),
)


@dataclass(frozen=True, kw_only=True)
class Releases:
    """The Helm releases of one cluster."""

    api: Api
    kinds: Discovery
    cloud: Cloud = field(repr=False)
    crds: Path
    namespace: str

    def check(
        self, resource: Resource, old: Properties, new: Properties, naming: Naming
    ) -> Checked:
        """A release is of a named chart in one exact version, with values in a mapping."""
        inputs = dict(new)
        if not inputs.get("name"):
            inputs["name"] = old.get("name") or automatic_name(
                resource, naming, digits=8, path="name"
            )
        if not inputs.get("namespace"):
            inputs["namespace"] = self.namespace
        shape = sdk_types.inputs("pulumi_kubernetes.helm.v3", "Release")
        failures = [*problems(shape, inputs), *_unpinned(resource, inputs)]
        failures += [failure for rule in RULES for failure in rule.failures(inputs)]
        return Checked(inputs=inputs, failures=failures)

    def diff(self, state: State, new: Properties) -> Difference:
        """A release of another name or namespace is another release."""
        return difference(state.inputs, new, replace_on=("name", "namespace"))

    def create(
        self, resource: Resource, inputs: Properties, *, preview: bool
    ) -> tuple[str, Properties]:
        """Records the release and brings the kinds of its chart."""
        if preview:
            return "", {**inputs, "status": UNKNOWN, "resourceNames": UNKNOWN}
        given = plain_properties(inputs)
        id_ = f"{given['namespace']}/{given['name']}"
        if self.cloud.get(TYPE, id_):
            raise Refusal(
                f"Release {resource.name}: the name {id_} is still in use by another release.",
                summary="name in use",
            )
        self._ensure_namespace(resource, given)
        self._bring_kinds(given)
        return id_, self._record(resource, id_, inputs, revision=1)

    def update(
        self, resource: Resource, state: State, new: Properties, *, preview: bool
    ) -> Properties:
        """Records the release anew, with the next revision."""
        if preview:
            return {**new, "status": UNKNOWN, "resourceNames": UNKNOWN}
        given = plain_properties(new)
        self._bring_kinds(given)
        match plain_properties(state.outputs).get("status"):
            case {"revision": int(revision)}:
                return self._record(resource, state.id, new, revision=revision + 1)
            case _:
                return self._record(resource, state.id, new, revision=1)

    def read(self, state: State) -> State | None:
        """The release as it is recorded."""
        thing = self.cloud.get(TYPE, state.id)
        if thing is None:
            return None
        inputs = conceal_properties(thing.inputs, state.inputs)
        return State(id=state.id, inputs=inputs, outputs=conceal_properties(thing.outputs, inputs))

    def delete(self, state: State) -> None:
        """Forgets the release, and removes the kinds that Helm would remove with it."""
        given = plain_properties(state.inputs)
        if takes_kinds_along(given):
            for definition in self._definitions_of(given):
                path = f"{CRD_PATH}/{name_of(definition)}"
                gone = self.api.delete(path)
                if gone is not None:
                    until_gone(self.api, path, metadata(gone).get("uid"), limit_s=GONE_WITHIN_S)
        self.cloud.remove(TYPE, state.id)

    def _ensure_namespace(self, resource: Resource, given: Properties) -> None:
        name = str(given["namespace"])
        path = f"/api/v1/namespaces/{name}"
        if self.api.get(path) is not None:
            return
        if not given.get("createNamespace"):
            raise Refusal(
                f'Release {resource.name}: namespaces "{name}" not found; create it first, or set '
                "createNamespace.",
                summary="no namespace",
            )
        body: Properties = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.api.apply(path, body, manager=MANAGER)

    def _definitions_of(self, given: Properties) -> list[Properties]:
        folder = folder_of_kinds(given)
        return list(_definitions(self.crds / folder)) if folder else []

    def _bring_kinds(self, given: Properties) -> None:
        definitions = self._definitions_of(given)
        for definition in definitions:
            path = f"{CRD_PATH}/{name_of(definition)}"
            self.api.apply(path, definition, manager=MANAGER, force=True)
        for definition in definitions:
            name = name_of(definition)
            until_established(self.api, self.kinds, name, limit_s=ESTABLISHED_WITHIN_S)

    def _record(
        self, resource: Resource, id_: str, inputs: Properties, *, revision: int
    ) -> Properties:
        given = plain_properties(inputs)
        outputs: Properties = {
            **given,
            "resourceNames": {},
            "status": {
                "appVersion": "",
                "chart": str(given["chart"]).rpartition("/")[2],
                "name": given["name"],
                "namespace": given["namespace"],
                "revision": revision,
                "status": "deployed",
                "version": given["version"],
            },
        }
        thing = CloudObject(
            provider="kubernetes",
            type=TYPE,
            id=id_,
            name=resource.name,
            inputs=given,
            outputs=outputs,
        )
        self.cloud.put(thing)
        return conceal_properties(outputs, inputs)


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


def _definitions(folder: Path) -> Iterator[Properties]:
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise Refusal(
            f"{folder} has no CustomResourceDefinition: build the toolchain's CRDs first.",
            summary="no CRDs",
        )
    for path in paths:
        for document in yaml.load_all(path.read_text(), Loader=_LOADER):
            if document:
                yield cast("Properties", document)
