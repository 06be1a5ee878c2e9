"""A small chart of ours, packed, behind a repository with an index and a registry on 127.0.0.1."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import yaml

from rehearsal.charts.online import CHART_LAYER, MANIFEST

NAME, VERSION = "ours", "1.2.0"
CHART = f"""apiVersion: v2
name: {NAME}
version: {VERSION}
"""


def packed(files: Mapping[str, str], chart: str = CHART) -> bytes:
    """A chart as `helm package` writes it."""
    name = yaml.safe_load(chart)["name"]
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for path, text in {"Chart.yaml": chart, **files}.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return whole.getvalue()


@dataclass
class ChartStore:
    """What is served: a repository at `repository`, and the same chart at `registry`."""

    chart: bytes
    address: str = ""
    asked: list[str] = field(default_factory=list)
    digest: str = ""
    """The checksum that is told, where that is not the true one."""
    told_digest: str = ""
    """What is told of a manifest in place of its digest."""
    wants_token: bool = False

    @property
    def repository(self) -> str:
        return f"http://{self.address}/charts"

    @property
    def registry(self) -> str:
        return f"oci://{self.address}/charts/{NAME}"

    @property
    def image(self) -> str:
        """The chart's tag in the registry, as an image is named."""
        return f"{self.address}/charts/{NAME}:{VERSION}"

    @property
    def manifest_digest(self) -> str:
        return f"sha256:{hashlib.sha256(self._manifest()).hexdigest()}"

    @property
    def checksum(self) -> str:
        return self.digest or hashlib.sha256(self.chart).hexdigest()

    def answer(self, path: str, authorization: str) -> tuple[int, bytes, dict[str, str]]:
        """Status, content and headers of an answer."""
        parts = urlsplit(path)
        if parts.path == "/token":
            wanted = parse_qs(parts.query)["scope"]
            return 200, json.dumps({"token": f"may {wanted[0]}"}).encode(), {}
        if (
            parts.path.startswith("/v2/")
            and self.wants_token
            and authorization != "Bearer may pull"
        ):
            told = f'Bearer realm="http://{self.address}/token",service="ours",scope="pull"'
            return 401, b"", {"WWW-Authenticate": told}
        pages = {
            "/charts/index.yaml": self._index(),
            f"/charts/files/{NAME}.tgz": self.chart,
            f"/v2/charts/{NAME}/manifests/{VERSION}": self._manifest(),
            f"/v2/charts/{NAME}/blobs/sha256:{self.checksum}": self.chart,
        }
        found = pages.get(parts.path)
        if found is None:
            return 404, b"", {}
        digest = self.told_digest or self.manifest_digest
        return 200, found, {"Docker-Content-Digest": digest} if "/manifests/" in path else {}

    def _index(self) -> bytes:
        entry = {"version": VERSION, "urls": [f"files/{NAME}.tgz"], "digest": self.checksum}
        older = {"version": "1.1.0", "urls": ["files/older.tgz"]}
        return yaml.safe_dump({"apiVersion": "v1", "entries": {NAME: [entry, older]}}).encode()

    def _manifest(self) -> bytes:
        layers = [
            {
                "mediaType": f"{CHART_LAYER}.prov",
                "digest": "sha256:0",
            },
            {"mediaType": CHART_LAYER, "digest": f"sha256:{self.checksum}"},
        ]
        return json.dumps({"mediaType": MANIFEST, "layers": layers}).encode()


@contextmanager
def serving(store: ChartStore) -> Iterator[ChartStore]:
    """Serves while it is open."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            store.asked.append(self.path)
            status, content, headers = store.answer(
                self.path, self.headers.get("Authorization", "")
            )
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_arguments: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    store.address = f"127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def on(path: Path, files: Mapping[str, str], chart: str = CHART) -> Path:
    """Writes the packed chart into a folder, named as `helm pull` does."""
    found = yaml.safe_load(chart)
    target = path / f"{found['name']}-{found['version']}.tgz"
    target.write_bytes(packed(files, chart))
    return target
