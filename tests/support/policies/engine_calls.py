"""The policies of a pack, called as the engine calls them and with the SDK's own proxies."""

from datetime import date
from typing import Any

from pulumi_policy import PolicyResource, ResourceValidationArgs, StackValidationArgs
from pulumi_policy.proxy import unknown_checking_proxy

from policies.gates.pack_config import POLICY, pack_config
from policies.gates.plan import policies
from policies.language.manifest import at, describe
from policies.language.rule import Manifest, Rule, Settings
from policies.rules import ALL
from policies.rules.idle import gpu_node_pool as idle_gpu_node_pool

HELD = idle_gpu_node_pool.RULE
RULE = HELD.id
AFTER = "spec.disruption.consolidateAfter"
TODAY = date(2026, 11, 21)


def told(
    props: dict[str, Any],
    settings: dict[str, dict[str, object]] | None = None,
    rules: tuple[Rule, ...] = ALL,
    resource_type: str = "kubernetes:karpenter.sh/v1:NodePool",
) -> dict[str, list[str]]:
    """Hands one resource to the policies of the pack, in their order; returns what they say."""
    said: dict[str, list[str]] = {}
    config: Any = pack_config(settings or {})[POLICY]
    for policy in policies(rules, today=lambda: TODAY)[:2]:  # those of single resources
        said[policy.name] = heard(policy, props, config, resource_type)
    return said


def heard(
    policy: Any,
    props: dict[str, Any],
    config: dict[str, Any],
    resource_type: str = "kubernetes:karpenter.sh/v1:NodePool",
    urn: str = "urn:pulumi:dev::gpu-fleet::type::pulumi-name",
) -> list[str]:
    """Calls one policy as the SDK does for one resource; returns its messages."""
    messages: list[str] = []
    arguments = ResourceValidationArgs(
        resource_type=resource_type,
        props=unknown_checking_proxy(props),
        urn=urn,
        name="pulumi-name",
        opts=None,  # type: ignore[arg-type]  # no rule reads resource options
        provider=None,
        config=config,
    )
    policy.validate(arguments, lambda message, _urn: messages.append(message))
    return messages


def stack_resource(name: str, props: dict[str, Any]) -> PolicyResource:
    """A ConfigMap among the resources of a stack."""
    whole = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, **props}
    return PolicyResource(
        resource_type="kubernetes:core/v1:ConfigMap",
        props=unknown_checking_proxy(whole),
        urn=f"urn:{name}",
        name=name,
        opts=None,  # type: ignore[arg-type]  # no rule reads resource options
        provider=None,
        parent=None,
        dependencies=[],
        property_dependencies={},
    )


def heard_of_stack(
    policy: Any, resources: list[PolicyResource], config: dict[str, Any]
) -> list[tuple[str, str]]:
    """Calls a stack policy as the SDK does; returns its messages, each with its resource's URN."""
    messages: list[tuple[str, str]] = []
    arguments = StackValidationArgs(
        resources=resources,
        stack_tags={},
        config=config,
    )
    policy.validate(arguments, lambda message, urn: messages.append((urn, message)))
    return messages


def rule(rule_id: str, predicate: Any, level: Any = "mandatory") -> Rule:
    return Rule(
        id=rule_id,
        sentence=f"Every object must keep {rule_id}.",
        why="It is so.",
        source="https://example.org/why",
        level=level,
        predicate=predicate,
    )


def refuse(manifest: Manifest, _settings: Settings) -> list[str]:
    return [f"{describe(manifest)} must not be."]


def throw(_manifest: Manifest, _settings: Settings) -> list[str]:
    raise ValueError("hunter2")


def look_at_data(manifest: Manifest, _settings: Settings) -> list[str]:
    return [f"{describe(manifest)} must not say x."] if at(manifest, "data", "a") == "x" else []
