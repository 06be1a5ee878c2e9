"""Reads the join parts of machines that Karpenter launches, each with a sample token.

The program lists them in a ConfigMap for fleet-join-tokens, which writes each with a real token to
the place that the machines' user data points at.
"""

import json
from collections.abc import Iterable, Mapping

from policies.language.manifest import at
from policies.language.rule import Manifest
from settings.names import BURST_POOLS


def join_parts(manifests: Iterable[Manifest]) -> Mapping[str, str]:
    """Return the Ignition of each join part by its place, such as s3://bucket/join.ign."""
    found: dict[str, str] = {}
    for each in manifests:
        text = at(each, "data", BURST_POOLS)
        if text is not None:
            found |= {pool["source"]: pool["template"] for pool in json.loads(str(text))}
    return found
