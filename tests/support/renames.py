"""A stack file whose pool, team and sites have other names, as somebody would rename them."""

import json
from typing import Any

NEW = {"dgx": "h200", "burst": "rented", "trading": "desks", "fra": "frankfurt", "hel1": "helsinki"}


def rename(config: dict[str, Any], *, keep_ids: bool = True) -> None:
    """Give entries of `config`, the section of a stack file, the names of NEW.

    `keep_ids` adds `was`, as somebody does who wants nothing to be made anew.
    """
    for section in ("sites", "pools", "teams"):
        entries = config[f"gpu-fleet:{section}"]
        renamed = {NEW.get(name, name): _with_new_names(entry) for name, entry in entries.items()}
        for old, new in NEW.items():
            if keep_ids and new in renamed:
                renamed[new]["was"] = old
        config[f"gpu-fleet:{section}"] = renamed
    if lakefs := config.get("gpu-fleet:lakefs"):
        config["gpu-fleet:lakefs"] = _with_new_names(lakefs)


def _with_new_names(entry: Any) -> Any:
    """Return a copy of an entry whose references to sites and pools have the new names."""
    copied = json.loads(json.dumps(entry))
    return _walked(copied)


def _walked(value: Any) -> Any:
    if isinstance(value, list):
        return [_walked(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: NEW.get(item, item) if key in ("site", "pool") else _walked(item)
        for key, item in value.items()
    }
