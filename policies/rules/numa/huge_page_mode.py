"""Huge pages must fit the purpose: not `always` for inference, not `never` for training.

The rule reads `transparent_hugepage=`. With `always` the kernel compacts
memory in the middle of a request, which shows in the tail of the latency; with `never` the
long-lived host buffers of training lose what huge pages give. A unit, a script or a line of
tmpfiles.d that writes the mode later counts as well.
"""

import re

from policies.language.boot_data import Shipped, judged, texts, words
from policies.language.rule import Rule

_WRITES = "/sys/kernel/mm/transparent_hugepage/enabled"
_UNFIT = {"inference": "always", "training": "never"}


def _judge(shipped: Shipped) -> list[str]:
    unfit = _UNFIT.get(str(shipped.inputs.get("purpose")))
    if f"transparent_hugepage={unfit}" in words(shipped.config):
        return [f"not have transparent_hugepage={unfit} for its purpose"]
    config = shipped.config
    written = [file.text or "" for file in config.files.values()]
    written += [text for unit in config.units.values() for text in texts(unit)]
    lines = (line for text in written if _WRITES in text for line in text.splitlines())
    if any(_WRITES in line and re.search(rf"\b{unfit}\b", line) for line in lines):
        return [f"not write {unfit} to {_WRITES} for its purpose"]
    return []


RULE = Rule(
    id="numa/huge-page-mode",
    sentence="Transparent huge pages must fit the purpose of a pool.",
    why=(
        "Always-on huge pages stall requests while memory is compacted, and without any the host "
        "buffers of training miss the translation cache all the time."
    ),
    source="https://docs.kernel.org/admin-guide/mm/transhuge.html",
    predicate=judged(_judge),
)
