"""Which jobs a change has ended, and what their work was worth."""

from dataclasses import replace

import pytest

from hardware.catalogue import load
from rehearsal.moves.jobs import RunningJob
from rehearsal.moves.lost import ended_jobs, to_be_ended
from rehearsal.moves.result import EndedJob, Moves, beyond
from rehearsal.moves.watch import Seen
from settings.rehearsal import AllowedLoss
from tests.support.rehearsal.moves import gang, node, pod, running


def ended(
    *seen: Seen, job: RunningJob | None = None, machine: Seen | None = None
) -> tuple[EndedJob, ...]:
    return ended_jobs((machine or node("dgx-01"), *seen), [job or running()])


def test_a_job_whose_pod_goes_while_it_runs_is_ended() -> None:
    (job,) = ended(pod("a", 0.0), pod("a", 5.0, gone=True))
    assert (job.name, job.node, job.pool, job.at_s) == ("default/train", "dgx-01", "dgx", 5.0)
    assert job.again_on == ()
    price = load("dgx-h200").usd_per_hour
    assert price is not None
    assert (job.gpu_hours_lost, job.usd) == (24.0, round(3 * price, 2)), "eight GPUs, three hours"


def test_a_job_whose_pod_fails_is_ended_and_may_start_again_elsewhere() -> None:
    (job,) = ended(pod("a", 0.0), pod("a", 2.0, "Failed"), pod("b", 3.0, on="dgx-02"))
    assert job.again_on == ("dgx-02",)


def test_a_job_on_a_machine_that_is_replaced_or_switched_off_is_ended() -> None:
    for end in (node("dgx-01", 4.0, gone=True), node("dgx-01", 4.0, on=False)):
        (job,) = ended(pod("a", 0.0), end, pod("a", 9.0, gone=True))
        assert (job.at_s, job.again_on) == (4.0, ())
    assert ended(pod("a", 0.0), pod("a", 2.0, "Succeeded"), node("dgx-01", 4.0, gone=True)) == ()
    assert ended(pod("a", 0.0), node("dgx-02", 4.0, gone=True)) == ()


def test_instances_of_mig_and_shares_lose_their_part_of_a_gpu() -> None:
    small, large = "nvidia.com/mig-1g.18gb", "nvidia.com/mig-3g.71gb"
    mixed = node("dgx-01", offers={small: "32", large: "8"})
    for resource, hours in ((small, 1 / 7), (large, 3 / 7)):
        on = pod("a", 0.0, gpus=2, resource=resource)
        gone = pod("a", 5.0, gpus=2, resource=resource, gone=True)
        (job,) = ended(on, gone, machine=mixed)
        assert job.gpu_hours_lost == round(2 * 3 * hours, 2)
    shared = node("dgx-01", offers={"nvidia.com/gpu": "32"})
    one = (pod("a", 0.0, gpus=1), pod("a", 5.0, gpus=1, gone=True))
    (job,) = ended(*one, machine=shared)
    assert (job.gpus, job.gpu_hours_lost) == (0.25, 0.75)


def test_two_pods_of_a_job_are_one_ended_job() -> None:
    (job,) = ended(pod("a", 0.0), pod("b", 0.0), pod("a", 2.0, gone=True), pod("b", 3.0, gone=True))
    assert (job.gpus, job.gpu_hours_lost, job.at_s) == (16, 48.0, 2.0)


def test_a_job_of_which_a_pod_runs_on_has_not_started_again() -> None:
    both = (pod("a", 0.0), pod("b", 0.0, on="dgx-02"))
    (job,) = ended(*both, pod("a", 2.0, gone=True))
    assert (job.gpus, job.again_on) == (8, ())


GANG = (pod("rank-0", 0.0, uid="1"), pod("rank-1", 0.0, uid="2", on="dgx-02"))


def test_one_pod_of_a_gang_ends_all_of_it_once() -> None:
    """The rest cannot go on alone, whether or not Volcano has ended it yet."""
    (job,) = ended(
        node("dgx-02"), *GANG, pod("rank-1", 4.0, uid="2", on="dgx-02", gone=True), job=gang(2)
    )
    assert (job.gang, job.node, job.gpus, job.times) == (True, "dgx-02", 16, 1)
    assert (job.gpu_hours_lost, job.at_s, job.again_on) == (48.0, 4.0, ())
    price = load("dgx-h200").usd_per_hour
    assert price is not None
    assert job.usd == round(2 * 3 * price, 2)


def test_a_gang_has_started_again_when_all_of_it_runs() -> None:
    gone = (
        pod("rank-0", 4.0, "Failed", uid="1"),
        pod("rank-1", 4.1, uid="2", on="dgx-02", gone=True),
    )
    first = pod("rank-0", 6.0, uid="3")
    (job,) = ended(*GANG, *gone, first, job=gang(2))
    assert job.again_on == ()
    (job,) = ended(*GANG, *gone, first, pod("rank-1", 7.0, uid="4", on="dgx-03"), job=gang(2))
    assert job.again_on == ("dgx-01", "dgx-03")
    assert (job.times, job.gpu_hours_lost) == (1, 48.0)


def test_a_gang_that_starts_again_twice_loses_its_hours_once() -> None:
    gone = (
        pod("rank-0", 4.0, "Failed", uid="1"),
        pod("rank-1", 4.1, uid="2", on="dgx-02", gone=True),
    )
    again = (pod("rank-0", 6.0, uid="3"), pod("rank-0", 9.0, "Failed", uid="3"))
    (job,) = ended(*GANG, *gone, *again, job=gang(2))
    assert (job.times, job.gpus, job.gpu_hours_lost) == (2, 16, 48.0)


def test_a_rented_machine_is_priced_as_the_capacity_that_it_is() -> None:
    def usd(capacity: str) -> float | None:
        found = node("dgx-01", hardware="p5en.48xlarge")
        found.found["metadata"]["labels"]["karpenter.sh/capacity-type"] = capacity
        (job,) = ended(pod("a", 0.0), pod("a", 5.0, gone=True), machine=found)
        return job.usd

    machine = load("p5en.48xlarge")
    for capacity in ("spot", "on-demand"):
        price = machine.usd_per_hour_as(capacity)
        assert price is not None
        assert usd(capacity) == round(3 * price, 2)
    assert usd("spot") != usd("on-demand")


def test_the_jobs_of_machines_that_are_still_to_go_are_to_end_and_lose_their_hours() -> None:
    seen = (node("dgx-01"), node("dgx-02"), pod("a", 0.0), pod("b", 0.0, on="dgx-02", job="other"))
    jobs = [running(), running("other")]
    (job,) = to_be_ended(seen, jobs, {"dgx-02"}, 200.0)
    assert (job.name, job.node, job.gpu_hours_lost) == ("default/other", "dgx-02", 24.0)
    assert (job.to_come, job.at_s) == (True, 200.0)
    assert (
        to_be_ended(
            (*seen, pod("b", 5.0, on="dgx-02", job="other", gone=True)), jobs, {"dgx-02"}, 9
        )
        == ()
    ), "it has ended already"


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


def test_a_snapshot_of_which_nothing_runs_vouches_for_nothing() -> None:
    none = replace(moves(), snapshot="jobs.yaml", jobs=0, not_running=("research/a: no room.",))
    (sentence,) = beyond(none, AllowedLoss())
    assert sentence == (
        "No job of jobs.yaml runs in the twin, so nothing tells which of them the change ends: "
        "research/a: no room."
    )
    assert list(beyond(replace(none, jobs=1), AllowedLoss())) == []
    (sentence,) = beyond(replace(none, snapshot=None), AllowedLoss())
    assert sentence.startswith("No job of the default set runs in the twin, so nothing tells")
    assert list(beyond(replace(none, snapshot=None, not_running=()), AllowedLoss())) == []


def test_a_price_that_is_not_known_is_no_price_of_nothing() -> None:
    (job,) = ended(pod("a", 0.0), pod("a", 5.0, gone=True))
    unknown = moves(replace(job, usd=None))
    assert list(beyond(unknown, AllowedLoss(jobs_ended=1))) == []
    (sentence,) = beyond(unknown, AllowedLoss(jobs_ended=1, usd=1000))
    assert sentence == (
        "gpu-fleet:rehearsal.allow.usd allows 1,000, and nothing tells whether the change keeps to "
        "it: the catalogue has no price for the machine of default/train."
    )
    (sentence,) = beyond(replace(moves(), twice_unpriced=("ccx63",)), AllowedLoss(usd=1000))
    assert "the catalogue has no price for ccx63, of which machines ran twice." in sentence


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
