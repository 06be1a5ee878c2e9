"""One configured `kubernetes.Provider`: objects by server-side apply, Helm releases recorded."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rehearsal.providers.contract import Checked, Failure, Refusal, State, Unfinished
from rehearsal.providers.difference import difference
from rehearsal.providers.kubernetes import objects as names
from rehearsal.providers.kubernetes import refused, release, remembered, waiting
from rehearsal.providers.kubernetes.replacing import replace_on

if TYPE_CHECKING:
    from rehearsal.providers.contract import Difference, Naming, Resource
    from rehearsal.providers.kubernetes.applying import Objects
    from rehearsal.providers.values import Properties


@dataclass(frozen=True, kw_only=True)
class KubernetesInstance:
    """Answers for the objects and releases of one cluster."""

    objects: Objects
    releases: release.Releases
    mutable_config_maps: bool
    mutable_secrets: bool

    def check(
        self, resource: Resource, old: Properties, new: Properties, naming: Naming
    ) -> Checked:
        """Names the object and its namespace; the API server judges the rest."""
        if why := refused.reason(resource.type):
            sentence = f"{resource.type} cannot be rehearsed: {why}."
            return Checked(inputs=new, failures=[Failure(path="", sentence=sentence)])
        if resource.type == release.TYPE:
            return self.releases.check(resource, old, new, naming)
        failures = list(names.failures(new))
        if failures:
            return Checked(inputs=new, failures=failures)
        inputs = names.named(resource, old, new, naming)
        served = self.objects.served(resource, inputs)
        if served and served.namespaced:
            inputs = names.in_namespace(inputs, self.objects.namespace)
        return Checked(inputs=remembered.with_secret_fields(inputs))

    def diff(self, resource: Resource, state: State, new: Properties) -> Difference:
        """Compares inputs; what the API server never changes in place replaces the object."""
        if resource.type == release.TYPE:
            return self.releases.diff(state, new)
        served = self.objects.served(resource, new)
        old = self.objects.in_place(state.inputs, served)
        wanted = self.objects.in_place(new, served)
        return difference(
            old,
            wanted,
            replace_on=replace_on(
                *names.group_version_kind(resource.type, new),
                mutable_config_maps=self.mutable_config_maps,
                mutable_secrets=self.mutable_secrets,
            ),
            fixed_name=names.identity(old) == names.identity(wanted),
        )

    def create(
        self, resource: Resource, inputs: Properties, *, preview: bool, timeout_s: float
    ) -> tuple[str, Properties]:
        """Applies a new object; in a preview as a dry run, where that can be asked for."""
        if resource.type == release.TYPE:
            return self.releases.create(resource, inputs, preview=preview)
        manager = f"pulumi-kubernetes-{secrets.token_hex(4)}"
        if preview:
            dry = self.objects.preview(resource, inputs, manager, new=True)
            return "", remembered.outputs(dry, inputs, manager) if dry else inputs
        live = self.objects.create(resource, inputs, manager)
        id_, outputs = names.identity(live), remembered.outputs(live, inputs, manager)
        if names.group_version_kind(resource.type, inputs) == waiting.CRD:
            self._await_kind(id_, outputs, timeout_s)
        return id_, outputs

    def read(self, resource: Resource, state: State) -> State | None:
        """The object as it lives; None when it or its kind is gone."""
        if resource.type == release.TYPE:
            return self.releases.read(state)
        live = self.objects.live(resource, state)
        if live is None:
            return None
        inputs = remembered.read_inputs(live, state.inputs)
        outputs = remembered.outputs(live, inputs, remembered.manager_of(state.outputs))
        return State(id=state.id, inputs=inputs, outputs=outputs)

    def update(
        self,
        resource: Resource,
        state: State,
        new: Properties,
        *,
        preview: bool,
        timeout_s: float,
    ) -> Properties:
        """Applies the changed object with the field manager that it was made with."""
        del timeout_s
        if resource.type == release.TYPE:
            return self.releases.update(resource, state, new, preview=preview)
        manager = remembered.manager_of(state.outputs)
        if preview:
            dry = self.objects.preview(resource, new, manager, new=False)
            return remembered.outputs(dry, new, manager) if dry else new
        return remembered.outputs(self.objects.update(resource, new, manager), new, manager)

    def delete(self, resource: Resource, state: State, *, timeout_s: float) -> None:
        """Deletes, and waits until the object is gone."""
        if resource.type == release.TYPE:
            self.releases.delete(state)
        else:
            self.objects.delete(resource, state, limit_s=timeout_s)

    def invoke(self, token: str, arguments: Properties) -> Properties:
        """No function is answered: all of them unfold manifests or charts."""
        del arguments
        why = refused.reason(token) or "the stand-in answers no function of this package"
        raise Refusal(f"{token} cannot be rehearsed: {why}.", summary="unknown")

    def _await_kind(self, name: str, outputs: Properties, timeout_s: float) -> None:
        try:
            waiting.until_established(self.objects.api, self.objects.kinds, name, limit_s=timeout_s)
        except Refusal as refusal:
            raise Unfinished(
                str(refusal), id_=name, outputs=outputs, summary=refusal.summary
            ) from None
