"""What is said where Hetzner's API does not answer as it should."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from fleet.hetzner import HetznerError, listed


@pytest.fixture
def page() -> Iterator[str]:
    """A server that answers everything with a page, as a proxy's login does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the protocol's name
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>Log in</html>")

        def log_message(self, *_args: object) -> None:  # the base class prints
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_page_in_place_of_an_answer_is_an_error(page: str) -> None:
    with pytest.raises(HetznerError, match="JSONDecodeError"):
        listed(page, "token", "servers", {})


def test_an_address_that_is_none_is_an_error() -> None:
    with pytest.raises(HetznerError, match=r"UnsupportedProtocol|InvalidURL"):
        listed("hetzner.example:x", "token", "servers", {})
