"""Serves a pack by the engine's own protocol, so that each resource is read once.

The SDK's `PolicyPack` copies a resource three times for each of its policies, the provider with it,
and the whole stack for each stack policy, which on a thousand resources takes longer than all rules
together. Here they are read straight into normal form, and all policies look at that.
"""
# ruff: noqa: N802  # the names of the methods are the protocol's

import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import grpc  # type: ignore[import-untyped]  # grpcio ships no types
from google.protobuf import empty_pb2  # type: ignore[import-untyped]  # ships no types
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi.runtime.proto import analyzer_pb2_grpc, plugin_pb2
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.version import VERSION

from policies.gates.normal_form import Plain, from_wire

MOST_BYTES = 400 * 1024 * 1024  # of a message, as in the SDK: a whole stack is one
PACK_VERSION = "0.0.1"  # the one that counts is in PulumiPolicy.yaml
_LEVELS = {
    EnforcementLevel.ADVISORY: proto.ADVISORY,
    EnforcementLevel.MANDATORY: proto.MANDATORY,
}
# no rule reads the options of a resource
_OPTIONS = PolicyResourceOptions(
    protect=False,
    ignore_changes=[],
    delete_before_replace=None,
    aliases=[],
    custom_timeouts=PolicyCustomTimeouts(0, 0, 0),
    additional_secret_outputs=[],
)


def serve(name: str, policies: Sequence[Policy]) -> None:
    """Serve until ended; the engine reads the port of this machine from standard output."""
    server = grpc.server(
        ThreadPoolExecutor(max_workers=1),  # the policies leave things for each other
        options=[("grpc.max_receive_message_length", MOST_BYTES)],
    )
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(Analyzer(name, policies), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.buffer.write(f"{port}\n".encode())
    sys.stdout.buffer.flush()
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.stop(0)


class Analyzer(analyzer_pb2_grpc.AnalyzerServicer):
    """The policies of a pack behind the calls that the engine makes.

    Each says its level, advisory or mandatory, and the engine may configure another.
    """

    def __init__(self, name: str, policies: Sequence[Policy]) -> None:
        self._name = name
        self._policies = policies
        self._levels = {each.name: _level(each) for each in policies}
        self._config: dict[str, Mapping[str, object]] = {each.name: {} for each in policies}

    def GetPluginInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        """The version of the SDK whose place this takes."""
        del request, context
        return plugin_pb2.PluginInfo(version=VERSION)

    def GetAnalyzerInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> proto.AnalyzerInfo:
        """The policies with their levels and what may be configured."""
        del request, context
        told = proto.AnalyzerInfo(name=self._name, version=PACK_VERSION, supportsConfig=True)
        told.policies.extend(map(_told, self._policies))
        return told

    def Configure(
        self, request: proto.ConfigureAnalyzerRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        """Takes the content of `--policy-pack-config` over, which the engine has checked.

        What is said under one policy of a pack counts for those that say nothing of it: a rule is
        written once, and an exemption from it ends at a single resource and over the whole stack.
        """
        del context
        told: dict[str, dict[str, object]] = {}
        anywhere: dict[str, object] = {}
        for name, given in request.policyConfig.items():
            self._levels[name] = given.enforcementLevel
            said = from_wire(given.properties)
            told[name] = {key: value for key, value in said.items() if value}  # {} is a default
            anywhere |= told[name]
        self._config = {name: Plain({**anywhere, **told.get(name, {})}) for name in self._config}
        return empty_pb2.Empty()

    def ConfigureStack(
        self, request: proto.AnalyzerStackConfigureRequest, context: grpc.ServicerContext
    ) -> proto.AnalyzerStackConfigureResponse:
        """No rule reads the name of the stack."""
        del request, context
        return proto.AnalyzerStackConfigureResponse()

    def Remediate(
        self, request: proto.AnalyzeRequest, context: grpc.ServicerContext
    ) -> proto.RemediateResponse:
        """No rule changes what somebody has written."""
        del request, context
        return proto.RemediateResponse()

    def Analyze(
        self, request: proto.AnalyzeRequest, context: grpc.ServicerContext
    ) -> proto.AnalyzeResponse:
        """Holds one resource to the policies."""
        del context
        response = proto.AnalyzeResponse()
        properties = from_wire(request.properties)
        for policy in self._policies:
            if isinstance(policy, ResourceValidationPolicy) and self._is_on(policy):
                args = ResourceValidationArgs(
                    resource_type=request.type,
                    props=properties,
                    urn=request.urn,
                    name=request.name,
                    opts=_OPTIONS,
                    provider=None,
                    config=self._config[policy.name],
                )
                policy.validate(args, self._reporter(policy, response))
        return response

    def AnalyzeStack(
        self, request: proto.AnalyzeStackRequest, context: grpc.ServicerContext
    ) -> proto.AnalyzeResponse:
        """Holds all resources together to the policies."""
        del context
        response = proto.AnalyzeResponse()
        resources = [*map(_resource, request.resources)]
        for policy in self._policies:
            if isinstance(policy, StackValidationPolicy) and self._is_on(policy):
                args = StackValidationArgs(resources, self._config[policy.name])
                policy.validate(args, self._reporter(policy, response))
        return response

    def _is_on(self, policy: Policy) -> bool:
        return self._levels[policy.name] != proto.DISABLED

    def _reporter(self, policy: Policy, response: proto.AnalyzeResponse) -> ReportViolation:
        def report(message: str, urn: str | None = None) -> None:
            response.diagnostics.append(
                proto.AnalyzeDiagnostic(
                    policyName=policy.name,
                    policyPackName=self._name,
                    policyPackVersion=PACK_VERSION,
                    description=policy.description,
                    message=f"{policy.description}\n{message}",
                    urn=urn or "",
                    enforcementLevel=self._levels[policy.name],
                )
            )

        return report


def _level(policy: Policy) -> proto.EnforcementLevel.ValueType:
    return _LEVELS[policy.enforcement_level or EnforcementLevel.MANDATORY]


def _told(policy: Policy) -> proto.PolicyInfo:
    info = proto.PolicyInfo(
        name=policy.name, description=policy.description, enforcementLevel=_level(policy)
    )
    info.policy_type = (
        proto.POLICY_TYPE_STACK
        if isinstance(policy, StackValidationPolicy)
        else proto.POLICY_TYPE_RESOURCE
    )
    if policy.config_schema is not None:
        info.configSchema.properties.update(policy.config_schema.properties)
    return info


def _resource(sent: proto.AnalyzerResource) -> PolicyResource:
    return PolicyResource(
        resource_type=sent.type,
        props=from_wire(sent.properties),
        urn=sent.urn,
        name=sent.name,
        opts=_OPTIONS,
        provider=None,
        parent=None,
        dependencies=[],
        property_dependencies={},
    )
