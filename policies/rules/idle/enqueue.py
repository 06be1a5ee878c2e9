"""Where machines are rented, Volcano must not hold a job back for want of machines.

A job has no pods before Volcano's action `enqueue` lets it in, Karpenter rents machines for pods
alone, and the plugins overcommit, proportion and capacity let a job in only where machines for it
exist: one that is larger than what is idle waits for ever. So either there is no `enqueue`, as
`actions` of the chart's scheduler configuration, or no such plugin has a say in it:
`enableJobEnqueued: false`. The chart's own configuration has `enqueue` and overcommit.
"""

from collections.abc import Iterator, Sequence

import yaml

from policies.language.gpu_node_pools import is_gpu_node_pool
from policies.language.manifest import at, items
from policies.language.rule import Manifest, Rule, Settings
from settings.names import RELEASE

_CONFIG_MAP = "volcano-scheduler-configmap"
_VOTES = ("overcommit", "proportion", "capacity")
_MUST = "must let jobs in for which there are no machines yet"


def violations(manifest: Manifest, _settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Returns what keeps jobs without pods in a stack whose machines Karpenter rents for pods."""
    text = _configuration(manifest)
    if text is None or not any(map(is_gpu_node_pool, stack)):
        return []
    named = f"{str(manifest.get('kind')).split(':')[-1]} '{at(manifest, 'metadata', 'name')}'"
    return [f"{named} {_MUST}: {fault}." for fault in _faults(text)]


def _configuration(manifest: Manifest) -> str | None:
    """The scheduler's configuration, empty where Volcano has its own; None for something else."""
    if manifest.get("kind") == RELEASE and at(manifest, "spec", "chart") == "volcano":
        return str(at(manifest, "spec", "values", "custom", "scheduler_config_override") or "")
    if manifest.get("kind") == "ConfigMap" and at(manifest, "metadata", "name") == _CONFIG_MAP:
        return str(at(manifest, "data", "volcano-scheduler.conf") or "")
    return None


def _faults(text: str) -> Iterator[str]:
    if not text:
        yield "the chart's own scheduler configuration has enqueue and overcommit"
        return
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError:
        yield "the scheduler's configuration cannot be read as YAML"
        return
    actions = str(at(found, "actions") or "").replace(",", " ").split()
    if "enqueue" not in actions:
        return
    for tier in items(at(found, "tiers")):
        for plugin in items(at(tier, "plugins")):
            votes = at(plugin, "enableJobEnqueued") is not False
            if votes and at(plugin, "name") in _VOTES:
                yield f"the plugin {at(plugin, 'name')} must have enableJobEnqueued false"


RULE = Rule(
    id="idle/enqueue",
    sentence="A queue that rents machines must not wait in enqueue for machines.",
    why=(
        "A job without pods rents nothing, and a job that waits for what nobody rents never "
        "starts; the machines that it was budgeted for stay away without a word."
    ),
    source="https://github.com/volcano-sh/volcano/blob/v1.14.1/pkg/scheduler/actions/enqueue/enqueue.go",
    across=violations,
)
