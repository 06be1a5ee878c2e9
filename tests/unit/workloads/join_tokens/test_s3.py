"""One object is written to S3 with AWS's own signature."""

import hashlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from workloads.controllers.join_tokens.s3 import AccessKey, S3Error, authorization, put

# docs.aws.amazon.com, "Authenticating Requests: Using the Authorization Header", PUT Object
KEY = AccessKey(key_id="AKIAIOSFODNN7EXAMPLE", secret="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def test_the_signature_is_the_one_of_awss_own_example() -> None:
    headers = {
        "date": "Fri, 24 May 2013 00:00:00 GMT",
        "host": "examplebucket.s3.amazonaws.com",
        "x-amz-content-sha256": hashlib.sha256(b"Welcome to Amazon S3.").hexdigest(),
        "x-amz-date": "20130524T000000Z",
        "x-amz-storage-class": "REDUCED_REDUNDANCY",
    }
    assert authorization("/test$file.text", "us-east-1", headers, KEY) == (
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, "
        "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    )


class _Store(BaseHTTPRequestHandler):
    """Takes what is not called refused."""

    def do_PUT(self) -> None:  # http.server's
        body = self.rfile.read(int(self.headers["content-length"]))
        fine = (
            self.path != "/refused"
            and "SignedHeaders=content-type;host" in (self.headers["authorization"])
        )
        if fine:
            _WRITTEN[self.path] = body
        self.send_response(200 if fine else 403)
        self.end_headers()
        self.wfile.write(b"" if fine else b"<Code>AccessDenied</Code>")

    def log_message(self, *_: object) -> None:
        """Says nothing."""


_WRITTEN: dict[str, bytes] = {}


@pytest.fixture
def store() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Store)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_object_is_written_whole(store: str) -> None:
    put(f"{store}/join.ign", "us-east-1", b"{}", KEY, NOW)
    assert _WRITTEN["/join.ign"] == b"{}"


def test_a_refusal_is_a_sentence_without_the_key(store: str) -> None:
    with pytest.raises(S3Error) as caught:
        put(f"{store}/refused", "us-east-1", b"{}", KEY, NOW)
    assert "was not written: 403 <Code>AccessDenied</Code>" in str(caught.value)
    assert KEY.secret not in str(caught.value)
