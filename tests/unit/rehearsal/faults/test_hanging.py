"""A rented machine that never boots."""

from pathlib import Path

from rehearsal.karpenter.instances import Instances, Launch, read
from rehearsal.karpenter.machines import hang_next, hung
from tests.unit.rehearsal.faults.test_money import machine


def launch(directory: Path, id_: str, launched: float) -> None:
    made = machine(id_, launched)
    Instances(directory).add(id_, Launch(digest="", errors=[], instances=[id_]), [made], "x")


def test_the_first_machine_that_is_launched_afterwards_hangs_and_no_other(tmp_path: Path) -> None:
    launch(tmp_path, "before", 0.0)
    assert hung(tmp_path) is None
    hang_next(tmp_path)
    assert hung(tmp_path) is None
    later = float((tmp_path / "ec2-hangs").read_text()) + 1
    launch(tmp_path, "next", later)
    launch(tmp_path, "after", later + 1)
    assert len(read(tmp_path)) == 3
    found = hung(tmp_path)
    assert found is not None
    assert found.id == "next"
