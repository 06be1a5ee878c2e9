"""Reads all that a check is given: files, kustomize folders, and what charts and Applications make.

A rendered object is told at the line of what it was rendered from.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fleet.check.programs import RenderError, kustomized
from fleet.check.reading import ReadObject, ReadResult, read, read_into, take
from fleet.check.releases import Release, is_release, releases
from fleet.check.variables import Variables
from policies.language.manifest import at

_ASK = "its manifests are made elsewhere; --render runs helm and kustomize for them"


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What a check is given."""

    files: Iterable[str]
    kustomize: Iterable[str] = ()
    namespace: str = ""
    variables: Variables | None = None
    render: bool = False


def read_sources(sources: Sources) -> ReadResult:
    """Return the objects; what was not looked into is in `left`."""
    result = read(sources.files, sources.namespace, sources.variables)
    for folder in dict.fromkeys(sources.kustomize):
        _kustomize(result, Path(folder))
    _look_into(result, render=sources.render)
    if sources.variables is not None:
        result.left += sources.variables.sentences()
    return result


def _kustomize(result: ReadResult, folder: Path) -> None:
    try:
        rendered = kustomized(folder)
    except RenderError as error:
        result.unreadable.append(f"{folder}:1: it is not rendered: {error}.")
    else:
        take(result, str(folder / "kustomization.yaml"), rendered, line=1)


def _look_into(result: ReadResult, *, render: bool) -> None:
    """Add what the HelmReleases and Applications make, and those among that."""
    seen = set()
    for each in _growing(result.objects):
        key = (each.resource.kind, at(each.manifest, "metadata", "namespace"), each.resource.name)
        if not is_release(each.manifest) or key in seen:
            continue
        seen.add(key)
        try:
            if not render:
                raise RenderError(_ASK)
            among = [one.manifest for one in result.objects]
            for release in releases(each.manifest, among):
                _add(result, each, release)
            result.rendered.append(each.resource)
        except RenderError as error:
            place = f"{each.resource.file}:{each.resource.line}"
            result.left.append(f"{place}: {each.resource} is not looked into: {error}.")


def _growing(objects: list[ReadObject]) -> Iterator[ReadObject]:
    position = 0
    while position < len(objects):
        yield objects[position]
        position += 1


def _add(result: ReadResult, of: ReadObject, release: Release) -> None:
    made = release.rendered()
    inside = ReadResult(namespace=release.namespace)
    if isinstance(made, bytes):
        take(inside, of.resource.file, made, line=of.resource.line)
    elif not any(Path(each.resource.file).is_relative_to(made) for each in result.objects):
        read_into(inside, str(made))
    result.objects += inside.objects
    result.others += inside.others
    result.unreadable += inside.unreadable
