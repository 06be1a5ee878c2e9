"""A client of a lakeFS server: every error is one sentence, and no key appears in any.

The API and its status codes are those of lakefs-sdk, which is loaded with the first client: it
takes 0.6 s, and a preview asks no server.
"""

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import urllib3

from lakefs.errors import ENDPOINT_FORM, LakefsError, is_endpoint, silence

CONNECT_SECONDS = 10
READ_SECONDS = 60
PAGE_ITEMS = 1000

# A request that never left may always be sent again. One that may have arrived is repeated only
# where it changes nothing: a second commit or merge would be a second commit or merge.
RETRIES = urllib3.Retry(
    total=5,
    connect=5,
    read=3,
    redirect=0,
    status=3,
    other=0,
    allowed_methods=frozenset({"GET", "HEAD"}),
    status_forcelist=frozenset({429, 502, 503, 504}),
    backoff_factor=0.5,
    raise_on_status=False,
)

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Pagination(Protocol):
    """Where a listing goes on."""

    @property
    def has_more(self) -> bool: ...
    @property
    def next_offset(self) -> str: ...


class Page(Protocol[T_co]):
    """One page of a listing of the API."""

    @property
    def results(self) -> Sequence[T_co]: ...
    @property
    def pagination(self) -> Pagination: ...


class LakefsClient:
    """A client with one pair of keys. `api` is the SDK's own client."""

    def __init__(self, endpoint: str, access_key_id: str, secret_access_key: str) -> None:
        from lakefs_sdk.client import LakeFSClient  # noqa: PLC0415  # see above
        from lakefs_sdk.configuration import Configuration  # noqa: PLC0415  # see above
        from lakefs_sdk.exceptions import ApiException  # noqa: PLC0415  # see above

        if not is_endpoint(endpoint):
            raise LakefsError(f"The endpoint of lakeFS must be {ENDPOINT_FORM}.")
        self.endpoint = endpoint.rstrip("/")
        configuration = Configuration(
            host=self.endpoint, username=access_key_id, password=secret_access_key
        )
        configuration.retries = RETRIES  # type: ignore[assignment]  # declared by its default, None
        self._refusal = ApiException
        self.api = LakeFSClient(configuration)  # type: ignore[no-untyped-call]  # the SDK leaves it untyped

    def __repr__(self) -> str:
        return f"LakefsClient({self.endpoint!r})"

    def ask(
        self,
        task: str,
        call: Callable[..., T],
        *arguments: object,
        read_seconds: float = READ_SECONDS,
        **options: object,
    ) -> T:
        """Calls a method of `api`; `task` completes the sentence "lakeFS did not ..."."""
        try:
            timeouts = (CONNECT_SECONDS, read_seconds)
            return call(*arguments, _request_timeout=timeouts, **options)
        except self._refusal as error:
            # the SDK wraps TLS failures in an ApiException of status 0
            if not error.status:
                raise self._silence(task, str(error.reason)) from None
            said = _message(error.status, error.reason, error.body)
            raise LakefsError(
                f"lakeFS at {self.endpoint} did not {task}: {said} (HTTP {error.status}).",
                status=error.status,
            ) from None
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise self._silence(task, silence(reason)) from None

    def everything(
        self, task: str, call: Callable[..., Page[T]], *arguments: object, **options: object
    ) -> Iterator[T]:
        """Yields the items of a listing, page after page."""
        after = ""
        fetch = functools.partial(call, *arguments, amount=PAGE_ITEMS, **options)
        while True:
            page = self.ask(task, fetch, after=after)
            yield from page.results
            if not page.pagination.has_more:
                return
            after = page.pagination.next_offset

    def _silence(self, task: str, reason: str) -> LakefsError:
        return LakefsError(
            f"lakeFS at {self.endpoint} gave no answer when asked to {task}: {reason}."
        )


def _message(status: int, reason: str | None, body: str | bytes | None) -> str:
    """The message in the body of an error, or the reason phrase where the body has none."""
    try:
        message = json.loads(body or "")["message"]
    except (TypeError, ValueError, KeyError):
        message = reason
    if status == 401:
        return f"{message}: check the access key id and the secret access key"
    return str(message).strip().rstrip(".")
