"""What the smoke set did, in the words of the report."""

from dataclasses import replace

import pytest
from rich.console import Group

from engine.console import show
from rehearsal.smoke.results import RentedMachine, Shortened, Smoke, SmokeRun
from rehearsal.smoke.words import in_short, job_by_job, one_line, shortened_line, whole

GANG = SmokeRun(
    kind="gang that rents",
    name="research-burst/smoke-gang-rented",
    pool="burst",
    queue="research-burst",
    gpus=16,
    outcome="ended",
    as_it_must=True,
    nodes=("ip-10-11-32-10.ec2.internal", "ip-10-11-32-11.ec2.internal"),
    starts_after_s=12.7,
    ends_after_s=14.5,
)
REFUSED = SmokeRun(
    kind="refused",
    name="research/smoke-refused",
    pool="dgx",
    queue="research",
    gpus=1,
    outcome="refused",
    as_it_must=True,
    said="by kubelet on dev-dgx-01: SMTAlignmentError: Pod was rejected",
    nodes=("dev-dgx-01",),
    ends_after_s=1.5,
)
MACHINE = RentedMachine(
    id="i-1",
    type="p5e.48xlarge",
    zone="us-east-1b",
    capacity="spot",
    boot_s=5.2,
    usd_per_hour=39.8,
    real_usd=9.98,
)
SMOKE = Smoke(
    runs=(GANG, REFUSED),
    left_out={"slice": "no owned pool shares its GPUs"},
    machines=(MACHINE, replace(MACHINE, id="i-2", capacity="reserved")),
    rounds=1,
    gone_after_s=27.4,
    shortened=(
        Shortened(
            what="boot of a rented machine", real_s=300, here_s=5, how="sooner", of_a_machine=True
        ),
        Shortened(
            what="consolidateAfter of burst", real_s=600, here_s=0, how="back", of_a_machine=True
        ),
        Shortened(what="smoke job", real_s=600, here_s=2, how="kwok"),
    ),
)


def test_a_line_says_whether_all_did_what_they_must_and_what_was_rented() -> None:
    assert one_line(SMOKE) == (
        "good",
        (
            "2 of 2 did what they must, no slice; 2 machines rented in 1 round, "
            "gone 27 s after their gang ended"
        ),
    )
    bad = replace(
        SMOKE,
        runs=(replace(GANG, as_it_must=False), REFUSED),
        machines=(MACHINE,),
        rounds=2,
        gone_after_s=None,
        problems=("gang that rents: …",),
    )
    assert one_line(bad) == (
        "bad",
        "1 of 2 did what they must, no slice; 1 machine rented in 2 rounds, not gone",
    )


def test_an_environment_without_a_place_for_any_job_says_so() -> None:
    nothing = Smoke(left_out={"one GPU": "no owned pool has whole GPUs"})
    assert one_line(nothing) == ("good", "none has a place in this environment")
    assert in_short(nothing) == shortened_line(nothing) == ""


def test_what_is_shortened_has_its_factor() -> None:
    assert shortened_line(SMOKE) == (
        "boot of a rented machine 60x, consolidateAfter of burst not waited for, smoke job 300x"
    )


def test_each_job_has_a_line_and_each_kind_without_one_a_reason() -> None:
    assert job_by_job(SMOKE) == (
        (
            "gang that rents, research-burst/smoke-gang-rented: ran after 12.7 s on "
            "ip-10-11-32-10.ec2.internal, ip-10-11-32-11.ec2.internal, over after 14.5 s"
        ),
        (
            "refused, research/smoke-refused: refused by kubelet on dev-dgx-01: "
            "SMTAlignmentError: Pod was rejected"
        ),
        "no slice: no owned pool shares its GPUs",
    )


def test_the_whole_report_has_jobs_machines_and_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    show(Group(*whole(SMOKE)))
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    gang = "gang-rented gang that rents research-burst burst 16"
    assert f"{gang} ip-10-11-32-10, ip-10-11-32-11 12.7 s 14.5 s" in rows
    assert "i-2 p5e.48xlarge us-east-1b reserved 5.2 s 39.80 9.98" in rows
    assert (
        "Chosen by Karpenter in 1 round; gone 27.4 s after its end. Real times: 300 s of boot of a "
        "rented machine + 600 s of consolidateAfter of" in rows
    )
    assert "consolidateAfter of burst 600.0 s 0.0 s not waited for back" in rows
    assert any(row.startswith("✓ research/smoke-refused was refused by kubelet") for row in rows)
