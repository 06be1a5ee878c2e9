"""What a rehearsal showed is on the page and in Markdown, with its names and its numbers."""

from dataclasses import replace
from typing import Any

import pytest

from fleet.report.markdown import markdown
from fleet.report.page import page
from fleet.report.sections import sections
from rehearsal.changes import Changes
from rehearsal.charts.dependents import Dependent
from rehearsal.charts.results import Charts, RenderedChart
from rehearsal.charts.room import PoolsRoom
from rehearsal.controller_report import ControllerReport
from rehearsal.ending import Ending
from rehearsal.faults.result import Faults
from rehearsal.karpenter.iam_use import IamUse
from rehearsal.kills import Kill, Kills
from rehearsal.lakefs_held import HeldRepository, LakefsHeld
from rehearsal.report import Chart, Report, VersionDifference
from rehearsal.smoke.results import RentedMachine, Shortened, Smoke, SmokeRun
from tests.unit.fleet.report.test_page import EVIL, Page
from tests.unit.rehearsal.faults.test_words import HUNG, SPOT
from tests.unit.rehearsal.moves.test_words import ROUGH

JOB = SmokeRun(
    kind="gang that rents",
    name="research-burst/smoke-gang-rented",
    pool="burst",
    queue="research-burst",
    gpus=16,
    outcome="ended",
    as_it_must=True,
    nodes=("ip-10-11-32-10.ec2.internal",),
    starts_after_s=9.8,
    ends_after_s=11.8,
)
SMOKE = Smoke(
    runs=(
        JOB,
        replace(JOB, name="research/smoke-x", outcome="failed", as_it_must=False, said="by EC2"),
    ),
    left_out={"slice": "no owned pool shares its GPUs"},
    machines=(
        RentedMachine(
            id="i-540f",
            type="p5e",
            zone="1b",
            capacity="spot",
            boot_s=6.6,
            usd_per_hour=39.8,
            real_usd=9.97,
        ),
    ),
    rounds=1,
    gone_after_s=46.9,
    shortened=(Shortened(what="boot", real_s=300, here_s=5, how="sooner", of_a_machine=True),),
    problems=("The job failed.",),
)
KARPENTER = ControllerReport(
    name="karpenter",
    system="karpenter",
    version="1.14.1",
    difference="Karpenter 1.14.1 ran, the environment has 1.13.0.",
    rights=108,
    used=22,
    never_used=("create pods/eviction",),
    missing=("patch nodes",),
    iam=IamUse(called=("ec2:RunInstances",), never_called=("iam:PassRole",), not_allowed=("s3:X",)),
)
CHARTS = Charts(
    rendered=(
        RenderedChart(
            name="volcano",
            chart="volcano",
            version="1.14.1",
            source="Go module volcano.sh/volcano v1.14.1",
            objects={"Deployment": 3},
            crds=("jobs.batch.volcano.sh",),
            hooks=("Job volcano-admission-init (pre-install)",),
            refused=("Deployment volcano-system/x: errors: .spec.replicas: Invalid value",),
            dependents=(
                Dependent(
                    kind="ValidatingWebhookConfiguration",
                    name="validatejob.volcano.sh",
                    failure_policy="Fail",
                    covers="CREATE of jobs",
                    service="Service volcano-system/volcano-admission-service",
                    in_force=True,
                ),
            ),
            images=("docker.io/vc-scheduler:v1", f"quay.io/cilium@sha256:{'af' * 32}"),
            homeless=("Deployment volcano-admission",),
        ),
    ),
    room=(
        PoolsRoom(
            pools=("cpu",),
            nodes=3,
            pods=16,
            cpu=99,
            memory_gib=5,
            cpu_allocatable=18,
            memory_gib_allocatable=89.25,
        ),
    ),
    images_changed=("volcano 1.14.1: docker.io/vc-scheduler:v1 is not in the lock of images.",),
)
REPORT = Report(
    environment="dev",
    smoke=SMOKE,
    controllers=(KARPENTER,),
    lakefs=LakefsHeld(
        endpoint=None,
        user="admin",
        repositories=(
            HeldRepository(
                name="ticks",
                storage_namespace="s3://fleet-dev/ticks",
                default_branch="main",
                protected=("main",),
                actions=("merge-check.yaml",),
                keep_days={"*": 30},
            ),
        ),
    ),
    charts=CHARTS,
    charts_not_rehearsed=(
        Chart(
            name="kured",
            chart="kured",
            version="6.0.0",
            kinds_installed=False,
            reason="kubereboot.github.io cannot be reached",
        ),
    ),
    version_differences=(VersionDifference(system="Cilium", environment="1.19", rehearsed="1.20"),),
    moves=ROUGH,
    changes=Changes(
        resources={"created": ("Server cpu-4",)},
        nodes_added=("cpu-4",),
        nodes_removed=(),
        usd_per_hour_before=None,
        usd_per_hour=None,
    ),
    kills=Kills(
        seed=8,
        resources=220,
        kills=(
            Kill(
                made=60,
                found=("Server cpu-1",),
                not_there=("Release cilium",),
                useless=(),
                seconds=6.3,
                uninstalled=("Release cilium",),
            ),
        ),
        restarted=("kwok",),
        doubled=("Server cpu-2",),
    ),
    faults=Faults(gangs=("quants/g",), runs=(SPOT, HUNG), stopped="The machines have not joined."),
    ending=Ending(
        resources=189, seconds=49.2, protected={"dgx": "2 BareMetalHost"}, left=("Bucket b",)
    ),
)
TITLES = [
    *("Since the last rehearsal", "Change", "Jobs", "Controllers", "lakeFS", "Charts"),
    *("Kills", "Faults", "Destroy"),
]
TOLD = {
    "smoke": [
        *("gang-rented", "ip-10-11-32-10", "11.8 s", "failed by EC2"),
        *("No slice: no owned pool shares its GPUs.", "i-540f", "9.97", "60x", "sooner"),
    ],
    "controllers": [
        *("22 of 108", "create pods/eviction", "1 of 2", "iam:PassRole", "s3:X"),
        "karpenter has no right to patch nodes",
        "Karpenter 1.14.1 ran, the environment has 1.13.0.",
        "No IAM judges these calls to AWS, so they prove no right.",
    ],
    "lakefs": ["s3://fleet-dev/ticks", "merge-check.yaml", "30 days", "a fake of its API"],
    "charts": [
        "Chart of volcano: Deployment volcano-system/x: errors: .spec.replicas: Invalid value",
        "no Ready node may run Deployment volcano-admission.",
        *("validatejob.volcano.sh", "CREATE of jobs", "Go module volcano.sh/volcano v1.14.1"),
        *("docker.io/vc-scheduler:v1", "afafafafafaf…", "2 images, 1 without a digest"),
        "Job volcano-admission-init (pre-install)",
        "docker.io/vc-scheduler:v1 is not in the lock of images.",
        "cpu: 16 pods of charts ask for 99 of 18 CPUs",
        "89.25",
    ],
    "charts_not_rehearsed": ["kured", "6.0.0", "kubereboot.github.io cannot be reached"],
    "moves": [
        *("From main, commit 1a2b3c4d5e6f", "cpu-1 replaced", "1 drained and replaced: cpu-1"),
        "research/gang-3: it runs on p5e-1, which the twin does not have.",
    ],
    "changes": ["Server cpu-4", "+ cpu-4"],
    "kills": [
        *("seed 8", "60 of 220", "6.3 s", "found: Server cpu-1", "kwok"),
        *("half installed: Release cilium", "in its cloud twice: Server cpu-2."),
    ],
    "faults": [
        *("493.9", "GpuNodeIdle", "a machine boots (295 s)", "not recovered within 240 s"),
        *("b (cordoned)", "The machines have not joined."),
    ],
    "ending": ["189 resources gone", "2 BareMetalHost", "is left: Bucket b."],
    "version_differences": ["Cilium 1.20 was rehearsed, the environment has 1.19"],
}


def shown(report: Report) -> dict[str, str]:
    """The text of each form, as a reader sees it."""
    plain = markdown(report, "").replace("\N{ZERO WIDTH SPACE}", "").replace("\\*", "*")
    return {"page": Page(page(report, "")).text, "markdown": plain.replace("`", "")}


@pytest.mark.parametrize("form", ["page", "markdown"])
@pytest.mark.parametrize("part", TOLD)
def test_every_form_tells_it(form: str, part: str) -> None:
    text = shown(REPORT)[form]
    assert [each for each in TOLD[part] if each not in text] == []


@pytest.mark.parametrize("part", [part for part in TOLD if part != "version_differences"])
def test_what_was_not_rehearsed_has_no_section(part: str) -> None:
    empty = {"controllers": (), "charts_not_rehearsed": (), "charts": Charts()}
    nothing: dict[str, Any] = {part: empty.get(part)}
    without = replace(REPORT, **nothing)
    titles = [each.title for each in sections(without)]
    lost = {"changes": "Since the last rehearsal", "moves": "Change", "smoke": "Jobs"}
    lost |= {"lakefs": "lakeFS", "ending": "Destroy", "controllers": "Controllers"}
    lost |= {"kills": "Kills", "faults": "Faults"}
    assert titles == [each for each in TITLES if each != lost.get(part)]


def test_each_section_has_its_verdict_and_a_way_to_it_from_the_top() -> None:
    found = Page(page(REPORT, ""))
    assert found.ids == [each.anchor for each in sections(REPORT)]
    assert [each for each in found.addresses if each.startswith("#")] == [
        f"#{each}" for each in found.ids
    ]
    marks = {each.title: each.mark for each in sections(REPORT)}
    bad = [title for title, mark in marks.items() if mark == "bad"]
    assert bad == ["Change", "Jobs", "Charts", "Kills", "Faults", "Destroy"]
    assert (marks["Controllers"], marks["lakeFS"]) == ("warning", "good")


def test_a_row_of_what_went_wrong_is_marked() -> None:
    tables = {
        table.title or table.head[0]: [row.mark for row in table.rows]
        for each in sections(REPORT)
        for table in each.tables
    }
    assert tables["Job"] == ["plain", "bad"]
    assert tables["Controller"] == ["warning"]
    assert tables["Rendered"] == ["bad"]
    assert tables["Room for the pods of charts on the pools that alone may run them"] == ["bad"]
    assert tables["Fault"] == ["plain", "bad"]


def test_a_table_has_as_many_cells_in_each_row_as_heads() -> None:
    for section in sections(REPORT):
        for table in (*section.tables, *(t for fold in section.folds for t in fold.tables)):
            assert {len(row.cells) for row in table.rows} == {len(table.head)}, table.head


def test_names_in_sections_are_text() -> None:
    evil = replace(
        REPORT,
        controllers=(replace(KARPENTER, name=EVIL, never_used=(EVIL,)),),
        charts=replace(CHARTS, rendered=(replace(CHARTS.rendered[0], name=EVIL, images=(EVIL,)),)),
        ending=Ending(resources=1, seconds=1.0, protected={EVIL: EVIL}, inside=(EVIL,)),
    )
    found = Page(page(evil, ""))
    assert "script" not in found.tags
    assert found.text.count(EVIL) >= 8
    assert "<script" not in markdown(evil, "").replace(f"`{EVIL}`", "")


def test_the_first_screen_of_markdown_has_a_line_of_each_and_the_rest_is_folded() -> None:
    text = markdown(REPORT, "")
    first, _, folded = text.partition("<details>")
    for about in ("jobs", "controllers", "kills", "destroy", "fault spot", "not started"):
        assert f" `{about}`: " in first
    assert folded.count("<summary>") == len(TITLES)
    assert text.count("<details>") == text.count("</details>")
    assert "\n\n\n" not in text
