"""`python -m toolchain.ignition_keys` writes the keys of Ignition 3.4 and the JSON type of each.

They come from the schema in the Go module that butane-check is built with. A place such as
`storage.files[].mode` names a key, `[]` stands for each item of a list.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from toolchain.go import find_go
from toolchain.layout import Layout
from toolchain.progress import Progress

MODULE = "github.com/coreos/ignition/v2"
SCHEMA = "config/v3_4/schema/ignition.json"
FOLDER = "butane-check"
TARGET = Path(__file__).parents[1] / "ignition" / "boot" / "ignition-3.4.json"
Json = Mapping[str, Any]


def places(node: Json, schema: Json, place: str = "") -> Iterator[tuple[str, str]]:
    """The places below a node of the schema, each with its type; null is left out."""
    for part in node.get("allOf", ()):
        yield from places(part, schema, place)
    if "$ref" in node:
        target = schema
        for name in node["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        yield from places(target, schema, place)
    if "type" in node and place:
        yield place, node["type"][0] if isinstance(node["type"], list) else node["type"]
    if "items" in node:
        yield from places(node["items"], schema, f"{place}[]")
    for key, child in node.get("properties", {}).items():
        yield from places(child, schema, f"{place}.{key}".removeprefix("."))


def main() -> None:
    """Fetch the module and write the file."""
    go = find_go(Layout(), (FOLDER,), Progress(Console(stderr=True, emoji=False)))
    module = json.loads(go.run(("mod", "download", "-json", MODULE), folder=FOLDER))
    schema = json.loads((Path(module["Dir"]) / SCHEMA).read_text(encoding="utf-8"))
    text = {
        "source": f"https://github.com/coreos/ignition/blob/{module['Version']}/{SCHEMA}",
        "licence": "Apache-2.0",
        "written_by": "python -m toolchain.ignition_keys",
        "keys": dict(places(schema, schema)),
    }
    TARGET.write_text(json.dumps(text, indent=2) + "\n")


if __name__ == "__main__":
    main()
