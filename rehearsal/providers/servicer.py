"""Serves a provider of the rehearsal as Pulumi's gRPC service ResourceProvider."""
# ruff: noqa: N802  # the names of the methods are the protocol's

from collections.abc import Sequence

import grpc  # type: ignore[import-untyped]  # grpcio ships no types
from google.protobuf import empty_pb2  # type: ignore[import-untyped]  # ships no types
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from rehearsal.errors import RefusedError
from rehearsal.providers import answers
from rehearsal.providers.calls import CallLog
from rehearsal.providers.connections import Connections
from rehearsal.providers.contract import (
    Failure,
    NameMode,
    Naming,
    Provider,
    Resource,
    Session,
    State,
)
from rehearsal.providers.values import decode, encode

DEFAULT_TIMEOUT_S = 600.0


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Serves one package and logs every call about a resource."""

    def __init__(self, provider: Provider, log: CallLog) -> None:
        self._provider = provider
        self._connections = Connections(provider.package, log)

    def stop(self) -> None:
        """Ends the calls that wait, so that the process can end."""
        self._connections.cancel_all()

    def Handshake(
        self, request: provider_pb2.ProviderHandshakeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ProviderHandshakeResponse:
        """Returns which forms of values this provider understands."""
        del request, context
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=True, supports_autonaming_configuration=True
        )

    def Attach(
        self, request: plugin_pb2.PluginAttach, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        """Does nothing: the engine has found this process through PULUMI_DEBUG_PROVIDERS."""
        del request, context
        return empty_pb2.Empty()

    def GetPluginInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        """Returns the version of the SDK, as the real provider does."""
        del request, context
        return plugin_pb2.PluginInfo(version=self._provider.version)

    def GetSchema(
        self, request: provider_pb2.GetSchemaRequest, context: grpc.ServicerContext
    ) -> provider_pb2.GetSchemaResponse:
        """Returns an empty schema: the program has the SDK."""
        del request, context
        return provider_pb2.GetSchemaResponse(schema="{}")

    def CheckConfig(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        """Checks the arguments of `Provider(...)`."""
        resource = answers.resource_of(request.urn)
        with self._connections.call("CheckConfig", resource, context) as call:
            found = self._provider.check_config(decode(request.news))
            call.error = _refused(found)
            return provider_pb2.CheckResponse(inputs=request.news, failures=answers.failures(found))

    def DiffConfig(
        self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext
    ) -> provider_pb2.DiffResponse:
        """Returns whether a changed provider is replaced, with all of its resources."""
        with self._connections.call("DiffConfig", answers.resource_of(request.urn), context):
            old, new = decode(request.old_inputs), decode(request.news)
            return answers.difference(self._provider.diff_config(old, new))

    def Configure(
        self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConfigureResponse:
        """Makes the instance of this connection."""
        resource = Resource(
            urn=request.urn, type=f"pulumi:providers:{self._provider.package}", name=request.name
        )
        with self._connections.call("Configure", resource, context):
            session = Session(name=request.name, config=decode(request.args))
            instance = self._provider.configure(session)
            self._connections.configure(context.peer(), session, instance)
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, supports_autonaming_configuration=True
        )

    def Check(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        """Checks the inputs of a resource and fills in its name."""
        resource = answers.resource_of(request.urn)
        with self._connections.call("Check", resource, context) as call:
            old, new = decode(request.olds), decode(request.news)
            answer = call.instance.check(resource, old, new, _naming(request))
            call.error = _refused(answer.failures)
            return answers.checked(answer)

    def Diff(
        self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext
    ) -> provider_pb2.DiffResponse:
        """Returns what an update would change or replace."""
        resource = answers.resource_of(request.urn)
        with self._connections.call("Diff", resource, context) as call:
            answer = call.instance.diff(resource, answers.state_of(request), decode(request.news))
            return answers.difference(answer)

    def Create(
        self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CreateResponse:
        """Creates a resource; in a preview, returns the outputs it would have."""
        resource = answers.resource_of(request.urn)
        with self._connections.call("Create", resource, context, preview=request.preview) as call:
            id_, outputs = call.instance.create(
                resource,
                decode(request.properties),
                preview=request.preview,
                timeout_s=request.timeout or DEFAULT_TIMEOUT_S,
            )
            return provider_pb2.CreateResponse(id=id_, properties=encode(outputs))

    def Read(
        self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ReadResponse:
        """Reads a resource for a refresh, an import or a `get`."""
        resource = answers.resource_of(request.urn)
        with self._connections.call("Read", resource, context) as call:
            state = State(
                id=request.id, inputs=decode(request.inputs), outputs=decode(request.properties)
            )
            return answers.read(call.instance.read(resource, state))

    def Update(
        self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.UpdateResponse:
        """Changes a resource; in a preview, returns the outputs it would have."""
        resource = answers.resource_of(request.urn)
        with self._connections.call("Update", resource, context, preview=request.preview) as call:
            outputs = call.instance.update(
                resource,
                answers.state_of(request),
                decode(request.news),
                preview=request.preview,
                timeout_s=request.timeout or DEFAULT_TIMEOUT_S,
            )
            return provider_pb2.UpdateResponse(properties=encode(outputs))

    def Delete(
        self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        """Deletes a resource."""
        resource = answers.resource_of(request.urn)
        with self._connections.call("Delete", resource, context, preview=False) as call:
            timeout_s = request.timeout or DEFAULT_TIMEOUT_S
            call.instance.delete(resource, answers.state_of(request), timeout_s=timeout_s)
            return empty_pb2.Empty()

    def Invoke(
        self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.InvokeResponse:
        """Calls a function of the SDK."""
        function = Resource(urn="", type=request.tok, name=request.tok)
        with self._connections.call("Invoke", function, context, preview=request.preview) as call:
            result = call.instance.invoke(request.tok, decode(request.args))
            return provider_pb2.InvokeResponse(**{"return": encode(result)})

    def Construct(
        self, request: provider_pb2.ConstructRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConstructResponse:
        """Refuses components of a provider, such as kubernetes:yaml/v2:ConfigGroup."""
        component = Resource(urn="", type=request.type, name=request.name)
        with self._connections.call("Construct", component, context):
            raise RefusedError(
                f"{request.type} {request.name} cannot be rehearsed: it is a component that the "
                "real provider unfolds; register its resources one by one.",
                summary="component",
            )

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """Ends the waits of this connection's calls."""
        del request
        self._connections.cancel(context.peer())
        return empty_pb2.Empty()


def _refused(failures: Sequence[Failure]) -> str | None:
    paths = ", ".join(failure.path for failure in failures)
    return f"refused: {paths}" if failures else None


def _naming(request: provider_pb2.CheckRequest) -> Naming:
    if not request.HasField("autonaming"):
        return Naming(seed=request.randomSeed)
    return Naming(
        seed=request.randomSeed,
        proposed=request.autonaming.proposed_name or None,
        mode=NameMode(request.autonaming.mode),
    )
