"""The bootstrap token in a machine's user data."""

import json
from collections.abc import Iterator
from typing import Any

from ignition.butane.urls import decode
from ignition.write.render import JOIN_FILE


def token_of(user_data: str) -> str | None:
    """Return the token with which the machine would join; None where it has none."""
    for config in _configs(json.loads(user_data)):
        for file in config.get("storage", {}).get("files", []):
            if file["path"] == JOIN_FILE:
                join = json.loads(decode(file["contents"]["source"]))
                return str(join["discovery"]["bootstrapToken"]["token"])
    return None


def _configs(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a configuration and those that it carries in data URLs."""
    yield config
    for entry in config["ignition"].get("config", {}).get("merge", []):
        if str(entry["source"]).startswith("data:"):
            yield from _configs(json.loads(decode(entry["source"])))
