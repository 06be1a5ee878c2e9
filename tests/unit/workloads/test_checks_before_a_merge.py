"""A webhook that lakeFS asks before a merge into main: the fake really asks it."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from lakefs.action_files import webhook_gate
from lakefs.fake.server import FakeLakefs
from tests.support.backtests import PROVENANCE, put
from tests.support.lakefs_ground import on_fake
from workloads.backtest.branch import BacktestBranch, MergeRefusedError


@dataclass(kw_only=True)
class Check:
    """A check, what it was asked, and what it answers."""

    url: str = ""
    status: int = 200
    asked: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture
def check() -> Iterator[Check]:
    check = Check()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # name of http.server
            length = int(self.headers["Content-Length"])
            check.asked.append(json.loads(self.rfile.read(length)))
            self.send_response(check.status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # name of http.server
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    check.url = f"http://127.0.0.1:{server.server_address[1]}/check"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield check
    server.shutdown()
    server.server_close()


@pytest.fixture
def branch(fake: FakeLakefs, check: Check) -> BacktestBranch:
    repository = on_fake(fake).new_repository()
    action = webhook_gate("merge-check", branches=["main"], url=check.url)
    repository.upload("main", "_lakefs_actions/merge-check.yaml", action.encode())
    put(repository, "main", prices=b"1 2 3")
    opened = BacktestBranch.open(repository, PROVENANCE)
    opened.upload("signals", b"+1")
    opened.commit("Signals")
    return opened


def test_the_check_is_told_what_is_to_be_merged_and_lets_it_pass(
    branch: BacktestBranch, check: Check
) -> None:
    merged = branch.merge()
    (asked,) = check.asked
    assert asked["event_type"] == "pre-merge"
    assert (asked["branch_id"], asked["source_ref"]) == ("main", branch.name)
    assert asked["commit_id"] == merged == branch.repository.head("main")
    assert PROVENANCE.metadata().items() <= asked["commit_metadata"].items()


def test_a_check_that_says_no_refuses_the_whole_merge(branch: BacktestBranch, check: Check) -> None:
    check.status = 422
    with pytest.raises(MergeRefusedError, match=r"'merge-check'.*status code: 422") as refused:
        branch.merge()
    assert refused.value.status == 412
    assert branch.repository.head("main") == branch.source_commit


def test_the_run_of_the_check_stays_to_be_read(branch: BacktestBranch, check: Check) -> None:
    check.status = 500
    with pytest.raises(MergeRefusedError):
        branch.merge()
    lakefs, name = branch.repository.lakefs, branch.repository.name
    api = lakefs.api.actions_api
    (run,) = lakefs.everything("list runs", api.list_repository_runs, name, branch="main")
    assert (run.event_type, run.status) == ("pre-merge", "failed")
    (hook,) = lakefs.everything("list hooks", api.list_run_hooks, name, run.run_id)
    assert (hook.action, hook.status) == ("merge-check", "failed")


def test_a_branch_without_the_check_cannot_go_round_it(
    branch: BacktestBranch, check: Check
) -> None:
    branch.repository.remove(branch.name, "_lakefs_actions/merge-check.yaml")
    branch.commit("Remove the check")
    with pytest.raises(MergeRefusedError, match="its checks differ"):
        branch.merge()
    assert not check.asked
    assert branch.repository.head("main") == branch.source_commit
