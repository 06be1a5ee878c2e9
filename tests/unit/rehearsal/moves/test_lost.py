"""Which jobs a change has ended, and what their work was worth."""

import pytest

from hardware.catalogue import load
from rehearsal.moves.lost import ended_jobs
from rehearsal.moves.result import EndedJob, Moves, beyond
from rehearsal.moves.watch import Seen
from settings.rehearsal import AllowedLoss
from tests.support.rehearsal.moves import node, pod, running


def ended(*seen: Seen) -> tuple[EndedJob, ...]:
    return ended_jobs((node("dgx-01"), *seen), [running()])


def test_a_job_whose_pod_goes_while_it_runs_is_ended() -> None:
    (job,) = ended(pod("a", 0.0), pod("a", 5.0, gone=True))
    assert (job.name, job.node, job.pool, job.at_s) == ("default/train", "dgx-01", "dgx", 5.0)
    assert job.again_on is None
    price = load("dgx-h200").usd_per_hour
    assert price is not None
    assert (job.gpu_hours_lost, job.usd) == (24.0, round(3 * price, 2)), "eight GPUs, three hours"


def test_a_job_whose_pod_fails_is_ended_and_may_start_again_elsewhere() -> None:
    (job,) = ended(pod("a", 0.0), pod("a", 2.0, "Failed"), pod("b", 3.0, on="dgx-02"))
    assert job.again_on == "dgx-02"


def test_a_job_on_a_machine_that_is_replaced_or_switched_off_is_ended() -> None:
    for end in (node("dgx-01", 4.0, gone=True), node("dgx-01", 4.0, on=False)):
        (job,) = ended(pod("a", 0.0), end, pod("a", 9.0, gone=True))
        assert (job.at_s, job.again_on) == (4.0, None)
    assert ended(pod("a", 0.0), pod("a", 2.0, "Succeeded"), node("dgx-01", 4.0, gone=True)) == ()
    assert ended(pod("a", 0.0), node("dgx-02", 4.0, gone=True)) == ()


def test_two_pods_of_a_gang_are_one_ended_job() -> None:
    (job,) = ended(pod("a", 0.0), pod("b", 0.0), pod("a", 2.0, gone=True), pod("b", 3.0, gone=True))
    assert (job.gpus, job.gpu_hours_lost, job.at_s) == (16, 48.0, 2.0)


def test_a_job_that_has_ended_well_and_a_pod_that_is_made_anew_are_not_ended() -> None:
    well = (pod("a", 0.0), pod("a", 2.0, "Succeeded"), pod("a", 3.0, "Succeeded", gone=True))
    assert ended(*well) == ()
    moved = (pod("a", 0.0, owner="ReplicaSet"), pod("a", 2.0, owner="ReplicaSet", gone=True))
    assert ended(*moved) == ()


def test_a_pod_that_never_ran_and_one_of_nobodys_job_are_not_ended() -> None:
    assert ended(pod("a", 0.0, "Pending"), pod("a", 2.0, "Pending", gone=True)) == ()
    assert ended(pod("a", 0.0, job="other"), pod("a", 2.0, job="other", gone=True)) == ()


def moves(*jobs: EndedJob, twice_usd: float = 0.0) -> Moves:
    return Moves(
        ref="main", commit="1" * 40, snapshot=None, jobs=4, ended=jobs, twice_usd=twice_usd
    )


def test_by_default_no_job_may_end_and_anything_else_may_be() -> None:
    (job,) = ended(pod("a", 0.0), pod("a", 5.0, gone=True))
    (sentence,) = beyond(moves(job), AllowedLoss())
    assert sentence == (
        "The change ends running jobs: 1, and gpu-fleet:rehearsal.allow.jobs_ended allows 0: "
        "default/train on dgx-01."
    )
    assert list(beyond(moves(job), AllowedLoss(jobs_ended=1))) == []
    assert list(beyond(moves(twice_usd=900.0), AllowedLoss())) == []


@pytest.mark.parametrize(
    ("allow", "says"),
    [
        (AllowedLoss(jobs_ended=1, gpu_hours_lost=23.9), "loses 24.0 GPU-hours of work, and"),
        (AllowedLoss(jobs_ended=1, usd=1), "USD, and gpu-fleet:rehearsal.allow.usd allows 1."),
    ],
)
def test_each_limit_has_its_sentence(allow: AllowedLoss, says: str) -> None:
    (job,) = ended(pod("a", 0.0), pod("a", 5.0, gone=True))
    (sentence,) = beyond(moves(job), allow)
    assert says in sentence
