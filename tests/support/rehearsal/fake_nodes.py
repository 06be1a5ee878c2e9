"""An API server in memory that has one Node."""

import json
from collections.abc import Mapping
from typing import Any


class FakeApi:
    """A cluster with one Node, which takes merge patches."""

    def __init__(self) -> None:
        self.node: dict[str, Any] = {}

    def items(self, _path: str) -> list[dict[str, Any]]:
        return [self.node] if self.node else []

    def get(self, _path: str) -> dict[str, Any]:
        return self.node

    def create(self, _path: str, body: dict[str, Any]) -> bool:
        if self.node:
            return False
        self.node = json.loads(json.dumps(body))
        return True

    def request(self, _verb: str, _path: str, body: dict[str, Any], **_headers: object) -> None:
        _merge(self.node, body)


def _merge(live: dict[str, Any], change: Mapping[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, dict):
            _merge(live.setdefault(key, {}), value)
        elif value is None:
            live.pop(key, None)
        else:
            live[key] = value
