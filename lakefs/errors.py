"""Errors of lakeFS and the form of its endpoint."""

from collections.abc import Iterator
from contextlib import contextmanager

import urllib3

ENDPOINT_FORM = "an http or https address without credentials in it"
NOT_FOUND = 404


class LakefsError(RuntimeError):
    """A request that lakeFS refused or did not answer. `status` is None where no answer came."""

    def __init__(self, sentence: str, *, status: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status

    @property
    def outcome_is_unknown(self) -> bool:
        """True where the server may have carried the request out."""
        return self.status is None or self.status >= 500


@contextmanager
def if_there() -> Iterator[None]:
    """Leaves its block without an error where lakeFS answers 404."""
    try:
        yield
    except LakefsError as error:
        if error.status != NOT_FOUND:
            raise


def is_endpoint(address: str) -> bool:
    """True for an address of `ENDPOINT_FORM`."""
    try:
        url = urllib3.util.parse_url(address)
    except urllib3.exceptions.LocationParseError:
        return False
    return url.scheme in ("http", "https") and bool(url.host) and not url.auth


_SILENCE: tuple[tuple[type[Exception], str], ...] = (
    (urllib3.exceptions.NameResolutionError, "its name has no address"),
    (urllib3.exceptions.NewConnectionError, "no connection came about"),
    (urllib3.exceptions.ConnectTimeoutError, "no connection came about in time"),
    (urllib3.exceptions.ReadTimeoutError, "it took too long"),
    (urllib3.exceptions.ProtocolError, "the connection was closed in the middle"),
    (urllib3.exceptions.SSLError, "no TLS connection came about"),
)


def silence(error: object) -> str:
    """Why a request had no answer, in words; the name of an error that nobody has met yet."""
    told = (words for kind, words in _SILENCE if isinstance(error, kind))
    return next(told, type(error).__name__)
