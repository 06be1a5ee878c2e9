"""What the report says of the controllers that ran."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import pytest

import settings.versions
from engine.console import show
from rehearsal import controller_report, digest
from rehearsal.api import Api
from rehearsal.controller_report import ControllerReport
from rehearsal.controllers.controller import FOLDER, RECORD, Controller
from rehearsal.report import Chart, Report
from rehearsal.report_builder import with_controllers
from rehearsal.rights import LOG
from rehearsal.short_report import render_short
from rehearsal.tables import render

RAN = ControllerReport(
    name="volcano-scheduler",
    system="volcano",
    version="1.14.1",
    rights=9,
    used=4,
    never_used=("create, delete configmaps",),
)
REFUSED = replace(RAN, missing=("update podgroups.scheduling.volcano.sh/status",))


class FakeApi:
    """A scheduler that may do three things."""

    def items(self, path: str) -> list[dict[str, Any]]:
        name, account = {"name": "volcano-scheduler"}, {"kind": "ServiceAccount"}
        if path.endswith("/clusterroles"):
            verbs = ["get", "list", "delete"]
            rule = {"apiGroups": [""], "resources": ["pods"], "verbs": verbs}
            return [{"metadata": name, "rules": [rule]}]
        if path.endswith("/clusterrolebindings"):
            subject = {**account, **name, "namespace": "volcano-system"}
            reference = {"kind": "ClusterRole", **name}
            return [{"metadata": name, "roleRef": reference, "subjects": [subject]}]
        return []


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    controller = Controller(
        name="volcano-scheduler",
        system="volcano",
        namespace="volcano-system",
        service_account="volcano-scheduler",
        command=("volcano", "vc-scheduler"),
        port=1,
    )
    folder = tmp_path / FOLDER / controller.name
    folder.mkdir(parents=True)
    (folder / RECORD).write_text(json.dumps(asdict(controller)))
    event = {
        "verb": "list",
        "user": {"username": controller.user},
        "objectRef": {"resource": "pods"},
        "annotations": {"authorization.k8s.io/decision": "allow"},
    }
    (tmp_path / LOG).write_text(json.dumps(event))
    return tmp_path


def read(directory: Path, has: str) -> ControllerReport:
    (found,) = controller_report.read(
        cast("Api", FakeApi()),
        directory,
        versions={"volcano": "1.14.1"},
        environment={"volcano": has},
    )
    return found


def test_rights_are_counted_and_those_never_used_are_named_by_kind(directory: Path) -> None:
    found = read(directory, "1.14.1")
    assert (found.rights, found.used, found.missing) == (3, 1, ())
    assert found.never_used == ("delete, get pods",)


def test_another_version_of_the_environment_is_said(directory: Path) -> None:
    assert read(directory, "1.14.1").difference == ""
    assert read(directory, "1.14.2").difference == "1.14.1 ran, the environment has 1.14.2"


def test_a_missing_right_is_a_warning() -> None:
    report = with_controllers(Report(environment="dev"), (REFUSED,))
    (warning,) = report.warnings
    assert warning.startswith("volcano-scheduler has no right to update podgroups.scheduling")
    assert with_controllers(Report(environment="dev"), (RAN,)).warnings == ()


def test_a_chart_whose_controllers_ran_is_not_among_those_that_were_not_rehearsed() -> None:
    charts = [
        Chart(name=name, chart=name, version="1.14.1", kinds_installed=True)
        for name in ("karpenter", "volcano")
    ]
    report = Report(environment="dev", charts_not_rehearsed=tuple(charts))
    (left,) = with_controllers(report, (RAN,)).charts_not_rehearsed
    assert left.name == "karpenter"


def test_a_chart_that_is_named_by_its_address_is_known_by_its_name() -> None:
    chart = Chart(
        name="karpenter",
        chart=settings.versions.KARPENTER.name,
        version="1.14.1",
        kinds_installed=False,
    )
    report = Report(environment="dev", charts_not_rehearsed=(chart,))
    ran = replace(RAN, name="karpenter", system="karpenter")
    assert chart.chart.startswith("oci://")
    assert with_controllers(report, (ran,)).charts_not_rehearsed == ()


def test_the_short_report_has_a_line_and_the_whole_one_names_the_rights(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    ours = ControllerReport(name="fleet-pool-domains", rights=3, used=3)
    both = (ours, RAN, replace(RAN, name="volcano-admission"))
    report = Report(environment="dev", passed=True, controllers=both)
    line = digest.controllers(report)
    assert line
    assert (line.mark, line.text) == (
        "good",
        "fleet-pool-domains, volcano 1.14.1: 11 of 21 rights used",
    )
    show(render_short(report))
    assert line.text in capsys.readouterr().out
    show(render(report))
    assert "never used: create, delete configmaps" in capsys.readouterr().out


def test_an_environment_without_controllers_says_nothing_of_them() -> None:
    assert digest.controllers(Report(environment="dev")) is None


def test_a_report_is_read_back_as_it_was_written() -> None:
    report = Report(environment="dev", controllers=(REFUSED,))
    assert Report.from_json(json.dumps(report.as_json())) == report
