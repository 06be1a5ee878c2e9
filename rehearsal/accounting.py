"""Compares the state of a twin's stack with its clouds and its cluster, thing by thing."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.api import Api
from rehearsal.providers import cloud
from rehearsal.providers.kubernetes.objects import identity
from settings.names import RELEASE

MANAGER = "pulumi-kubernetes"
"""How the field managers begin of what the program has made."""
KUBERNETES = "kubernetes:"
LAKEFS = "pulumi-python:dynamic/lakefs:"
REPOSITORY = f"{LAKEFS}Repository"


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """Things by kind and name: `doubled` and `orphaned` are in no state, `missing` is only there.

    A doubled thing has another of its type and name in the state.
    """

    doubled: tuple[str, ...]
    orphaned: tuple[str, ...]
    missing: tuple[str, ...]


def compare(
    state: Sequence[Mapping[str, Any]], directory: Path, api: Api, repositories: Collection[str]
) -> Accounts:
    """Compares a state with what the simulated clouds, the API server and lakeFS hold.

    What is inside a repository of lakeFS has no id there, and is left out.
    """
    owned = [each for each in state if each.get("custom") and not each.get("delete")]
    objects = [*everything(api)]
    inside = [Thing(type=REPOSITORY, id=each, name="") for each in repositories]
    made = [*in_clouds(directory), *_ours(objects), *inside]
    known = {_key(each) for each in owned}
    names = {(str(each["type"]), _name(each)) for each in owned}
    strays = [thing for thing in made if thing.key not in known]
    # one that has a name alone has no field that anybody manages
    there = {thing.key for thing in made} | {(kind, identity(found)) for kind, found in objects}
    return Accounts(
        doubled=tuple(t.title for t in strays if (t.type, t.name) in names),
        orphaned=tuple(t.title for t in strays if (t.type, t.name) not in names),
        missing=tuple(
            f"{_kind(str(each['type']))} {_name(each)}"
            for each in owned
            if _key(each) not in there and not _is_nowhere(str(each["type"]))
        ),
    )


def _is_nowhere(token: str) -> bool:
    """Whether no cloud lists a type: those of the engine, and what is inside lakeFS."""
    return token.startswith("pulumi:") or (token.startswith(LAKEFS) and token != REPOSITORY)


@dataclass(frozen=True, kw_only=True)
class Thing:
    """A thing in a cloud or in the cluster; `name` is that of its resource where one is told."""

    type: str
    id: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        """What a state knows it by."""
        return _kind(self.type), self.id

    @property
    def title(self) -> str:
        """Kind and name, or else its id."""
        return f"{_kind(self.type)} {self.name or self.id}"


def in_clouds(directory: Path) -> Iterator[Thing]:
    """Yields what is in the simulated clouds, Helm releases and dynamic resources included."""
    for thing in cloud.read(directory):
        yield Thing(type=thing.type, id=thing.id, name=thing.name)


def in_cluster(api: Api) -> Iterator[Thing]:
    """Yields the objects of which the program manages a field."""
    yield from _ours(everything(api))


def _ours(objects: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[Thing]:
    for kind, found in objects:
        managers = found["metadata"].get("managedFields") or ()
        if any(str(each.get("manager")).startswith(MANAGER) for each in managers):
            yield Thing(type=f"{KUBERNETES}:{kind}", id=identity(found), name="")


def everything(api: Api) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields every object of the cluster, with its kind; one that is served twice comes once."""
    seen: set[str] = set()
    for path in _versions(api):
        for kind in (api.get(path) or {}).get("resources", ()):
            if "list" not in kind["verbs"] or "/" in kind["name"]:
                continue
            for found in api.items(f"{path}/{kind['name']}"):
                uid = str(found["metadata"].get("uid"))
                if uid not in seen:
                    seen.add(uid)
                    yield str(kind["kind"]), found


def hanging(api: Api) -> Iterator[str]:
    """Yields the objects that are being deleted and have finalizers, which nobody may take off."""
    for kind, found in everything(api):
        metadata = found["metadata"]
        if metadata.get("deletionTimestamp") and metadata.get("finalizers"):
            yield f"{kind} {identity(found)} ({', '.join(metadata['finalizers'])})"


def _versions(api: Api) -> Iterator[str]:
    """Yields the paths of all groups in their preferred versions."""
    yield "/api/v1"
    for group in (api.get("/apis") or {}).get("groups", ()):
        yield f"/apis/{group['preferredVersion']['groupVersion']}"


def _key(resource: Mapping[str, Any]) -> tuple[str, str]:
    kind = _kind(str(resource["type"]))
    if str(resource["type"]).startswith(KUBERNETES) and resource["type"] != RELEASE:
        kind = str((resource.get("inputs") or {}).get("kind") or kind)
    return kind, str(resource.get("id"))


def _kind(token: str) -> str:
    return token.rpartition(":")[2]


def _name(resource: Mapping[str, Any]) -> str:
    return str(resource["urn"]).rpartition("::")[2]
