"""Creates, changes, previews and deletes the objects of one cluster.

As the real provider it creates by a POST as `CREATOR` and changes by server-side apply, before
which it takes over what that has written (`Creation` in provider/pkg/await/await.go of
pulumi-kubernetes, since 4.29.0). One that adopts applies from the beginning.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rehearsal.api import Api, ApiServerError
from rehearsal.errors import RefusedError
from rehearsal.providers.contract import Resource, State
from rehearsal.providers.kubernetes import objects, readiness
from rehearsal.providers.kubernetes.ignored import with_ignored
from rehearsal.providers.kubernetes.readiness import Discovery, ServedKind
from rehearsal.providers.kubernetes.taken_over import forced, taken_over
from rehearsal.providers.secrets import secret_texts
from rehearsal.providers.values import Properties, Unknown, has_unknown

# The real provider tries for half a minute: a kind or a namespace may be made at the same time.
MISSING_FOR_S = 10.0
CREATOR = "pulumi-kubernetes"
"""The field manager of every create that is no apply."""


@dataclass(frozen=True, kw_only=True)
class Objects:
    """The objects of a cluster, for a provider whose default namespace is `namespace`."""

    api: Api
    kinds: Discovery
    namespace: str
    adopts: bool
    """Whether `create` takes over an object that exists already."""

    def served(self, resource: Resource, value: Properties) -> ServedKind | None:
        """The kind of an object; None where the API server does not serve it."""
        return self.kinds.find(*objects.group_version_kind(resource.type, value))

    def preview(
        self,
        resource: Resource,
        inputs: Properties,
        manager: str,
        *,
        new: bool,
        ignored: Sequence[str] = (),
    ) -> Properties | None:
        """The object as a dry run returns it; None where no dry run is possible.

        That is the case where an input is unknown, where the kind or namespace does not exist yet,
        and where the object to be replaced still has the name.
        """
        served = None if has_unknown(dict(inputs)) else self.served(resource, inputs)
        if served is None:
            return None
        path, body = self._request(served, inputs)
        known = None if new else self.api.get(path)
        if known is not None:
            body = with_ignored(body, known, manager, ignored)
        force = known is None or forced(known, preview=True)
        try:
            with _titled(resource, inputs):
                if new and not self.adopts:
                    live = self._post(path, body, dry_run=True)
                else:
                    live = self.api.apply(path, body, manager=manager, force=force, dry_run=True)
        except ApiServerError as error:
            if error.status == 404 or (new and error.exists):
                return None
            raise
        return {key: value for key, value in live.items() if key != "status"}

    def create(self, resource: Resource, inputs: Properties, manager: str) -> Properties:
        """Creates the object; waits a little for its kind and namespace to appear."""
        missing = RefusedError("")
        with _titled(resource, inputs):
            for _ in readiness.tries(self.api, MISSING_FOR_S):
                try:
                    return self._create(resource, inputs, manager)
                except _MissingError as error:
                    missing = error
            raise missing

    def update(
        self, resource: Resource, inputs: Properties, manager: str, ignored: Sequence[str] = ()
    ) -> Properties:
        """Changes the object; refuses where it is gone, because the engine must learn of that."""
        with _titled(resource, inputs):
            path, body = self._request(self._known(resource, inputs), inputs)
            live = self.api.get(path)
            if live is None:
                raise RefusedError("it is gone; `pulumi refresh` takes note.", summary="gone")
            live = self._taken_over(path, live, manager)
            body = with_ignored(body, live, manager, ignored)
            force = forced(live, preview=False)
            return self.api.apply(path, body, manager=manager, force=force)

    def _taken_over(self, path: str, live: Properties, manager: str) -> Properties:
        """The object once `manager` has what the real provider takes over from others."""
        entries = taken_over(live, manager)
        if entries is None:
            return live
        change = [{"op": "replace", "path": "/metadata/managedFields", "value": entries}]
        headers = {"Content-Type": "application/json-patch+json"}
        return self.api.request("PATCH", path, change, headers=headers)

    def live(self, resource: Resource, state: State) -> Properties | None:
        """The object in the cluster; None where it or its kind is gone."""
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
            readiness.until_gone(self.api, path, uid, limit_s=limit_s)

    def in_place(self, value: Properties, served: ServedKind | None) -> Properties:
        """The object with its namespace written out, so that a default and a given one compare."""
        if served is None or isinstance(value.get("metadata"), Unknown):
            return value
        return objects.with_namespace(value, self._namespace_of(served, value))

    def _create(self, resource: Resource, inputs: Properties, manager: str) -> Properties:
        path, body = self._request(self._known(resource, inputs), inputs)
        try:
            if self.adopts:
                return self.api.apply(path, body, manager=manager)
            return self._post(path, body)
        except ApiServerError as error:
            if error.status == 404:
                raise _MissingError(str(error), summary=error.summary) from None
            if error.exists:
                raise RefusedError(
                    "it exists in the cluster already: import it, or give this one another name.",
                    summary=error.summary,
                ) from None
            raise

    def _post(self, path: str, body: Properties, *, dry_run: bool = False) -> Properties:
        """Creates the object that has `path` from then on, by a request to its collection."""
        collection = path.rpartition("/")[0]
        return self.api.post(collection, body, manager=CREATOR, dry_run=dry_run)

    def _known(self, resource: Resource, inputs: Properties) -> ServedKind:
        served = self.served(resource, inputs)
        if served is None:
            api_version, kind = objects.group_version_kind(resource.type, inputs)
            raise _MissingError(
                f'the API server serves no kind "{kind}" in {api_version}: has the '
                "CustomResourceDefinition been created, and does this resource depend on it?",
                summary="no such kind",
            )
        return served

    def _request(self, served: ServedKind, inputs: Properties) -> tuple[str, Properties]:
        namespace = self._namespace_of(served, inputs)
        path = served.path(namespace, objects.name_of(inputs))
        kind: Properties = {"apiVersion": served.api_version, "kind": served.kind}
        return path, {**kind, **objects.body(inputs, namespace)}

    def _namespace_of(self, served: ServedKind, value: Properties) -> str | None:
        if not served.namespaced:
            return None
        return objects.namespace_of(value) or self.namespace

    def _path(self, resource: Resource, state: State) -> str | None:
        value = state.inputs or state.outputs
        served = self.served(resource, value)
        namespace, name = objects.split_identity(state.id)
        return served.path(namespace or self.namespace, name) if served else None


class _MissingError(RefusedError):
    """A kind or a namespace does not exist (yet)."""


@contextmanager
def _titled(resource: Resource, inputs: Properties) -> Iterator[None]:
    """Puts kind and name before the API server's message and removes secret texts from it."""
    try:
        yield
    except RefusedError as refusal:
        text = str(refusal)
        for secret in secret_texts(dict(inputs)):
            text = text.replace(secret, "[secret]")
        _, kind = objects.group_version_kind(resource.type, inputs)
        refusal.args = (f"{kind} {objects.identity(inputs)}: {text}",)
        raise
