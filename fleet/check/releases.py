"""Finds the charts and folders that HelmReleases (Flux) and Applications (Argo CD) deploy.

A folder is one below the current folder, the checkout. A chart of a repository is taken by HTTPS or
OCI. What a cluster alone knows (values in its ConfigMaps and Secrets) cannot be rendered here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from fleet.check.programs import RenderError, kustomized, templated
from policies.language import yaml_text
from policies.language.manifest import at, items, mapping
from policies.language.rule import Manifest

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_VERSION = re.compile(r"[A-Za-z0-9.^~<>=*|+, -]*")
_URL = re.compile(r"(https|oci)://[A-Za-z0-9][A-Za-z0-9._:/~-]*")
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


@dataclass(frozen=True, kw_only=True)
class Release:
    """What one source of an object deploys; a folder has no `repository`."""

    name: str
    namespace: str
    chart: str
    repository: str = ""
    version: str = ""
    values: Mapping[str, object] = field(default_factory=dict)
    files: Sequence[str] = ()

    def rendered(self) -> bytes | Path:
        """Return the manifests, or the folder that has them; raises RenderError."""
        for said, form in ((self.name, _NAME), (self.chart, _NAME), (self.version, _VERSION)):
            if not form.fullmatch(said):  # a word that begins with - would be an option
                raise RenderError(f"{said!r} is no name of a chart, release or version")
        if self.repository:
            return self._of_repository()
        folder = Path(self.chart)
        if not (folder.is_dir() and _is_below(folder)):
            raise RenderError(f"{self.chart} is no folder below this one")
        if (folder / "Chart.yaml").is_file():
            files = [folder / each for each in self.files]
            for each in files:
                if not (each.is_file() and _is_below(each)):
                    raise RenderError(f"{each} is no file below this folder")
            return self._templated([f"./{folder}"], files)
        if any((folder / each).is_file() for each in _KUSTOMIZATIONS):
            return kustomized(folder)
        return folder

    def _of_repository(self) -> bytes:
        if not _URL.fullmatch(self.repository):
            raise RenderError(f"its repository {self.repository} is none of HTTPS or OCI")
        if self.files:
            raise RenderError("its files of values are in its repository")
        version = [f"--version={self.version}"] if self.version else []
        if self.repository.startswith("oci://"):
            return self._templated([*version, f"{self.repository.rstrip('/')}/{self.chart}"])
        return self._templated([f"--repo={self.repository}", *version, self.chart])

    def _templated(self, chart: Sequence[str], files: Sequence[Path] = ()) -> bytes:
        space = self.namespace or "default"
        if not _NAME.fullmatch(space):
            raise RenderError(f"{space!r} is no name of a namespace")
        return templated(self.name, space, chart, values=self.values, files=files)


def _is_below(path: Path) -> bool:
    """Return whether a path leads to something below the current folder."""
    return path.resolve().is_relative_to(Path.cwd().resolve())


def is_release(manifest: Manifest) -> bool:
    """Return whether an object deploys a chart, or a folder, that it names."""
    version, kind = str(manifest.get("apiVersion")), manifest.get("kind")
    return (kind == "HelmRelease" and version.startswith("helm.toolkit.fluxcd.io/")) or (
        kind == "Application" and version.startswith("argoproj.io/")
    )


def releases(manifest: Manifest, among: Sequence[Manifest]) -> Iterator[Release]:
    """Yield what an object deploys; RenderError where that cannot be told from the input."""
    if manifest.get("kind") == "HelmRelease":
        yield _of_flux(manifest, among)
        return
    spec = at(manifest, "spec")
    for source in items(at(spec, "sources")) or [at(spec, "source")]:
        yield _of_argo_cd(manifest, source)


def _of_flux(manifest: Manifest, among: Sequence[Manifest]) -> Release:
    spec = mapping(at(manifest, "spec"))
    if spec.get("valuesFrom"):
        raise RenderError("its valuesFrom are in the cluster")
    chart = at(spec, "chart", "spec")
    if chart is None:
        raise RenderError("it names no chart")
    home = str(at(manifest, "metadata", "namespace") or "")
    reference = mapping(at(chart, "sourceRef"))
    repository = ""
    if reference.get("kind") == "HelmRepository":
        repository = _url(reference, home, among)
    name = str(spec.get("releaseName") or at(manifest, "metadata", "name"))
    return Release(
        name=name,
        namespace=str(spec.get("targetNamespace") or home),
        chart=str(at(chart, "chart")).removeprefix("./"),
        repository=repository,
        version=str(at(chart, "version") or ""),
        values=mapping(spec.get("values")),
        files=[str(each) for each in items(at(chart, "valuesFiles"))],
    )


def _url(reference: Mapping[str, object], home: str, among: Sequence[Manifest]) -> str:
    space = str(reference.get("namespace") or home)
    for each in among:
        metadata = each.get("metadata")
        if (
            each.get("kind") == "HelmRepository"
            and at(metadata, "name") == reference.get("name")
            and str(at(metadata, "namespace") or home) == space
        ):
            return str(at(each, "spec", "url"))
    raise RenderError(f"HelmRepository '{reference.get('name')}' is not in the input")


def _of_argo_cd(manifest: Manifest, source: object) -> Release:
    helm, chart = mapping(at(source, "helm")), at(source, "chart")
    if at(source, "plugin") is not None:
        raise RenderError("a plugin of Argo CD renders it")
    if chart is None and at(source, "path") is None:
        raise RenderError("its source has neither chart nor path")
    url = str(at(source, "repoURL") or "")
    if chart is not None and "://" not in url:  # as Argo CD writes OCI
        url = f"oci://{url}"
    return Release(
        name=str(helm.get("releaseName") or at(manifest, "metadata", "name")),
        namespace=str(at(manifest, "spec", "destination", "namespace") or ""),
        chart=str(chart if chart is not None else at(source, "path")).removeprefix("./"),
        repository=url if chart is not None else "",
        version=str(at(source, "targetRevision") or "") if chart is not None else "",
        values=_values(helm),
        files=[str(each) for each in items(helm.get("valueFiles"))],
    )


def _values(helm: Mapping[str, object]) -> Mapping[str, object]:
    if helm.get("parameters") or helm.get("fileParameters"):
        raise RenderError("it sets parameters; its valuesObject could be rendered")
    if helm.get("valuesObject"):
        return mapping(helm["valuesObject"])
    try:
        return mapping(yaml_text.read(str(helm.get("values") or "")))
    except yaml.YAMLError:
        raise RenderError("its values are no YAML") from None
