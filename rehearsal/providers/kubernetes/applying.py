"""Objects of one cluster: server-side apply, dry run, look and delete."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rehearsal.providers.concealing import secret_texts
from rehearsal.providers.contract import Refusal
from rehearsal.providers.kubernetes import objects, waiting
from rehearsal.providers.kubernetes.api import ApiError
from rehearsal.providers.values import Unknown, has_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rehearsal.providers.contract import Resource, State
    from rehearsal.providers.kubernetes.api import Api
    from rehearsal.providers.kubernetes.discovery import Discovery, ServedKind
    from rehearsal.providers.values import Properties

# The real provider tries for half a minute: a kind or a namespace may be made at the same time.
MISSING_FOR_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Objects:
    """The objects of a cluster, seen from a provider whose default namespace is `namespace`."""

    api: Api
    kinds: Discovery
    namespace: str
    adopts: bool
    """Whether `create` takes over an object that is there already."""

    def served(self, resource: Resource, value: Properties) -> ServedKind | None:
        """The kind of an object, if the API server knows it."""
        api_version, kind = objects.group_version_kind(resource.type, value)
        return self.kinds.find(api_version, kind)

    def preview(
        self, resource: Resource, inputs: Properties, manager: str, *, new: bool
    ) -> Properties | None:
        """The object as a dry run has it; None where it cannot be asked for.

        That is so where an input is not known yet, where kind or namespace are still to be made,
        and where an object that is to be replaced still has the name.
        """
        served = None if has_unknown(dict(inputs)) else self.served(resource, inputs)
        if served is None:
            return None
        path, body = self._request(served, inputs)
        if new and not self.adopts and self.api.get(path) is not None:
            return None
        try:
            with _titled(resource, inputs):
                live = self.api.apply(path, body, manager=manager, dry_run=True)
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        return {key: value for key, value in live.items() if key != "status"}

    def create(self, resource: Resource, inputs: Properties, manager: str) -> Properties:
        """Makes the object; waits a little for its kind and namespace to appear."""
        missing = Refusal("")
        with _titled(resource, inputs):
            for _ in waiting.tries(self.api, MISSING_FOR_S):
                try:
                    return self._create(resource, inputs, manager)
                except _Missing as error:
                    missing = error
            raise missing

    def update(self, resource: Resource, inputs: Properties, manager: str) -> Properties:
        """Changes the object; one that is gone is not made again behind the engine's back."""
        with _titled(resource, inputs):
            path, body = self._request(self._known(resource, inputs), inputs)
            if self.api.get(path) is None:
                raise Refusal("it is gone; `pulumi refresh` takes note.", summary="gone")
            return self.api.apply(path, body, manager=manager)

    def live(self, resource: Resource, state: State) -> Properties | None:
        """The object as it is; None where it or its kind is gone."""
        path = self._path(resource, state)
        with _titled(resource, state.inputs):
            return self.api.get(path) if path else None

    def delete(self, resource: Resource, state: State, *, limit_s: float) -> None:
        """Deletes in the foreground and waits until the object is gone."""
        path, live = self._path(resource, state), self.live(resource, state)
        if path is None or live is None:
            return
        with _titled(resource, state.inputs):
            self.api.delete(path)
            uid = objects.metadata(live).get("uid")
            waiting.until_gone(self.api, path, uid, limit_s=limit_s)

    def in_place(self, value: Properties, served: ServedKind | None) -> Properties:
        """The object with the namespace that it lands in, so that two ways to say it compare."""
        if served is None or isinstance(value.get("metadata"), Unknown):
            return value
        return objects.with_namespace(value, self._landing(served, value))

    def _create(self, resource: Resource, inputs: Properties, manager: str) -> Properties:
        path, body = self._request(self._known(resource, inputs), inputs)
        if not self.adopts and self.api.get(path) is not None:
            raise Refusal(
                "it exists in the cluster already: import it, or give this one another name.",
                summary="409 AlreadyExists",
            )
        try:
            return self.api.apply(path, body, manager=manager)
        except ApiError as error:
            if error.status == 404:
                raise _Missing(str(error), summary=error.summary) from None
            raise

    def _known(self, resource: Resource, inputs: Properties) -> ServedKind:
        served = self.served(resource, inputs)
        if served is None:
            api_version, kind = objects.group_version_kind(resource.type, inputs)
            raise _Missing(
                f'the API server serves no kind "{kind}" in {api_version}: has the '
                "CustomResourceDefinition been created, and does this resource depend on it?",
                summary="no such kind",
            )
        return served

    def _request(self, served: ServedKind, inputs: Properties) -> tuple[str, Properties]:
        namespace = self._landing(served, inputs)
        path = served.path(namespace, objects.name_of(inputs))
        kind: Properties = {"apiVersion": served.api_version, "kind": served.kind}
        return path, {**kind, **objects.body(inputs, namespace)}

    def _landing(self, served: ServedKind, value: Properties) -> str | None:
        if not served.namespaced:
            return None
        return objects.namespace_of(value) or self.namespace

    def _path(self, resource: Resource, state: State) -> str | None:
        value = state.inputs or state.outputs
        served = self.served(resource, value)
        namespace, name = objects.split_identity(state.id)
        return served.path(namespace or self.namespace, name) if served else None


class _Missing(Refusal):
    """A kind or a namespace is not there (yet)."""


@contextmanager
def _titled(resource: Resource, inputs: Properties) -> Iterator[None]:
    """Puts kind and name before what the API server says, and strikes out what is secret."""
    try:
        yield
    except Refusal as refusal:
        text = str(refusal)
        for secret in secret_texts(dict(inputs)):
            text = text.replace(secret, "[secret]")
        _, kind = objects.group_version_kind(resource.type, inputs)
        refusal.args = (f"{kind} {objects.identity(inputs)}: {text}",)
        raise
