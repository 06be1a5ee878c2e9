"""The fake over HTTP: authentication, routing, and incidents between requests."""

import base64
import contextlib
import re
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lakefs.fake import commits, http, objects, repositories
from lakefs.fake.http import Answer, HttpRequest
from lakefs.fake.model import AnswerError, Model

PREFIX = "/api/v1"
ROUTE_MODULES = (commits, objects, repositories)  # importing them registers their operations
PUBLIC = re.compile("/(healthcheck|setup_lakefs)$")


class DroppedError(Exception):
    """Raised by an incident: the connection closes without an answer."""


@dataclass(kw_only=True)
class Incident:
    """Something that happens once, before or after a request is carried out."""

    method: str
    path: re.Pattern[str]
    happens: Callable[[], None]
    after: bool

    def concerns(self, method: str, path: str) -> bool:
        return method == self.method and self.path.search(path) is not None


@dataclass(kw_only=True)
class FakeLakefs:
    """A running fake: its address, its state, and the requests that it has answered."""

    endpoint: str
    model: Model
    requests: list[tuple[str, str]] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)

    def once(
        self, method: str, path: str, happens: Callable[[], None], *, after: bool = False
    ) -> None:
        """Calls `happens` once, before or after such a request: it may write, or raise an error."""
        incident = Incident(method=method, path=re.compile(path), happens=happens, after=after)
        self.incidents.append(incident)

    def count(self, method: str, path: str) -> int:
        """Returns how often a request was made."""
        return sum(m == method and re.search(path, p) is not None for m, p in self.requests)

    def answer(self, request: HttpRequest, authorization: str) -> Answer:
        self.requests.append((request.method, request.path))
        try:
            self._authenticate(request.path, authorization)
            self._happen(request, after=False)
            answer = http.answer(self.model, request)
            self._happen(request, after=True)
        except AnswerError as error:
            return Answer.of(error.status, {"message": error.message})
        return answer

    def _authenticate(self, path: str, authorization: str) -> None:
        pair = f"{self.model.access_key_id}:{self.model.secret_access_key}"
        expected = f"Basic {base64.b64encode(pair.encode()).decode()}"
        if PUBLIC.match(path) is None and (authorization != expected or not self.model.initialized):
            raise AnswerError(401, "error authenticating request")

    def _happen(self, request: HttpRequest, *, after: bool) -> None:
        for incident in list(self.incidents):
            if incident.after == after and incident.concerns(request.method, request.path):
                self.incidents.remove(incident)
                incident.happens()


class Handler(BaseHTTPRequestHandler):
    """One connection; `fake` is set by `serving`."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: else each answer waits 40 ms for an ACK
    fake: FakeLakefs

    def _serve(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urllib.parse.unquote(url.path.removeprefix(PREFIX))
        request = HttpRequest(
            method=self.command,
            path=path,
            query=dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)),
            headers={key.lower(): value for key, value in self.headers.items()},
            body=body,
        )
        try:
            if not url.path.startswith(PREFIX):
                answer = Answer.of(404, {"message": "not found"})
            else:
                answer = self.fake.answer(request, self.headers.get("Authorization", ""))
        except DroppedError:
            self.close_connection = True
            return
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815  # names of http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # name of http.server
        """Logs nothing; `FakeLakefs.requests` has the requests."""


@contextlib.contextmanager
def serving(model: Model) -> Iterator[FakeLakefs]:
    """Serves the model on a free port of 127.0.0.1."""
    fake = FakeLakefs(endpoint="", model=model)
    handler = type("FakeHandler", (Handler,), {"fake": fake})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    fake.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
