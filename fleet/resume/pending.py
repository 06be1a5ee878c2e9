"""What a killed engine had begun and not ended, and the state once somebody knows how it ended.

The engine writes each step into the state before it begins it. A create that it did not end stays
there for ever: an update warns of it, makes the resource anew and keeps the entry (Snap in
pkg/backend/snapshot.go of pulumi v3.220.0). `pulumi refresh --import-pending-creates` does not
help: it writes the id into the entry and makes it one of type `importing` (pendingCreatesToImports
in pkg/cmd/pulumi/operations/refresh.go), which nothing reads, so that the refresh that follows
drops it, and the cloud has a thing that no state knows. So what was found goes among the resources
here, and `pulumi stack import` forgets all entries (SaveSnapshot in pkg/cmd/pulumi/stack/io.go).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fleet.destroy.deployed import Resource, kind_of, name_of
from settings.names import RELEASE

OPERATIONS = "pending_operations"
NEVER = datetime.min.replace(tzinfo=UTC)
CREATING = "creating"
REQUEST_S = 60.0
"""How long a request to a cloud is taken to last. Nothing enforces it: a provider that outlives its
engine may take longer, so a person looks for one before the answer, as the runbook says.
"""
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
"""What marks a secret in a state (SigKey and SecretSig in sdk/go/common/resource/sig of pulumi).

A Helm release has its inputs among its outputs as such a secret, `__inputs`. Without them its
provider takes a refresh for an import: it invents the inputs, and the next update upgrades the
release for nothing (Read in provider/pkg/provider/helm_release.go of pulumi-kubernetes).
"""
UNSEEN = "fleet resume has not read it from its cloud yet: run the same command again."
"""Marks a resource in the state until a refresh has found it.

An update does not refuse it. It makes an update step without a change (continueStepsFromDiff in
pkg/resource/deploy/step_generator.go of pulumi v3.220.0): where the thing is there, that takes the
mark off; where it is gone, its provider refuses.
"""


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A step that was begun: `operation` is creating, updating, deleting, reading or importing."""

    operation: str
    resource: Resource = field(repr=False)
    written: datetime
    """When the state that has it was written: right before it was begun, or while it ran."""

    @property
    def urn(self) -> str:
        """The URN of its resource."""
        return str(self.resource["urn"])

    @property
    def type(self) -> str:
        """The type of its resource."""
        return str(self.resource["type"])

    @property
    def name(self) -> str:
        """The name of its resource in the program."""
        return name_of(self.resource)

    @property
    def title(self) -> str:
        """Kind and name, for people."""
        return f"{kind_of(self.resource)} {self.name}"

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the program has asked for, with the names that the provider had filled in."""
        return self.resource.get("inputs") or {}

    def repeats(self, other: "Pending") -> bool:
        """Return whether it is the same step as another one, of the same thing."""
        key = (self.operation, self.urn, self.inputs)
        return key == (other.operation, other.urn, other.inputs)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is known of a pending create: the ids that it may have in its cloud, if it is there.

    What is `useless` is there, but cannot be used: the state has it as one to delete. `others` are
    there beside it, and were made before: they stay as they are.
    """

    ids: tuple[str, ...] = ()
    useless: bool = False
    others: tuple[str, ...] = ()


def pending(state: Mapping[str, Any]) -> list[Pending]:
    """Return the steps that an exported state has begun and not ended, each once.

    Two creates of one resource may be pending, the later first: an update takes over those of the
    killed one before (Snap, as above). They are the same thing where their inputs are equal.
    """
    operations = (state.get("deployment") or {}).get(OPERATIONS) or []
    found: list[Pending] = []
    for each in operations:
        new = Pending(operation=each["type"], resource=each["resource"], written=written(state))
        if not any(new.repeats(old) for old in found):
            found.append(new)
    return found


def on_its_way_s(state: Mapping[str, Any], now: datetime) -> float:
    """Return for how many seconds a cloud may still be making what the engine had asked for.

    The engine has written the state right before it asked.
    """
    if not any(each.operation == CREATING for each in pending(state)):
        return 0.0
    return min(max(0.0, REQUEST_S - (now - written(state)).total_seconds()), REQUEST_S)


def written(state: Mapping[str, Any]) -> datetime:
    """Return when an update has last written the state; the first of all times if none has."""
    manifest = state["deployment"].get("manifest")
    return datetime.fromisoformat(manifest["time"]) if manifest else NEVER


def fingerprint(state: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what another update of the stack would change, whether secrets are clear or not."""
    deployment = state["deployment"]
    there = [(each["urn"], each.get("id")) for each in deployment.get("resources") or ()]
    begun = [(each["type"], each["resource"]["urn"]) for each in deployment.get(OPERATIONS) or ()]
    return written(state), there, begun


def unseen(state: Mapping[str, Any]) -> list[str]:
    """Return the URNs of what an earlier run has put into the state and not read."""
    resources = (state.get("deployment") or {}).get("resources") or []
    return [each["urn"] for each in resources if UNSEEN in (each.get("initErrors") or ())]


def settled(state: Mapping[str, Any], answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the state without pending steps, with what is known of each, in their order."""
    new = deepcopy(dict(state))
    resources = new["deployment"].setdefault("resources", [])
    for each, answer in zip(pending(state), answers, strict=True):
        for id_ in answer.ids:
            _put(resources, each.resource, id_, useless=answer.useless)
    new["deployment"].pop(OPERATIONS, None)
    return new


def _put(resources: list[dict[str, Any]], begun: Resource, id_: str, *, useless: bool) -> None:
    """Add what was begun, unless the state has it already.

    Where the state has another one of the URN, this one is too many: the next update deletes it.
    """
    same = [each for each in resources if each["urn"] == begun["urn"]]
    if any(each.get("id") == id_ for each in same):
        return
    for each in same:
        if each.get("pendingReplacement"):  # it is gone, and this one has come in its place
            resources.remove(each)
    # outputs like the inputs: a provider reads what it has, and keeps what its cloud never tells,
    # such as a server's user data (isRefresh in pkg/tfbridge/provider.go of
    # pulumi-terraform-bridge v3.110.0)
    entry = {**begun, "id": id_, "outputs": _outputs(begun)}
    if useless or any(_stays(each) for each in same):
        entry |= {"delete": True}
        entry.pop("protect", None)
    else:
        entry |= {"initErrors": [UNSEEN]}
    resources.append(entry)


def _outputs(begun: Resource) -> dict[str, Any]:
    inputs = begun.get("inputs") or {}
    found: dict[str, Any] = _given(inputs)
    if begun["type"] == RELEASE:
        found["__inputs"] = {**SECRET, "plaintext": json.dumps(inputs)}
    return found


def _given(inputs: Any) -> Any:
    """Return inputs without the lists of what a provider has filled in."""
    if isinstance(inputs, list):
        return [_given(each) for each in inputs]
    if isinstance(inputs, dict):
        return {key: _given(value) for key, value in inputs.items() if key != "__defaults"}
    return inputs


def _stays(resource: Resource) -> bool:
    return not (resource.get("pendingReplacement") or resource.get("delete"))


def to_read(state: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[str]:
    """Yield the URNs to refresh: what is new in `state`, and what was being changed `before`."""
    there = {each["urn"] for each in state["deployment"]["resources"] if not each.get("delete")}
    changing = (each.urn for each in pending(before) if each.operation != CREATING)
    yield from dict.fromkeys(urn for urn in (*unseen(state), *changing) if urn in there)
