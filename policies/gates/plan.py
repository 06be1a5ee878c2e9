"""The gate at `pulumi preview` and `pulumi up`: all rules behind one dispatching Pulumi policy.

Each Pulumi policy of a pack costs time for every resource, so that one policy hands a resource to
all rules. Pulumi knows a level for each policy and none for each violation: what does not stop the
preview is left for a second policy, `fleet-resources-advisory`, which judges nothing and only says
it. The SDK runs the policies of a pack one after the other on each resource.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from traceback import extract_tb
from typing import cast

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
)

from policies.configuration import Configured, Exemption, RuleSettings, configure, schema
from policies.gates.normal_form import NotKnownYet, plain
from policies.rules import ALL
from policies.rules.rule import Manifest, Rule

POLICY = "fleet-resources"
ADVISORY_POLICY = "fleet-resources-advisory"


def pack_config(rule_settings: RuleSettings) -> dict[str, object]:
    """Returns the content of a `--policy-pack-config` file for the settings of an environment.

    Raises PolicyConfigError with a sentence for each unknown rule and bad setting.
    """
    plain_settings = json.loads(json.dumps(rule_settings, default=str))  # days that YAML has read
    configure(plain_settings)
    return {POLICY: plain_settings}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the rules say of one resource, one paragraph a rule."""

    mandatory: list[str] = field(default_factory=list)
    advisory: list[str] = field(default_factory=list)


def judge(manifest: Manifest, rules: Iterable[Configured], *, subject: str, today: date) -> Verdict:
    """Asks every rule that is not disabled; a rule that throws counts as broken.

    `subject` names the resource where the manifest cannot (`NodePool 'burst'`).
    """
    verdict = Verdict()
    for configured in rules:
        if configured.level == "disabled":
            continue
        rule = configured.rule
        said = verdict.mandatory if configured.level == "mandatory" else verdict.advisory
        try:
            broken = rule.predicate(manifest, configured.settings)
            exemption = configured.exemption(manifest) if broken else None
        except NotKnownYet as unknown:
            verdict.advisory.append(
                f"{rule.id}: {subject} is not checked until up, because {unknown.path} is not "
                "known at preview."
            )
        except Exception as error:  # whatever a rule throws, the gate stays shut
            said.append(_thrown(rule, subject, error))
        else:
            exempt = exemption is not None and today <= exemption.until
            if broken:
                report = verdict.advisory if exempt else said
                report.append(_paragraph(rule, broken, exemption, exempt=exempt))
    return verdict


def _paragraph(rule: Rule, broken: list[str], exemption: Exemption | None, *, exempt: bool) -> str:
    lines = [f"{rule.id}: {sentence}" for sentence in broken]
    if exemption is not None:
        state = "is exempt until" if exempt else "was exempt until"
        lines.append(f"It {state} {exemption.until} ({exemption.owner}: {exemption.reason}).")
    return "\n".join([*lines, f"{rule.why} See {rule.source}"])


def _thrown(rule: Rule, subject: str, error: Exception) -> str:
    """Names the place and not the message, which may hold a value that nobody may print."""
    place = extract_tb(error.__traceback__)[-1]
    return (
        f"{rule.id}: the rule failed on {subject} with {type(error).__name__} at "
        f"{Path(place.filename).name}:{place.lineno}; a rule that fails counts as broken. "
        f"{rule.sentence}"
    )


def policies(
    rules: Sequence[Rule] = ALL, *, today: Callable[[], date] = lambda: datetime.now(UTC).date()
) -> list[Policy]:
    """Returns the Pulumi policies of the pack, which together judge every resource once."""
    left: dict[str, list[str]] = {}

    @lru_cache(maxsize=1)
    def configured(config: str) -> tuple[Configured, ...]:
        return configure(json.loads(config), rules)

    def mandatory(args: ResourceValidationArgs, report: ReportViolation) -> None:
        left.pop(args.urn, None)
        if (manifest := _manifest(args)) is None:
            return
        config = configured(json.dumps(plain(args.get_config())))
        subject = f"{args.resource_type.split(':')[-1]} '{args.name}'"
        verdict = judge(manifest, config, subject=subject, today=today())
        left[args.urn] = verdict.advisory
        for paragraph in verdict.mandatory:
            report(paragraph, None)

    def advisory(args: ResourceValidationArgs, report: ReportViolation) -> None:
        for paragraph in left.pop(args.urn, []):
            report(paragraph, None)

    return [
        ResourceValidationPolicy(
            name=POLICY,
            description="Rules of the fleet that each resource must keep.",
            enforcement_level=EnforcementLevel.MANDATORY,
            config_schema=PolicyConfigSchema({rule.id: schema(rule) for rule in rules}),
            validate=mandatory,
        ),
        ResourceValidationPolicy(
            name=ADVISORY_POLICY,
            description="What the rules of the fleet say without stopping the update.",
            enforcement_level=EnforcementLevel.ADVISORY,
            validate=advisory,
        ),
    ]


def _manifest(args: ResourceValidationArgs) -> Manifest | None:
    """Returns the manifest of a Kubernetes object, None for any other resource.

    An object whose name Kubernetes or Pulumi will complete goes by its Pulumi name.
    """
    if not args.resource_type.startswith("kubernetes:") or "kind" not in args.props:
        return None
    manifest = cast("dict[str, object]", plain(args.props))
    metadata = manifest.setdefault("metadata", {})
    if type(metadata) is dict and type(metadata.get("name")) is not str:
        metadata["name"] = args.name
    return manifest
