"""Diff, commit, merge and revert, as the table on merges of lakeFS's documentation has it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lakefs.fake.actions import Event, run_actions
from lakefs.fake.model import AnswerError, Commit, Repo, StoredObject, Tree


@dataclass(frozen=True, kw_only=True)
class Merging:
    """The body of a merge request."""

    message: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    strategy: str = ""
    allow_empty: bool = False
    squash: bool = False
    force: bool = False


def same(left: StoredObject | None, right: StoredObject | None) -> bool:
    if left is None or right is None:
        return left is right
    return left.identity == right.identity


def change(before: StoredObject | None, after: StoredObject | None) -> str:
    if before is None:
        return "added"
    return "removed" if after is None else "changed"


def two_dot(left: Tree, right: Tree) -> Iterator[tuple[str, str, StoredObject | None]]:
    """Yields path, kind of change and object for each difference from `left` to `right`."""
    for path in sorted(left.keys() | right.keys()):
        before, after = left.get(path), right.get(path)
        if not same(before, after):
            yield path, change(before, after), after or before


def three_dot(
    base: Tree, left: Tree, right: Tree
) -> Iterator[tuple[str, str, StoredObject | None]]:
    """Yields the changes of `right` since `base`; a conflict where `left` has another change."""
    for path in sorted(left.keys() | right.keys() | base.keys()):
        first, ours, theirs = base.get(path), left.get(path), right.get(path)
        if same(first, theirs) or same(ours, theirs):
            continue
        kind = change(first, theirs) if same(first, ours) else "conflict"
        yield path, kind, theirs or first


def diff(
    repository: Repo, left: str, right: str, kind: str
) -> list[tuple[str, str, StoredObject | None]]:
    ours, theirs = repository.resolve(left), repository.resolve(right)
    if kind == "two_dot":
        return list(two_dot(ours.tree, theirs.tree))
    if kind != "three_dot":
        raise AnswerError(400, f"unknown diff type {kind!r}")
    return list(three_dot(repository.merge_base(ours, theirs).tree, ours.tree, theirs.tree))


def merged(base: Tree, destination: Tree, source: Tree, strategy: str) -> Tree:
    """The three-way merge of whole objects."""
    if strategy not in ("", "source-wins", "dest-wins"):
        raise AnswerError(400, "merge strategy: invalid value: validation error")
    tree = dict(destination)
    for path, kind, _ in three_dot(base, destination, source):
        if kind == "conflict" and not strategy:
            raise AnswerError(409, "conflict found")
        if kind == "conflict" and strategy == "dest-wins":
            continue
        entry = source.get(path)
        if entry is None:
            tree.pop(path, None)
        else:
            tree[path] = entry
    return tree


def identities(tree: Tree) -> dict[str, tuple[str, str]]:
    return {path: entry.identity for path, entry in tree.items()}


def commit(
    repository: Repo,
    branch: str,
    message: str,
    metadata: Mapping[str, str],
    *,
    allow_empty: bool,
) -> Commit:
    repository.writable(branch)
    staging = repository.branch(branch)
    tree = repository.view(branch)
    head = repository.commits[staging.head]
    if not allow_empty and identities(tree) == identities(head.tree):
        raise AnswerError(400, "commit: no changes")
    made = repository.make_commit(tree, (head.id,), message, metadata)
    run_actions(repository, Event("pre-commit", branch, branch, made))
    repository.commits[made.id] = made
    staging.head = made.id
    staging.staged.clear()
    run_actions(repository, Event("post-commit", branch, made.id, made))
    return made


def merge(repository: Repo, source: str, destination: str, merging: Merging) -> Commit:
    repository.writable(force=merging.force)
    branch = repository.branch(destination)
    theirs, ours = repository.resolve(source), repository.commits[branch.head]
    if branch.staged:
        raise AnswerError(400, "uncommitted changes (dirty branch)")
    base = repository.merge_base(ours, theirs)
    tree = merged(base.tree, ours.tree, theirs.tree, merging.strategy)
    empty = identities(tree) == identities(ours.tree)
    if empty and not (merging.allow_empty or merging.force):
        raise AnswerError(400, f"update branch {destination}: no changes")
    parents = (ours.id,) if merging.squash else (ours.id, theirs.id)
    message = merging.message or f"Merge '{source}' into '{destination}'"
    metadata = dict(merging.metadata)
    if merging.strategy:
        metadata[".lakefs.merge.strategy"] = merging.strategy
    made = repository.make_commit(tree, parents, message, metadata)
    run_actions(repository, Event("pre-merge", destination, source, made))
    repository.commits[made.id] = made
    branch.head = made.id
    run_actions(repository, Event("post-merge", destination, made.id, made))
    return made


def revert(repository: Repo, branch: str, ref: str, parent_number: int) -> Commit:
    """Protected branches may be reverted: the documentation says so."""
    repository.writable()
    staging = repository.branch(branch)
    wrong = repository.resolve(ref)
    if staging.staged:
        raise AnswerError(400, "uncommitted changes (dirty branch)")
    if len(wrong.parents) > 1 and not 1 <= parent_number <= len(wrong.parents):
        raise AnswerError(400, "invalid parent number: validation error")
    parent = repository.commits[wrong.parents[max(parent_number, 1) - 1]]
    head = repository.commits[staging.head]
    tree = merged(wrong.tree, head.tree, parent.tree, "")
    if identities(tree) == identities(head.tree):
        raise AnswerError(400, "no changes")
    made = repository.add_commit(tree, (head.id,), f"Revert {wrong.id}", {})
    staging.head = made.id
    return made
