"""Asks Hetzner's API for things by name or label, a page at a time."""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2

ENDPOINT = "HCLOUD_ENDPOINT"
"""The variable by which Hetzner's own programs, too, ask another address (terraform-provider-hcloud
v1.54.0, hcloud/provider.go)."""
HETZNER = "https://api.hetzner.cloud/v1"
TIMEOUT_S = 30.0


class HetznerError(RuntimeError):
    """Hetzner's API does not answer, or refuses; the text is the kind of the error."""


def address() -> str:
    """Return the address of the API."""
    return os.environ.get(ENDPOINT) or HETZNER


def listed(api: str, token: str, kind: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what is of the kind, such as servers, and matches the query; of every page.

    Raises HetznerError.
    """
    found: list[dict[str, Any]] = []
    page: int | None = 1
    while page is not None:
        answer = _answer(f"{api}/{kind}", token, {**query, "page": page})
        found += answer[kind]
        page = answer.get("meta", {}).get("pagination", {}).get("next_page")
    return found


def _answer(url: str, token: str, query: Mapping[str, str | int]) -> dict[str, Any]:
    try:
        answer = httpx2.get(
            url,
            params=query,
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_S,
            trust_env=urlsplit(url).hostname != "127.0.0.1",  # no proxy leads to this machine
        )
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:  # or no JSON
        raise HetznerError(type(error).__name__) from None
    return found
