"""Hetzner's API as far as it is asked: things by label or name, in pages."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

Labels = Mapping[str, str]
Project = Mapping[str, Mapping[str, Labels]]
PAGE = 25
"""As many as Hetzner's API answers unless it is asked for more."""


@contextmanager
def project(content: Project | Callable[[], Project]) -> Iterator[str]:
    """The address of an API with things by kind and name, with their labels."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the protocol's name
            url = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            kind, page = url.path.strip("/"), int(query.get("page", "1"))
            now = content() if callable(content) else content
            selector = query.get("label_selector", "")
            names = [
                name
                for name, labels in now.get(kind, {}).items()
                if selects(selector, labels) and query.get("name") in (None, name)
            ]
            more = page + 1 if len(names) > page * PAGE else None
            shown = names[(page - 1) * PAGE : page * PAGE]
            answer = {
                kind: [{"id": number, "name": name} for number, name in enumerate(shown, 1)],
                "meta": {"pagination": {"next_page": more}},
            }
            text = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_args: object) -> None:  # the base class prints
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def selects(selector: str, labels: Labels) -> bool:
    """Whether labels match Hetzner's selector: key, !key, key==value, joined by commas."""
    for term in filter(None, selector.split(",")):
        key, equals, value = term.partition("==")
        if equals and labels.get(key) != value:
            return False
        if not equals and (key.lstrip("!") in labels) == key.startswith("!"):
            return False
    return True
