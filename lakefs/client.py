"""How the program and its workloads talk to a lakeFS server: one client, one sentence per error.

The public API and its status codes are those of lakefs-sdk.
"""

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import urllib3
from lakefs_sdk.client import LakeFSClient
from lakefs_sdk.configuration import Configuration
from lakefs_sdk.exceptions import ApiException
from lakefs_sdk.models.pagination import Pagination

from lakefs.errors import ENDPOINT_FORM, LakefsError, is_endpoint

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


class Page(Protocol[T_co]):
    """One page of a listing of the API."""

    @property
    def results(self) -> Sequence[T_co]: ...
    @property
    def pagination(self) -> Pagination: ...


class Lakefs:
    """A lakeFS server and the one pair of keys to it. Its keys appear in no repr and no error."""

    def __init__(self, endpoint: str, access_key_id: str, secret_access_key: str) -> None:
        if not is_endpoint(endpoint):
            raise LakefsError(f"The endpoint of lakeFS must be {ENDPOINT_FORM}.")
        self.endpoint = endpoint.rstrip("/")
        configuration = Configuration(
            host=self.endpoint, username=access_key_id, password=secret_access_key
        )
        configuration.retries = RETRIES  # type: ignore[assignment]  # declared by its default, None
        self.api = LakeFSClient(configuration)  # type: ignore[no-untyped-call]  # the SDK leaves it untyped

    def __repr__(self) -> str:
        return f"Lakefs({self.endpoint!r})"

    def ask(
        self,
        task: str,
        call: Callable[..., T],
        *arguments: object,
        read_seconds: float = READ_SECONDS,
        **options: object,
    ) -> T:
        """Calls a method of `api`. `task` completes the sentence "lakeFS did not ..."."""
        try:
            timeouts = (CONNECT_SECONDS, read_seconds)
            return call(*arguments, _request_timeout=timeouts, **options)
        except ApiException as error:
            # the SDK wraps TLS failures in an ApiException of status 0
            if not error.status:
                raise self._silence(task, str(error.reason)) from None
            raise LakefsError(
                f"lakeFS at {self.endpoint} did not {task}: {_said(error)} (HTTP {error.status}).",
                status=error.status,
            ) from None
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise self._silence(task, type(reason).__name__) from None

    def everything(
        self, task: str, call: Callable[..., Page[T]], *arguments: object, **options: object
    ) -> Iterator[T]:
        """The items of a listing, page after page."""
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


def _said(error: ApiException) -> str:
    """The message in the body of an error, or the reason phrase where there is none."""
    try:
        message = json.loads(error.body)["message"]
    except (TypeError, ValueError, KeyError):
        message = error.reason
    if error.status == 401:
        return f"{message}: check the access key id and the secret access key"
    return str(message).strip().rstrip(".")
