"""What a rehearsal says of the rights of Karpenter's user at AWS, which no IAM judges there."""

import json
import threading
from collections.abc import Mapping
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from engine.console import show
from rehearsal.controller_report import IAM_NOT_PROVEN, ControllerReport
from rehearsal.faults.scene import Scene
from rehearsal.faults.spot import SIGNED, terminate
from rehearsal.karpenter import iam_use
from rehearsal.karpenter.iam_use import ATTACHMENT, POLICY, IamUse
from rehearsal.karpenter.server import ACTIONS, ADDRESS, ITSELF, Aws, handler, used
from rehearsal.providers.cloud import Cloud, CloudObject
from rehearsal.report import Report
from rehearsal.report_builder import with_controllers
from rehearsal.tables import render
from tests.unit.rehearsal.faults.test_money import machine

OWN, OTHER = "arn:aws:iam::1:policy/own", "arn:aws:iam::1:policy/other"


def put(cloud: Cloud, type_: str, id_: str, inputs: Mapping[str, Any]) -> None:
    thing = CloudObject(
        provider="aws", type=type_, id=id_, name=id_, inputs=dict(inputs), outputs={}
    )
    cloud.put(thing)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    cloud = Cloud(tmp_path)
    statements = [
        {"Action": ["ec2:CreateFleet", "ec2:TerminateInstances"]},
        {"Action": "pricing:GetProducts"},
    ]
    put(cloud, POLICY, OWN, {"policy": json.dumps({"Statement": statements})})
    put(cloud, POLICY, OTHER, {"policy": json.dumps({"Statement": [{"Action": "s3:GetObject"}]})})
    put(cloud, ATTACHMENT, "one", {"user": "fleet-dev-karpenter", "policyArn": OWN})
    put(cloud, ATTACHMENT, "other", {"user": "fleet-dev-lakefs", "policyArn": OTHER})
    asked = {"ec2:CreateFleet": 3, "pricing:GetProducts": 1, "ec2:DescribeVpcs": 1}
    (tmp_path / ACTIONS).write_text(json.dumps(asked))
    return tmp_path


def test_what_was_asked_for_is_compared_with_the_policies_of_its_own_user(directory: Path) -> None:
    assert iam_use.read(directory) == IamUse(
        called=("ec2:CreateFleet", "pricing:GetProducts"),
        never_called=("ec2:TerminateInstances",),
        not_allowed=("ec2:DescribeVpcs",),
    )


def test_the_report_says_that_nothing_of_it_is_proven(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    found = iam_use.read(directory)
    ran = ControllerReport(name="karpenter", system="karpenter", rights=1, used=1, iam=found)
    report = with_controllers(Report(environment="dev"), (ran,))
    assert IAM_NOT_PROVEN in report.taken_as_given
    (warning,) = report.warnings
    assert "asked AWS for ec2:DescribeVpcs, which no policy of its user allows" in warning
    show(render(report))
    text = capsys.readouterr().out
    assert "called here, judged by no IAM: ec2:CreateFleet, pricing:GetProducts" in text
    assert "allowed and never called: ec2:TerminateInstances" in text


def test_the_end_of_a_spot_machine_by_ec2_itself_is_no_action_of_karpenters(
    directory: Path,
) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(Aws(directory)))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    (directory / ADDRESS).write_text(f"http://127.0.0.1:{server.server_port}")
    scene = cast("Scene", SimpleNamespace(directory=directory))
    with pytest.raises(httpx.HTTPStatusError):  # there is no account that has the machine
        terminate(scene, machine("i-a", 0.0))
    asked = {"Action": "CreateFleet", "Version": "2016-11-15"}
    signed = {"Authorization": SIGNED.replace(ITSELF, "AKIATWIN")}
    httpx.post((directory / ADDRESS).read_text(), data=asked, headers=signed)
    server.shutdown()
    server.server_close()
    assert used(directory)["ec2:CreateFleet"] == 3 + 1
    assert "ec2:TerminateInstances" not in used(directory)
