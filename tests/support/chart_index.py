"""The keys of a chart's values, kept as an index so that the tests need no chart.

    python -m tests.support.chart_index CHART_FOLDER VERSION SOURCE

reads Chart.yaml and values.yaml of CHART_FOLDER and writes chart_indexes/<chart>.json. VERSION is
the release, since the Chart.yaml of a repository often says another; SOURCE is where it was read.

A key is the path that `helm --set` takes. One that ends in `.*` is empty by default: the chart
reads whatever is set below it.
"""

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "chart_indexes"
# Defaults that tests compare with what this program sets.
DEFAULTS = {
    "kube-prometheus-stack": (
        "prometheus-node-exporter.extraArgs",
        "prometheus.prometheusSpec.image.tag",
    ),
    "lakefs": ("image.community.tag", "ingress.hosts", "lakefsConfig"),
}
# A block that the values hold as a comment: the key above it and its own.
COMMENTED = {"gpu-operator": ("dcgmExporter", "config")}
# The part of a CRD that the chart fills from its values: the file, and the key of the kind's spec.
SCHEMAS = {"gpu-operator": ("crds/nvidia.com_clusterpolicies.yaml", "dcgmExporter")}


def index(folder: Path, version: str, source: str) -> dict[str, Any]:
    """The index of the chart in `folder`."""
    name = yaml.safe_load((folder / "Chart.yaml").read_text())["name"]
    text = (folder / "values.yaml").read_text()
    values = yaml.safe_load(text)
    keys = [*paths(values)]
    if name in COMMENTED:
        parent, block = COMMENTED[name]
        keys += [f"{parent}.{block}.{key}.*" for key in commented(text, parent, block)]
    made = {
        "chart": name,
        "version": version,
        "source": source,
        "written_by": "python -m tests.support.chart_index",
        "defaults": {path: at(values, path) for path in DEFAULTS.get(name, ())},
        "keys": sorted(keys),
    }
    if name in SCHEMAS:
        file, key = SCHEMAS[name]
        (version_of_kind,) = yaml.safe_load((folder / file).read_text())["spec"]["versions"]
        spec = version_of_kind["schema"]["openAPIV3Schema"]["properties"]["spec"]
        made["schema"] = without_prose(spec["properties"][key])
    return made


def paths(values: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The path of each value that is no mapping, or an empty one."""
    for key, value in values.items():
        path = above + escaped(key)
        if isinstance(value, Mapping) and value:
            yield from paths(value, f"{path}.")
        else:
            yield path if value else f"{path}.*"


def escaped(key: str) -> str:
    """A key as a step of a path."""
    return key.replace(".", r"\.")


def commented(text: str, parent: str, block: str) -> list[str]:
    """The keys of a block that is a comment below the key `parent` of the top level."""
    (section,) = re.findall(rf"(?m)^{parent}:\n((?:(?: .*)?\n)+)", text)
    (lines,) = re.findall(rf"(?m)^  # {block}:\n((?: +#.*\n)+)", section)
    found: list[str] = re.findall(r"(?m)^    # (\w+): ", lines)
    return found


def at(values: Mapping[str, Any], path: str) -> Any:
    """The value at a path without escaped dots."""
    value: Any = values
    for key in path.split("."):
        value = value[key]
    return value


def without_prose(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without its descriptions."""
    return {
        key: {name: without_prose(each) for name, each in part.items()}
        if key == "properties"
        else without_prose(part)
        if isinstance(part, Mapping)
        else part
        for key, part in schema.items()
        if key != "description"
    }


@cache
def read(chart: str) -> dict[str, Any]:
    """The index of a chart. It is read once: change nothing in it."""
    found: dict[str, Any] = json.loads((FOLDER / f"{chart}.json").read_text())
    return found


def unknown_keys(
    values: Mapping[str, Any], keys: Sequence[str], free: Collection[str] = ()
) -> list[str]:
    """Paths of `values` that are not among the `keys` of a chart; below a free path all are."""
    empty = {key.removesuffix(".*") for key in keys if key.endswith(".*")} | set(free)
    known = set(empty)
    for key in keys:
        steps = re.split(r"(?<!\\)\.", key.removesuffix(".*"))
        known |= {".".join(steps[: length + 1]) for length in range(len(steps))}
    return list(_unknown(values, known, empty))


def _unknown(
    values: Mapping[str, Any], known: set[str], empty: set[str], above: str = ""
) -> Iterator[str]:
    for key, value in values.items():
        path = above + escaped(key)
        if path not in known:
            yield path
        elif isinstance(value, Mapping) and path not in empty:
            yield from _unknown(value, known, empty, f"{path}.")


if __name__ == "__main__":
    chart_folder, release, address = sys.argv[1:]
    written = index(Path(chart_folder), release, address)
    (FOLDER / f"{written['chart']}.json").write_text(json.dumps(written, indent=1) + "\n")
