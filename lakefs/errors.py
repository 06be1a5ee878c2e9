"""What may go wrong with lakeFS, without its SDK: loading that takes longer than a preview may."""

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
        """Whether the server may have done what it was asked to do."""
        return self.status is None or self.status >= 500


@contextmanager
def if_there() -> Iterator[None]:
    """Ends its block early where lakeFS says that something is not there."""
    try:
        yield
    except LakefsError as error:
        if error.status != NOT_FOUND:
            raise


def is_endpoint(address: str) -> bool:
    """Whether an address is of `ENDPOINT_FORM`."""
    try:
        url = urllib3.util.parse_url(address)
    except urllib3.exceptions.LocationParseError:
        return False
    return url.scheme in ("http", "https") and bool(url.host) and not url.auth
