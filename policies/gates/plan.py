"""The gate at `pulumi preview` and `pulumi up`: all rules behind two dispatching Pulumi policies.

Each Pulumi policy of a pack costs time for every resource, so that one policy hands a resource to
all rules, and one more the whole stack to those that look across it. Pulumi knows a level for each
policy and none for each violation: what does not stop the preview is left for policies of the same
names with `-advisory`, which judge nothing and only say it. The SDK runs the policies of a pack one
after the other, on each resource and then on the stack.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import cast

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

from policies.configuration import Configured, RuleSettings, configure, schema
from policies.exemptions import expired
from policies.gates.judging import judge
from policies.gates.normal_form import plain
from policies.language.facts import KEY as FACTS
from policies.language.facts import SCHEMA as FACTS_SCHEMA
from policies.language.rule import Manifest, Rule
from policies.rules import ALL

POLICY = "fleet-resources"
STACK_POLICY = "fleet-stack"
ADVISORY_POLICY = f"{POLICY}-advisory"
ADVISORY_STACK_POLICY = f"{STACK_POLICY}-advisory"
KUBERNETES = "kubernetes:"


def pack_config(rule_settings: RuleSettings, rules: Sequence[Rule] = ALL) -> dict[str, object]:
    """Returns the content of a `--policy-pack-config` file for the settings of an environment.

    Raises PolicyConfigError with a sentence for each unknown rule and bad setting.
    """
    plain_settings = json.loads(json.dumps(rule_settings, default=str))  # days that YAML has read
    configure(plain_settings, rules)
    return {POLICY: plain_settings, STACK_POLICY: plain_settings}


def policies(
    rules: Sequence[Rule] = ALL, *, today: Callable[[], date] = lambda: datetime.now(UTC).date()
) -> list[Policy]:
    """Returns the Pulumi policies of the pack, which together judge every resource once."""
    forms = {rule.id: schema(rule) for rule in rules}
    properties = PolicyConfigSchema({**forms, FACTS: {**FACTS_SCHEMA}})
    elsewhere = {rule.id for rule in ALL} - {rule.id for rule in rules}  # one file for all packs
    left: dict[str, list[str]] = {}
    inputs: dict[str, Manifest] = {}  # a stack shows outputs, and of user data a hash

    read: list[tuple[object, tuple[Configured, ...]]] = []  # the last one, to read it once

    def configured(config: Mapping[str, object]) -> tuple[Configured, ...]:
        if not read or read[0][0] is not config:
            said = json.loads(json.dumps(plain(config)))
            mine = {key: said[key] for key in said if key not in elsewhere}
            read[:] = [(config, configure(mine, rules))]
        return read[0][1]

    def resource(args: ResourceValidationArgs, report: ReportViolation) -> None:
        asked = configured(args.get_config())
        manifest = _manifest(args)
        if not args.resource_type.startswith(KUBERNETES):
            inputs[args.urn] = manifest
        verdict = judge(manifest, asked, subject=_subject(args), today=today())
        left[args.urn] = verdict.advisory
        for paragraph in verdict.mandatory:
            report(paragraph, None)

    def leftovers(args: ResourceValidationArgs, report: ReportViolation) -> None:
        for paragraph in left.pop(args.urn, []):
            report(paragraph, None)

    def stack(args: StackValidationArgs, report: ReportViolation) -> None:
        left.clear()
        every = configured(args.get_config())
        for rule, sentence in expired(every, today()):
            report(f"{rule.id}: {sentence}", None)
        asked = [each for each in every if each.rule.across is not None]
        # the program registers in whatever order: the first of many is always the same one so
        resources = sorted(args.resources, key=lambda each: each.urn) if asked else ()
        manifests = [inputs.get(each.urn) or _manifest(each) for each in resources]
        for each, manifest in zip(resources, manifests, strict=True):
            verdict = judge(manifest, asked, subject=_subject(each), today=today(), stack=manifests)
            left[each.urn] = verdict.advisory
            for paragraph in verdict.mandatory:
                report(paragraph, each.urn)

    def stack_leftovers(_args: StackValidationArgs, report: ReportViolation) -> None:
        for urn, paragraphs in left.items():
            for paragraph in paragraphs:
                report(paragraph, urn)

    return [
        ResourceValidationPolicy(
            name=POLICY,
            description="Rules of the fleet that each resource must keep.",
            enforcement_level=EnforcementLevel.MANDATORY,
            config_schema=properties,
            validate=resource,
        ),
        ResourceValidationPolicy(
            name=ADVISORY_POLICY,
            description="What the rules of the fleet say without stopping the update.",
            enforcement_level=EnforcementLevel.ADVISORY,
            validate=leftovers,
        ),
        StackValidationPolicy(
            name=STACK_POLICY,
            description="Rules of the fleet that the resources must keep together.",
            enforcement_level=EnforcementLevel.MANDATORY,
            config_schema=properties,
            validate=stack,
        ),
        StackValidationPolicy(
            name=ADVISORY_STACK_POLICY,
            description="What these rules say without stopping the update.",
            enforcement_level=EnforcementLevel.ADVISORY,
            validate=stack_leftovers,
        ),
    ]


def _subject(resource: ResourceValidationArgs | PolicyResource) -> str:
    return f"{resource.resource_type.split(':')[-1]} '{resource.name}'"


def _manifest(resource: ResourceValidationArgs | PolicyResource) -> Manifest:
    """Returns the resource in normal form, see `policies.language.rule.Manifest`.

    An object whose name Kubernetes or Pulumi will complete goes by its Pulumi name.
    """
    if not resource.resource_type.startswith(KUBERNETES) or "kind" not in resource.props:
        named = {"name": resource.name}
        return {"kind": resource.resource_type, "metadata": named, "spec": plain(resource.props)}
    manifest = cast("dict[str, object]", plain(resource.props))
    metadata = manifest.setdefault("metadata", {})
    if type(metadata) is dict and type(metadata.get("name")) is not str:
        metadata["name"] = resource.name
    return manifest
