"""Turns Butane's `storage.trees`, which are local directories, into files and links."""

import posixpath
from collections.abc import Callable
from typing import cast

from ignition.butane.local_files import FilesDir, Leaf, LocalError
from ignition.butane.problems import Path
from ignition.butane.urls import data_url

Values = dict[str, object]
Say = Callable[[Path, str], None]
_FILE = ("group", "overwrite", "path", "user", "append", "contents", "mode")
_CONTENTS = ("compression", "httpHeaders", "source", "verification")
_LINK = ("group", "overwrite", "path", "user", "hard", "target")
_STORAGE = ("directories", "disks", "files", "filesystems", "links", "luks", "raid")


def add(config: Values, values: Values, files: FilesDir | None, say: Say) -> dict[Path, Path]:
    """Add the trees of the document to the config, and return the origin of each added node."""
    found = cast("list[Values]", cast("Values", values["storage"]).get("trees") or [])
    if not found:
        return {}
    storage = cast("dict[str, list[Values]]", config.setdefault("storage", {}))
    nodes = _Nodes(storage)
    for position, tree in enumerate(found):
        path = ("storage", "trees", position)
        local = cast("str", tree.get("local") or "")
        if not local:
            say(path, "local is required")
        elif files is None:
            say(path, "local files are read only from a directory that is given (--files-dir)")
        else:
            try:
                for leaf in files.tree(local):
                    nodes.add(leaf, cast("str", tree.get("path") or "/"), path, say)
            except LocalError as error:
                say(path, str(error))
    config["storage"] = {key: storage[key] for key in _STORAGE if storage.get(key)}
    if not config["storage"]:
        del config["storage"]
    return nodes.sources


class _Nodes:
    """The files and links of a config, to which a tree adds what is missing."""

    def __init__(self, storage: dict[str, list[Values]]) -> None:
        self.sources: dict[Path, Path] = {}
        self._storage = storage
        self._known = {
            kind: {item["path"]: position for position, item in enumerate(storage.get(kind, []))}
            for kind in ("files", "directories", "links")
        }

    def add(self, leaf: Leaf, base: str, origin: Path, say: Say) -> None:
        """Add one file or link below `base`, or fill one that the document leaves empty."""
        path = posixpath.normpath(f"{base}/{leaf.path}").replace("//", "/")
        kind = "links" if leaf.contents is None else "files"
        position = self._known[kind].get(path)
        if position is None:
            if any(path in known for known in self._known.values()):
                say(origin, f"{path} is something else in the document")
                return
            position = self._new(kind, path, origin)
        nodes = self._storage[kind]
        filled = _link(nodes[position], leaf) if kind == "links" else _file(nodes[position], leaf)
        if filled is None:
            say(origin, f"{path} has contents in the document")
        else:
            nodes[position] = filled

    def _new(self, kind: str, path: str, origin: Path) -> int:
        nodes = self._storage.setdefault(kind, [])
        nodes.append({"path": path})
        self._known[kind][path] = len(nodes) - 1
        self.sources["storage", kind, len(nodes) - 1] = origin
        return len(nodes) - 1


def _file(item: Values, leaf: Leaf) -> Values | None:
    contents = cast("Values", item.get("contents") or {})
    if contents.get("source"):
        return None
    compression = contents.get("compression") or ""
    whole = {**contents, "compression": compression, "source": data_url(leaf.contents or b"")}
    mode = item.get("mode", 0o755 if leaf.executable else 0o644)
    filled = {**item, "contents": {k: whole[k] for k in _CONTENTS if k in whole}, "mode": mode}
    return {key: filled[key] for key in _FILE if key in filled}


def _link(item: Values, leaf: Leaf) -> Values | None:
    if item.get("target"):
        return None
    filled = {**item, "target": leaf.target}
    return {key: filled[key] for key in _LINK if key in filled}
