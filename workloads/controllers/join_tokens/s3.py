"""Writes one object to S3, signed with AWS Signature Version 4.

docs.aws.amazon.com, "Create a signed AWS API request", and "PutObject".
"""

import hashlib
import hmac
import http.client
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote, urlsplit

_TIMEOUT_S = 30
_FIXED = {"content-type": "application/json", "x-amz-server-side-encryption": "AES256"}


class S3Error(RuntimeError):
    """A write that S3 refused or did not answer; the text is a sentence without the key."""


@dataclass(frozen=True, kw_only=True)
class AccessKey:
    """The two parts of an access key."""

    key_id: str
    secret: str = field(repr=False)


def of_environment() -> AccessKey:
    """Return the key in the environment, under the names that AWS's own tools read."""
    return AccessKey(
        key_id=os.environ["AWS_ACCESS_KEY_ID"], secret=os.environ["AWS_SECRET_ACCESS_KEY"]
    )


def put(url: str, region: str, body: bytes, key: AccessKey, now: datetime) -> None:
    """Write `body` to `url`, https://<bucket>.s3.<region>.amazonaws.com/<key>."""
    parts = urlsplit(url)
    digest = hashlib.sha256(body).hexdigest()
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {
        **_FIXED,
        "host": parts.netloc,
        "x-amz-content-sha256": digest,
        "x-amz-date": stamp,
    }
    headers["authorization"] = authorization(parts.path, region, headers, key)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    server = kind(parts.netloc, timeout=_TIMEOUT_S)
    try:
        server.request("PUT", quote(parts.path), body, headers)
        answer = server.getresponse()
        text = answer.read(2000).decode(errors="replace")
    except (OSError, http.client.HTTPException, ssl.SSLError) as error:
        raise S3Error(f"{url} was not written: {error}") from error
    finally:
        server.close()
    if answer.status != 200:
        raise S3Error(f"{url} was not written: {answer.status} {text}")


def authorization(path: str, region: str, headers: Mapping[str, str], key: AccessKey) -> str:
    """Return the header `authorization` of a PUT; `headers` have lower-case names, and x-amz-date.

    All of them are signed.
    """
    stamp = headers["x-amz-date"]
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"PUT\n{quote(path)}\n\n{lines}\n{names}\n{headers['x-amz-content-sha256']}"
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    signing = f"AWS4{key.secret}".encode()
    for word in scope.split("/"):
        signing = hmac.digest(signing, word.encode(), "sha256")
    signature = hmac.digest(signing, text.encode(), "sha256").hex()
    credential = f"Credential={key.key_id}/{scope}"
    return f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, Signature={signature}"
