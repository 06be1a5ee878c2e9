"""The gate at `pulumi preview` and `pulumi up`: all rules behind two dispatching Pulumi policies.

Each Pulumi policy of a pack costs time for every resource, so that one policy hands a resource to
all rules, and one more the whole stack to those that look across it. Pulumi knows a level for each
policy and none for each violation: what does not stop the preview is left for policies of the same
names with `-advisory`, which judge nothing and only say it. The SDK runs the policies of a pack one
after the other, on each resource and then on the stack.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

from policies import own_rules
from policies.configuration import ConfiguredRule, RuleSettings, configure, schema
from policies.exemptions import expired
from policies.gates.judging import findings, left_unjudged, paragraph
from policies.gates.normal_form import plain
from policies.gates.pack_config import POLICY, STACK_POLICY
from policies.language.facts import KEY as FACTS
from policies.language.facts import SCHEMA as FACTS_SCHEMA
from policies.language.owners import believed
from policies.language.rule import Manifest, Rule
from policies.language.stack import Stack
from policies.rules import ALL
from policies.verdicts import Finding, Resource

ADVISORY_POLICY = f"{POLICY}-advisory"
ADVISORY_STACK_POLICY = f"{STACK_POLICY}-advisory"
KUBERNETES = "kubernetes:"


class _Dispatch:
    """Judges each resource of an engine run once, and remembers what stops nothing."""

    def __init__(
        self, rules: Sequence[Rule], record: Callable[[Finding], None], today: Callable[[], date]
    ) -> None:
        self._rules = rules
        self._by_id = {rule.id: rule for rule in rules}
        self._is_of_all = {rule.id for rule in ALL} <= {*self._by_id}
        self._record = record
        self._today = today
        self._left: dict[str, list[str]] = {}
        self._inputs: dict[str, Manifest] = {}  # a stack shows outputs, and of user data a hash
        self._read: tuple[object, tuple[ConfiguredRule, ...]] = (None, ())  # the last, to read once

    def resource(self, args: ResourceValidationArgs, report: ReportViolation) -> None:
        asked = self._configured(args.get_config())
        manifest = _manifest(args)
        if not args.resource_type.startswith(KUBERNETES):
            self._inputs[args.urn] = manifest
        found = [
            *findings(manifest, asked, resource=_resource(args), today=self._today()),
            *left_unjudged(manifest, asked, _resource(args)),
        ]
        for message in self._stopping(found, args.urn):
            report(message, None)

    def leftovers(self, args: ResourceValidationArgs, report: ReportViolation) -> None:
        for message in self._left.pop(args.urn, []):
            report(message, None)

    def stack(self, args: StackValidationArgs, report: ReportViolation) -> None:
        self._left.clear()
        every, today = self._configured(args.get_config()), self._today()
        for message in self._stopping(expired(every, today), ""):
            report(message, None)
        asked = [each for each in every if each.rule.across is not None]
        # the program registers in whatever order: the first of many is always the same one so
        resources = sorted(args.resources, key=lambda each: each.urn) if asked else ()
        stack = Stack(self._inputs.get(each.urn) or _manifest(each) for each in resources)
        for each, manifest in zip(resources, stack, strict=True):
            found = findings(manifest, asked, resource=_resource(each), today=today, stack=stack)
            for message in self._stopping(found, each.urn):
                report(message, each.urn)

    def stack_leftovers(self, _args: StackValidationArgs, report: ReportViolation) -> None:
        for urn, messages in self._left.items():
            for message in messages:
                report(message, urn)

    def _stopping(self, found: Iterable[Finding], urn: str) -> Iterator[str]:
        """Records every finding; yields the messages that stop and leaves the others."""
        self._left[urn] = []
        for finding in found:
            self._record(finding)
            message = paragraph(finding, self._by_id[finding.rule])
            if finding.state == "violated":
                yield message
            else:
                self._left[urn].append(message)

    def _configured(self, config: Mapping[str, object]) -> tuple[ConfiguredRule, ...]:
        if self._read[0] is not config:
            said = json.loads(json.dumps(plain(config)))
            mine = {key: said[key] for key in said if key not in self._elsewhere(said)}
            self._read = (config, configure(mine, self._rules))
            self._by_id |= {each.rule.id: each.rule for each in self._read[1]}
        return self._read[1]

    def _elsewhere(self, said: RuleSettings) -> set[str]:
        """One file is for all packs: what another one reads, and rules of one's own all of them."""
        shipped = {rule.id for rule in ALL}
        others = shipped - {rule.id for rule in self._rules}
        if self._is_of_all or own_rules.KEY not in said:
            return others
        own = {each.rule.id for each in configure(said)} - shipped
        return {*others, *own, own_rules.KEY}


def policies(
    rules: Sequence[Rule] = ALL,
    *,
    record: Callable[[Finding], None] = lambda _finding: None,
    today: Callable[[], date] = lambda: datetime.now(UTC).date(),
) -> list[Policy]:
    """Returns the Pulumi policies of the pack, which together judge every resource once.

    `record` gets each finding as data; the messages that Pulumi prints are for people.
    """
    forms = {rule.id: schema(rule) for rule in rules}
    properties = PolicyConfigSchema(
        {**forms, FACTS: {**FACTS_SCHEMA}, own_rules.KEY: {**own_rules.SCHEMA}}
    )
    dispatch = _Dispatch(rules, record, today)
    return [
        ResourceValidationPolicy(
            name=POLICY,
            description="Each resource must follow the fleet's rules.",
            enforcement_level=EnforcementLevel.MANDATORY,
            config_schema=properties,
            validate=dispatch.resource,
        ),
        ResourceValidationPolicy(
            name=ADVISORY_POLICY,
            description="What the fleet's rules advise; it stops nothing.",
            enforcement_level=EnforcementLevel.ADVISORY,
            validate=dispatch.leftovers,
        ),
        StackValidationPolicy(
            name=STACK_POLICY,
            description="All resources together must follow the fleet's rules.",
            enforcement_level=EnforcementLevel.MANDATORY,
            config_schema=properties,
            validate=dispatch.stack,
        ),
        StackValidationPolicy(
            name=ADVISORY_STACK_POLICY,
            description="What these rules advise; it stops nothing.",
            enforcement_level=EnforcementLevel.ADVISORY,
            validate=dispatch.stack_leftovers,
        ),
    ]


def _resource(resource: ResourceValidationArgs | PolicyResource) -> Resource:
    kind = resource.resource_type.rpartition(":")[2]
    return Resource(kind=kind, name=resource.name, urn=resource.urn)


def _manifest(resource: ResourceValidationArgs | PolicyResource) -> Manifest:
    """Returns the resource in normal form, see `policies.language.rule.Manifest`.

    An object has no owners, as nothing here vouches for them; one whose name Kubernetes or Pulumi
    will complete goes by its Pulumi name.
    """
    if not resource.resource_type.startswith(KUBERNETES) or "kind" not in resource.props:
        named = {"name": resource.name}
        return {"kind": resource.resource_type, "metadata": named, "spec": plain(resource.props)}
    manifest = {**believed(cast("dict[str, object]", plain(resource.props)), ())}
    metadata = manifest.setdefault("metadata", {})
    if type(metadata) is dict and type(metadata.get("name")) is not str:
        metadata["name"] = resource.name
    return manifest
