"""One pass over the gangs of a queue: what each gets is decided, written and told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from workloads.api_server import ApiServer, ApiServerError
from workloads.controllers.gang_buffer import buffer
from workloads.controllers.gang_buffer.buffer import BUFFER, GANG, MANAGER
from workloads.controllers.gang_buffer.decision import Decision, decide
from workloads.controllers.gang_buffer.gang import SAYS, SINCE, Gang, gangs
from workloads.controllers.gang_buffer.world import World

_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_KINDS = {"podtemplates": "/api/v1", "capacitybuffers": f"/apis/{BUFFER}"}


@dataclass(frozen=True, kw_only=True)
class Queue:
    """A queue whose gangs may rent, by its namespace, and what the settings say of it."""

    api: ApiServer
    name: str
    pools: Sequence[str]
    give_back: timedelta

    def groups(self) -> list[Mapping[str, Any]]:
        """Return the PodGroups."""
        return self._list("/apis/scheduling.volcano.sh/v1beta1", "podgroups")

    def waiting(
        self, groups: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]]
    ) -> list[Gang]:
        """Return the gangs that wait or have waited."""
        found = gangs(groups, pods)
        return [each for each in found if each.lacking or each.says or each.since]

    def serve(self, waiting: Sequence[Gang], world: World) -> list[str]:
        """Give each gang what it gets; return what was told, and what the API server refused."""
        there = {
            kind: {each["metadata"]["name"]: each for each in self._ours(kind, start)}
            for kind, start in _KINDS.items()
        }
        said = []
        for gang in waiting:
            now = datetime.now(UTC).replace(microsecond=0)
            chosen = decide(gang, world, pools=self.pools, give_back=self.give_back, now=now)
            try:
                told = self._give(gang, chosen, there)
            except ApiServerError as error:
                told = self._refuse(gang, error)
            said += [told] if told else []
        self._end(there, {str(gang.group["metadata"]["uid"]) for gang in waiting})
        return said

    def _give(
        self, gang: Gang, chosen: Decision, there: Mapping[str, dict[str, Any]]
    ) -> str | None:
        """Write what a gang gets, and tell it.

        A gang that is told something is found again, whenever this ends. So it is told before it
        has a buffer, and told nothing after its buffer is gone.
        """
        if chosen.asks or chosen.keeps:
            told = self._tell(gang, chosen)
            self._write(gang, chosen, there)
            return told
        self._write(gang, chosen, there)
        return self._tell(gang, chosen)

    def _refuse(self, gang: Gang, error: ApiServerError) -> str | None:
        """Tell a gang what the API server has refused."""
        chosen = Decision(says=str(error), since=gang.since, is_refusal=True)
        try:
            return self._tell(gang, chosen)
        except ApiServerError as again:
            return f"{self.name}/{gang.name}: {again}"

    def _write(self, gang: Gang, chosen: Decision, there: Mapping[str, dict[str, Any]]) -> None:
        """Make the buffers of a gang what they are to be; what is left of older ones goes."""
        wanted = (
            buffer.manifests(gang, self.pools, chosen.keeps) if chosen.asks or chosen.keeps else []
        )
        for pair in wanted:
            for manifest, kind in zip(pair, _KINDS, strict=True):
                name = manifest["metadata"]["name"]
                known = there[kind].pop(name, None)
                if known is None or not _says(known, manifest):
                    query = f"fieldManager={MANAGER}&force=true"
                    path = f"{self._path(kind)}/{name}?{query}"
                    self.api.request("PATCH", path, manifest, _APPLY)
        uid = gang.group["metadata"]["uid"]
        self._end(there, set(), only=str(uid))

    def _end(
        self, there: Mapping[str, dict[str, Any]], kept: set[str], only: str | None = None
    ) -> None:
        """Delete buffers, then their templates: those of one gang, or of all but some."""
        for kind in reversed(_KINDS):
            for name, each in list(there[kind].items()):
                uid = each["metadata"]["labels"][GANG]
                if uid == only if only is not None else uid not in kept:
                    del there[kind][name]
                    self._delete(f"{self._path(kind)}/{name}")

    def _delete(self, path: str) -> None:
        try:
            self.api.request("DELETE", path)
        except ApiServerError as error:
            if error.status != 404:
                raise

    def _tell(self, gang: Gang, chosen: Decision) -> str | None:
        """Write on the PodGroup what it got, with an event; return it where it is new."""
        if (chosen.says, chosen.since) == (gang.says, gang.since):
            return None
        since = None if chosen.since is None else chosen.since.isoformat()
        notes = {SAYS: chosen.says or None, SINCE: since}
        path = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{self.name}/podgroups/{gang.name}"
        self.api.request("PATCH", path, {"metadata": {"annotations": notes}}, _MERGE)
        if chosen.says and chosen.says != gang.says:
            self._event(gang, chosen)
        return f"{self.name}/{gang.name}: {chosen.says or 'It waits no longer.'}"

    def _event(self, gang: Gang, chosen: Decision) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        kept = ("name", "namespace", "uid")
        about = {key: gang.group["metadata"][key] for key in kept}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{MANAGER}-", "namespace": self.name},
            "involvedObject": {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                **about,
            },
            "reason": chosen.reason,
            "type": "Normal" if chosen.reason == "MachinesAsked" else "Warning",
            "message": chosen.says,
            "source": {"component": MANAGER},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self.api.request("POST", f"/api/v1/namespaces/{self.name}/events", event)

    def _path(self, kind: str) -> str:
        return f"{_KINDS[kind]}/namespaces/{self.name}/{kind}"

    def _ours(self, kind: str, start: str) -> list[Mapping[str, Any]]:
        return self._list(start, f"{kind}?labelSelector={quote(GANG)}")

    def _list(self, start: str, kind: str) -> list[Mapping[str, Any]]:
        found = self.api.request("GET", f"{start}/namespaces/{self.name}/{kind}")
        return list(found.get("items") or ())


def _says(known: Any, wanted: Any) -> bool:
    """Return whether an object says all that another one does; the server adds defaults."""
    if isinstance(wanted, Mapping):
        return isinstance(known, Mapping) and all(
            _says(known.get(key), each) for key, each in wanted.items() if each not in ({}, [])
        )
    if isinstance(wanted, list):
        return (
            isinstance(known, list) and len(known) == len(wanted) and all(map(_says, known, wanted))
        )
    return bool(known == wanted)
