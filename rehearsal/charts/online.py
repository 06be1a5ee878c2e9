"""Fetches charts from where they are published: a repository with an index, or a registry (OCI).

Every host is asked at the same time, and a host that does not answer only once, so that a machine
without a network loses one wait. Proxies are those of the environment. A chart of one version never
changes, so what was fetched is kept and not asked for again.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import yaml

from rehearsal.charts.asking import FetchError, NoHostError, as_json, ask, opened, registry
from rehearsal.charts.wanted import OCI, Found, Unreachable, Wanted

CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # an index may have 10 MB


def fetch(wanted: Iterable[Wanted], store: Path) -> dict[Wanted, Found | Unreachable]:
    """Each chart as a file in the folder `store`, or why it cannot be had."""
    found: dict[Wanted, Found | Unreachable] = {}
    by_host: dict[str, list[Wanted]] = {}
    for each in dict.fromkeys(wanted):
        kept = _kept(each, store)
        if kept.is_file():
            found[each] = _found(each, kept)
        elif each.repository:
            by_host.setdefault(urlsplit(each.repository).netloc, []).append(each)
        else:
            found[each] = Unreachable(reason="nothing says where it is published")
    if by_host:
        with ThreadPoolExecutor(len(by_host)) as pool:
            for answers in pool.map(lambda charts: _of_host(charts, store), by_host.values()):
                found.update(answers)
    return found


def _kept(wanted: Wanted, store: Path) -> Path:
    home = hashlib.sha256(str(wanted.repository).encode()).hexdigest()[:8]
    return store / f"{wanted.name}-{wanted.version}-{home}.tgz"


def _found(wanted: Wanted, path: Path) -> Found:
    return Found(path=path, source=str(wanted.repository))


def _of_host(charts: Iterable[Wanted], store: Path) -> dict[Wanted, Found | Unreachable]:
    answers: dict[Wanted, Found | Unreachable] = {}
    silent = ""
    with opened() as client:
        for each in charts:
            if silent:
                answers[each] = Unreachable(reason=silent)
                continue
            try:
                content = _Source(client, each).content()
            except NoHostError as error:
                silent = str(error)
                answers[each] = Unreachable(reason=silent)
            except FetchError as error:
                answers[each] = Unreachable(reason=str(error))
            else:
                answers[each] = _found(each, _write(_kept(each, store), content))
    return answers


def _write(path: Path, content: bytes) -> Path:
    """Writes a file in one step: another rehearsal may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return Path(name).replace(path)


@dataclass(frozen=True)
class _Source:
    """Where one chart is published."""

    client: httpx.Client
    wanted: Wanted

    def content(self) -> bytes:
        """The packed chart, whose checksum is that of the index or of the manifest."""
        address = str(self.wanted.repository)
        return self._of_registry(address) if address.startswith(OCI) else self._of_index(address)

    def _of_index(self, repository: str) -> bytes:
        base = repository.rstrip("/") + "/"
        entry = self._entry(base)
        urls = entry.get("urls") or []
        if not urls:
            raise FetchError(f"the index of {repository} has no address for it")
        content = ask(self.client, urljoin(base, str(urls[0]))).content
        return _checked(content, str(entry.get("digest") or ""))

    def _entry(self, base: str) -> Mapping[str, Any]:
        try:
            index = yaml.load(ask(self.client, f"{base}index.yaml").content, Loader=_LOADER)  # noqa: S506  # a safe one
            entries = index["entries"].get(self.wanted.name) or []
        except (yaml.YAMLError, TypeError, KeyError, AttributeError):
            raise FetchError(f"{base}index.yaml is no index of charts") from None
        for entry in entries:
            if str(entry.get("version")).removeprefix("v") == self.wanted.plain_version:
                return dict(entry)
        raise FetchError(f"{base}index.yaml has no {self.wanted.title}")

    def _of_registry(self, address: str) -> bytes:
        parts = urlsplit(address)
        root = registry(parts.netloc, parts.path)
        tag = self.wanted.version.replace("+", "_")
        accepts = {"Accept": MANIFEST}
        manifest = ask(self.client, f"{root}/manifests/{tag}", accepts)
        headers = {"Authorization": manifest.request.headers.get("Authorization", "")}
        for layer in as_json(manifest).get("layers") or []:
            if layer.get("mediaType") == CHART_LAYER:
                digest = str(layer["digest"])
                content = ask(self.client, f"{root}/blobs/{digest}", headers).content
                return _checked(content, digest)
        raise FetchError(f"{address}:{tag} is no Helm chart")


def _checked(content: bytes, digest: str) -> bytes:
    wanted = digest.removeprefix("sha256:")
    if wanted and hashlib.sha256(content).hexdigest() != wanted:
        raise FetchError(f"what came is not what was published under the checksum {wanted[:12]}…")
    return content
