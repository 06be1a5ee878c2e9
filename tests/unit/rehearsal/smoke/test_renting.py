"""What must hold of the machines of a gang that spans owned and rented ones."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from rehearsal.api import Api
from rehearsal.smoke.followed import Followed
from rehearsal.smoke.jobs import SPANS, SmokeJob
from rehearsal.smoke.rented import RentedMachines
from rehearsal.smoke.renting import RentingGang

JOB = SmokeJob(
    kind=SPANS,
    manifest={"metadata": {"namespace": "both", "name": "smoke-gang-spans"}},
    pool="dgx",
    queue="both",
    gpus=24,
    rents_of="burst",
)
OWNED = {"dgx-1": "dgx", "dgx-2": "dgx"}


@dataclass
class Rented:
    """Machines that came and went."""

    made: int = 1
    rounds: int = 1
    gone: float | None = 1.0

    def machines(self) -> range:
        return range(self.made)


def problems(nodes: dict[str, str], rented: Rented) -> list[str]:
    gang = Followed(api=cast("Api", None), job=JOB, outcome="ended", nodes=nodes)
    return [*RentingGang(gang=gang, rented=cast("RentedMachines", rented)).problems()]


def test_a_machine_for_each_pod_beyond_the_owned_ones_in_one_round_is_as_it_must_be() -> None:
    assert problems({**OWNED, "ip-1": "burst"}, Rented()) == []


@pytest.mark.parametrize(
    ("nodes", "rented", "says"),
    [
        ({**OWNED, "ip-1": "burst"}, Rented(made=2), "ran on 1 rented machines, 2 were rented"),
        ({**OWNED, "ip-1": "burst"}, Rented(rounds=2), "had its machines in 2 rounds"),
        ({"ip-1": "burst"}, Rented(), "ran on no machine of pool dgx"),
        (OWNED, Rented(made=0), "Karpenter rented no machine for it"),
    ],
    ids=["one too many", "two rounds", "rented ones alone", "owned ones alone"],
)
def test_anything_else_is_a_problem(nodes: dict[str, str], rented: Rented, says: str) -> None:
    (problem,) = problems(nodes, rented)
    assert problem.startswith("gang that spans: job both/smoke-gang-spans ")
    assert says in problem


def test_rounds_and_machines_of_a_gang_are_not_counted_after_its_end(tmp_path: Path) -> None:
    rented = RentedMachines(api=cast("Api", None), directory=tmp_path, consolidate_after_s=600)
    log = tmp_path / "logs" / "karpenter.log"
    log.parent.mkdir()
    line = '{"message":"computed new nodeclaim(s) to fit pod(s)"}\n'
    log.write_text(line)
    rented.close()
    log.write_text(line * 2)
    assert rented.rounds == 1
    rented.look(gang_over=True)  # asks nobody, as there is nobody to ask
