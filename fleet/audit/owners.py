"""Which object stands for another: the one on top of those that made it.

An owner counts where it is in the cluster, is the controller of what it owns, and makes pods and
objects of that kind: it is judged in place of what it makes.
"""

from collections.abc import Sequence

from policies.language.manifest import at, is_true, items, mapping
from policies.language.owners import makes
from policies.language.pods import pods
from policies.language.rule import Manifest


def tops(manifests: Sequence[Manifest]) -> list[int]:
    """Return for each object the number of the one on top of its owners, its own without any."""
    by_uid = {
        at(each, "metadata", "uid"): number
        for number, each in enumerate(manifests)
        if at(each, "metadata", "uid")
    }
    owners = [_owner(each, manifests, by_uid) for each in manifests]
    return [_top(number, owners) for number in range(len(manifests))]


def _top(start: int, owners: Sequence[int | None]) -> int:
    seen, number = {start}, start
    while (owner := owners[number]) is not None:
        if owner in seen:  # a circle that somebody wrote
            return start
        seen.add(owner)
        number = owner
    return number


def believed(manifest: Manifest, *, is_owned: bool) -> Manifest:
    """Return an object with its controller alone as owner; with none if that does not count."""
    metadata = mapping(manifest.get("metadata"))
    references = items(metadata.get("ownerReferences"))
    kept = [each for each in references if is_owned and is_true(at(each, "controller"))]
    if len(kept) == len(references):
        return manifest
    return {**manifest, "metadata": {**metadata, "ownerReferences": kept}}


def _owner(
    manifest: Manifest, manifests: Sequence[Manifest], by_uid: dict[object, int]
) -> int | None:
    for reference in items(at(manifest, "metadata", "ownerReferences")):
        number = by_uid.get(at(reference, "uid"))
        if number is None or not is_true(at(reference, "controller")):
            continue
        owner = manifests[number]
        is_it = owner.get("kind") == at(reference, "kind")
        there = at(owner, "metadata", "namespace") in (None, at(manifest, "metadata", "namespace"))
        if is_it and there and makes(owner, manifest) and pods(owner):
            return number
    return None
