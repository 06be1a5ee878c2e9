"""Calls of lakeFS's API on one repository, and what its refusals and branches look like."""

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from lakefs_sdk import api as services

from lakefs.errors import LakefsError
from lakefs.repository import DataRepository
from tests.support.backtests import put


def ask(repository: DataRepository, call: Callable[..., Any], *rest: object, **more: object) -> Any:
    bound = functools.partial(call, repository.name, *rest, **more)
    return repository.lakefs.ask("do it", bound)


def statuses(call: Callable[..., Any]) -> set[int]:
    """The statuses of an operation in the public API, as its generated client has them."""
    service, operation = inspect.unwrap(call).__qualname__.split(".")
    source = inspect.getsource(getattr(services, service))
    body = source.split(f"def {operation}_with_http_info(")[1].split("_response_types_map = {")[1]
    return {int(status) for status in re.findall(r"'(\d{3})':", body.split("}")[0])}


def refused(
    repository: DataRepository, call: Callable[..., Any], *rest: object, **more: object
) -> int:
    """The status of a refusal, which must be one that the public API declares."""
    with pytest.raises(LakefsError) as error:
        ask(repository, call, *rest, **more)
    assert error.value.status in statuses(call)
    assert error.value.status is not None
    return error.value.status


def diverged(repository: DataRepository, base: str, source: str | None, ours: str | None) -> None:
    """A branch `side` and `main` that have gone their ways; `own` and `side` always differ."""
    put(repository, "main", f=base.encode())
    repository.open_branch("side", repository.head("main"))
    for branch, content in (("side", source), ("main", ours)):
        if content is None:
            repository.remove(branch, "f")
        elif content != base:
            repository.upload(branch, "f", content.encode())
        put(repository, branch, **{f"of-{branch}": b"x"})
