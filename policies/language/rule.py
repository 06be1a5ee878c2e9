"""The type of a rule: one sentence, its reason, and its form at each gate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["mandatory", "advisory", "disabled"]
Manifest = Mapping[str, object]
"""A resource in normal form: plain dicts, lists and scalars, whole numbers as `int`.

A Kubernetes object is its manifest. Any other resource has its Pulumi type as `kind`, its Pulumi
name as `metadata.name` and its inputs as `spec`; it has no `apiVersion`.
"""
Settings = Mapping[str, object]
"""The settings of a rule by name; beside them `today`, the day on which it is asked, as 2026-11-21,
and `facts`, what is known of the environment, see `policies.language.facts`.
"""
Severity = Literal["critical", "warning", "info"]
"""Of an alert. critical: somebody must act now; warning: today; info: worth a look."""
Kind = tuple[str, str]
"""API group and plural name: `("apps", "deployments")`."""


@dataclass(frozen=True, kw_only=True)
class Admission:
    """The form of a rule that the API server holds to, in CEL.

    `kinds` are the resources that the rule speaks of. `shared` are variables that other rules have
    by the same names and in the same words, such as the pods of an object; `variables` are the
    rule's own. Each may use those before it as `variables.<name>`, and what the environment says:
    `variables.pools` and `variables.queues` (see `policies.language.facts`), and `cel.setting`.
    `object` and `request` are the API server's own. `fault` is what is said of an object that
    breaks the rule, behind the object's name and in the words of the predicate's sentence; empty
    for one that keeps it.
    """

    kinds: tuple[Kind, ...]
    fault: str
    shared: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Alert:
    """An alert of Prometheus: it fires when `expression` has had a result for `lasts_minutes`.

    `summary` is the first sentence that the person on call reads, a template of Prometheus. `why`
    says what it costs to do nothing, `runbook` what to do first.

    An alert that is the form of a rule leaves `why`, `runbook` and `labels` to the rule, and its
    `expression` may name a setting of the rule as `$<setting>`. With `of_reserved_pools` each pool
    of which the reserved capacity ends makes an alert of its own with the label `pool`, which may
    name it as `$pool`, and the second at which its last day is over as `$end`.
    """

    name: str
    expression: str
    lasts_minutes: int
    severity: Severity
    summary: str
    why: str = ""
    runbook: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    of_reserved_pools: bool = False


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A policy rule, written once for every gate that holds someone to it.

    `id` is `<pack>/<name>`. `sentence` says "must". `source` is the address that backs `why`.
    `schema` holds the JSON Schema of each setting by name, with its `default` and `description`.
    `predicate` returns one full sentence for each violation, empty when the manifest is fine or is
    not of the kind that the rule speaks of. `across` does the same with all resources of the stack
    at hand, for what one alone cannot show. A rule has at least one of the two. `watched_by` names
    alerts of the fleet's monitoring that show at run time what the rule is there to prevent.
    `keys` returns the keys of the stack file that decide what a resource breaks the rule by, such
    as `pools.{pool}.gpu_limits` for those of the resource's own pool; it is asked of a resource
    that breaks the rule, and left out where no single key decides.
    """

    id: str
    sentence: str
    why: str
    source: str
    predicate: Callable[[Manifest, Settings], list[str]] | None = None
    across: Callable[[Manifest, Settings, Sequence[Manifest]], list[str]] | None = None
    level: Level = "mandatory"
    schema: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    admission: Admission | None = None
    alert: Alert | None = None
    watched_by: tuple[str, ...] = ()
    keys: Callable[[Manifest, Settings], list[str]] | None = None

    def defaults(self) -> dict[str, object]:
        """Returns the settings of a rule that nobody configured."""
        return {name: setting["default"] for name, setting in self.schema.items()}
