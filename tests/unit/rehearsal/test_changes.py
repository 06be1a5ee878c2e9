"""What the second rehearsal of a kept twin tells about the first."""

from pathlib import Path

from engine.events import Change
from rehearsal.changes import Running, rows, since

SERVER = "hcloud:index/server:Server"
BEFORE = Running(nodes=("cpu-1", "cpu-2"), usd_per_hour=38.0)


def test_resources_nodes_and_cost_have_a_row_each() -> None:
    now = Running(nodes=("cpu-1", "cpu-3"), usd_per_hour=38.5)
    steps = [
        Change(op="create", type=SERVER, name="cpu-3"),
        Change(op="delete", type=SERVER, name="cpu-2"),
        Change(op="update", type="kubernetes:core/v1:Secret", name="boot"),
        Change(op="create-replacement", type=SERVER, name="told by its own step"),
    ]
    assert list(rows(since(BEFORE, now, steps))) == [
        ("created", "Server cpu-3"),
        ("changed", "Secret boot"),
        ("deleted", "Server cpu-2"),
        ("nodes", "+ cpu-3"),
        ("nodes", "- cpu-2"),
        ("cost", "38.00 → 38.50 USD per hour (+12.00 per day)"),
    ]


def test_no_change_has_no_row() -> None:
    assert list(rows(since(BEFORE, BEFORE, []))) == []


def test_a_long_list_is_cut() -> None:
    steps = [Change(op="create", type=SERVER, name=f"cpu-{n}") for n in range(9)]
    ((_, created),) = rows(since(BEFORE, BEFORE, steps))
    assert created.endswith("Server cpu-5 and 3 more")


def test_what_runs_is_read_as_it_was_written(tmp_path: Path) -> None:
    BEFORE.write(tmp_path / "kept")
    assert Running.read(tmp_path / "kept") == BEFORE
