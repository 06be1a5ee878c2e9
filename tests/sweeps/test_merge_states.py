"""Whatever happens on main and on two branches, a merge does all of its work or none of it.

The expected state is kept by the table of lakeFS's documentation on merges, object by object.
"""

import contextlib

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lakefs.errors import LakefsError
from lakefs.fake.model import Model
from lakefs.fake.server import serving
from tests.support.backtests import PROVENANCE, contents
from tests.support.lakefs_ground import ACCESS_KEY, SECRET_KEY, on_fake
from workloads.backtest.branch import BacktestBranch, MergeRefusedError

PATHS = st.sampled_from(["a", "b", "c"])
CONTENT = st.sampled_from([b"1", b"2"])
WHICH = st.sampled_from([0, 1])
Objects = dict[str, bytes]


def merged(base: Objects, ours: Objects, theirs: Objects) -> Objects | None:
    """The result, or None for a conflict."""
    result = {}
    for path in base.keys() | ours.keys() | theirs.keys():
        before, here, there = base.get(path), ours.get(path), theirs.get(path)
        if here != there and before not in (here, there):
            return None
        kept = there if here == before else here
        if kept is not None:
            result[path] = kept
    return result


class Merges(RuleBasedStateMachine):
    """Two backtests and somebody who writes to main."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = contextlib.ExitStack()
        model = Model(access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY)
        self.fake = self.stack.enter_context(serving(model))
        self.repository = on_fake(self.fake).new_repository()
        self.main: Objects = {}
        self.branches: list[BacktestBranch] = []
        self.bases: list[Objects] = []
        self.heads: list[Objects] = []

    @initialize(start=st.dictionaries(PATHS, CONTENT, min_size=1))
    def open_branches(self, start: Objects) -> None:
        for path, content in start.items():
            self.repository.upload("main", path, content)
        self.repository.commit("main", "Start", {})
        self.main = dict(start)
        for _ in range(2):
            self.branches.append(BacktestBranch.open(self.repository, PROVENANCE))
            self.bases.append(dict(start))
            self.heads.append(dict(start))

    def change(self, branch: str, objects: Objects, path: str, content: bytes | None) -> None:
        """One commit that really changes something."""
        if objects.get(path) == content:
            return
        if content is None:
            self.repository.remove(branch, path)
            del objects[path]
        else:
            self.repository.upload(branch, path, content)
            objects[path] = content
        self.repository.commit(branch, f"Change {path}", {})

    @rule(path=PATHS, content=st.none() | CONTENT)
    def main_moves(self, path: str, content: bytes | None) -> None:
        self.change("main", self.main, path, content)

    @rule(which=WHICH, path=PATHS, content=st.none() | CONTENT)
    def a_branch_moves(self, which: int, path: str, content: bytes | None) -> None:
        self.change(self.branches[which].name, self.heads[which], path, content)

    @rule(which=WHICH)
    def a_branch_is_merged(self, which: int) -> None:
        branch, head = self.branches[which], self.heads[which]
        expected = merged(self.bases[which], self.main, head)
        before = self.repository.head("main")
        if expected is None:
            with pytest.raises(MergeRefusedError, match="too since commit"):
                branch.merge()
        elif expected == self.main:
            with pytest.raises(LakefsError, match="no changes"):
                branch.merge()
        else:
            assert branch.merge() == self.repository.head("main") != before
            self.main, self.bases[which] = expected, dict(head)
            return
        assert self.repository.head("main") == before

    @rule(which=WHICH)
    def a_branch_is_compared(self, which: int) -> None:
        base, head = self.bases[which], self.heads[which]
        for change in self.branches[which].diff():
            ours, theirs = self.main.get(change.path), head.get(change.path)
            assert theirs != base.get(change.path), "the branch has changed it"
            conflict = ours not in (base.get(change.path), theirs)
            assert (change.kind == "conflict") == conflict

    @precondition(lambda self: self.branches)
    @invariant()
    def every_head_holds_what_was_put_there(self) -> None:
        expected = [("main", self.main)]
        expected += [(b.name, o) for b, o in zip(self.branches, self.heads, strict=True)]
        for name, objects in expected:
            assert contents(self.repository, self.repository.head(name)) == objects

    def teardown(self) -> None:
        self.stack.close()


TestMerges = Merges.TestCase
TestMerges.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)
