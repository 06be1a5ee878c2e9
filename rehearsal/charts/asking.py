"""Asks hosts on the internet for charts and images, with the token that a registry gives to all.

Proxies are those of the environment.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

CONNECT_S = 3.0
READ_S = 10.0
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')


class FetchError(Exception):
    """Something cannot be had; the text is the reason."""


class NoHostError(FetchError):
    """The host does not answer at all."""


def opened() -> httpx.Client:
    """A client with these limits, to be closed by whoever opens it."""
    return httpx.Client(timeout=httpx.Timeout(READ_S, connect=CONNECT_S), follow_redirects=True)


def registry(host: str, name: str) -> str:
    """The address of a repository in a registry, without encryption on this machine alone."""
    loopback = urlsplit(f"//{host}").hostname in _LOOPBACK  # as container runtimes do
    return f"{'http' if loopback else 'https'}://{host}/v2/{name.strip('/')}"


def ask(
    client: httpx.Client, url: str, headers: Mapping[str, str] | None = None, method: str = "GET"
) -> httpx.Response:
    """The answer, asked once more with a token where one is wanted; raises FetchError."""
    given = {name: value for name, value in (headers or {}).items() if value}
    try:
        answer = client.request(method, url, headers=given)
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            token = _token(client, answer.headers.get("WWW-Authenticate", ""))
            if token:
                allowed = {**given, "Authorization": f"Bearer {token}"}
                answer = client.request(method, url, headers=allowed)
    except (httpx.ConnectError, httpx.TimeoutException, httpx.ProxyError):
        raise NoHostError(f"{urlsplit(url).netloc} cannot be reached") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise FetchError(f"{url}: {type(error).__name__}") from None
    if not answer.is_success:
        raise FetchError(f"{url} answers {answer.status_code}")
    return answer


def _token(client: httpx.Client, challenge: str) -> str:
    """What a registry gives to everybody who asks for the right to read."""
    if not challenge.lower().startswith("bearer "):
        return ""
    said = dict(_PARAMETER.findall(challenge))
    realm = said.pop("realm", "")
    if not realm:
        return ""
    answer = as_json(client.get(realm, params=said))
    return str(answer.get("token") or answer.get("access_token") or "")


def as_json(answer: httpx.Response) -> dict[str, Any]:
    """The object in an answer; empty where there is none."""
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
