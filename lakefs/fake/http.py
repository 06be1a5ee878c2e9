"""Requests, answers, pages and the table of operations that the route modules fill."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lakefs.fake.model import AnswerError, Model


@dataclass(frozen=True, kw_only=True)
class HttpRequest:
    """A request below /api/v1."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        try:
            body = json.loads(self.body or b"{}")
        except ValueError as error:
            raise AnswerError(400, "request body has an error: failed to decode") from error
        if not isinstance(body, dict):
            raise AnswerError(400, "request body has an error: not an object")
        return body

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() == "true"

    def file(self) -> tuple[bytes, str]:
        """The uploaded content and its type."""
        kind = self.headers.get("content-type", "")
        if not kind.startswith("multipart/form-data"):
            return self.body, kind or "application/octet-stream"
        boundary = b"--" + kind.partition("boundary=")[2].strip('"').encode()
        for part in self.body.split(boundary)[1:-1]:
            head, _, content = part.partition(b"\r\n\r\n")
            if b'name="content"' in head:
                found = re.search(rb"Content-Type: (\S+)", head)
                return content.removesuffix(b"\r\n"), found[1].decode() if found else ""
        raise AnswerError(400, 'multipart upload missing key "content"')


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer: status, body and headers."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, status: int, body: object, **headers: str) -> "Answer":
        kind = {"Content-Type": "application/json"}
        return cls(status=status, body=json.dumps(body).encode(), headers={**kind, **headers})


Operation = Callable[..., Answer]
ROUTES: list[tuple[str, re.Pattern[str], Operation]] = []


def route(method: str, path: str) -> Callable[[Operation], Operation]:
    pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path) + "$")

    def register(operation: Operation) -> Operation:
        ROUTES.append((method, pattern, operation))
        return operation

    return register


def answer(model: Model, request: HttpRequest) -> Answer:
    for method, pattern, operation in ROUTES:
        matched = pattern.match(request.path)
        if matched and method == request.method:
            names = matched.groupdict()
            if "repository" not in names:
                return operation(model, request)
            repository = model.repository(names.pop("repository"))
            if method in ("GET", "HEAD"):
                return operation(model, request, repository, **names)
            with repository.lock:
                return operation(model, request, repository, **names)
    raise AnswerError(404, "invalid API endpoint")


def page(request: HttpRequest, items: Iterable[tuple[str, dict[str, Any]]]) -> Answer:
    """One page of (offset, item) pairs in their order, those behind the offset `after`."""
    listed = list(items)
    after = request.query.get("after", "")
    if after:
        position = next((n for n, (key, _) in enumerate(listed) if key == after), None)
        listed = (
            listed[position + 1 :] if position is not None else [i for i in listed if i[0] > after]
        )
    amount = int(request.query.get("amount", "100"))
    if not -1 <= amount <= 1000:
        raise AnswerError(400, "parameter amount: number must be at most 1000")
    size = 1000 if amount < 0 else amount
    shown = listed[:size]
    more = len(listed) > size
    pagination = {
        "has_more": more,
        "next_offset": shown[-1][0] if more and shown else "",
        "results": len(shown),
        "max_per_page": 1000,
    }
    return Answer.of(200, {"pagination": pagination, "results": [item for _, item in shown]})
