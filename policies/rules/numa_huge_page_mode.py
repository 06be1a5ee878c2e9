"""Huge pages must fit the purpose: not `always` for inference, not `never` for training.

What is meant are transparent ones, `transparent_hugepage=`. With `always` the kernel compacts
memory in the middle of a request, which shows in the tail of the latency; with `never` the
long-lived host buffers of training lose what huge pages give.
"""

from policies.rules.rule import Rule
from policies.rules.shipped import Shipped, judged, words

_UNFIT = {"inference": "always", "training": "never"}


def _judge(shipped: Shipped) -> list[str]:
    unfit = _UNFIT.get(str(shipped.inputs.get("purpose")))
    if f"transparent_hugepage={unfit}" in words(shipped.config):
        return [f"not have transparent_hugepage={unfit} for its purpose"]
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
