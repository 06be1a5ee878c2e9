"""Hetzner's API as far as it is asked: things by label or name, in pages."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rehearsal.cloud_apis import json_api

Labels = Mapping[str, str]
Project = Mapping[str, Mapping[str, Labels]]
PAGE = 25
"""As many as Hetzner's API answers unless it is asked for more."""


@contextmanager
def project(content: Project | Callable[[], Project]) -> Iterator[str]:
    """The address of an API with things by kind and name, with their labels."""

    def answer(kind: str, query: Mapping[str, str]) -> Mapping[str, Any]:
        page = int(query.get("page", "1"))
        now = content() if callable(content) else content
        selector = query.get("label_selector", "")
        names = [
            name
            for name, labels in now.get(kind, {}).items()
            if selects(selector, labels) and query.get("name") in (None, name)
        ]
        more = page + 1 if len(names) > page * PAGE else None
        shown = names[(page - 1) * PAGE : page * PAGE]
        return {
            kind: [{"id": number, "name": name} for number, name in enumerate(shown, 1)],
            "meta": {"pagination": {"next_page": more}},
        }

    with json_api(answer) as address:
        yield address


def selects(selector: str, labels: Labels) -> bool:
    """Whether labels match Hetzner's selector: key, !key, key==value, joined by commas."""
    for term in filter(None, selector.split(",")):
        key, equals, value = term.partition("==")
        if equals and labels.get(key) != value:
            return False
        if not equals and (key.lstrip("!") in labels) == key.startswith("!"):
            return False
    return True
