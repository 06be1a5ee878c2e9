"""The gRPC side: one sentence for whatever goes wrong, one instance a connection, a log."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest
from pulumi.runtime.proto import provider_pb2

from rehearsal.providers import simulated
from rehearsal.providers.aws.package import package as aws_package
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.simulated import SimulatedProvider
from rehearsal.providers.simulated_type import CloudRequest
from rehearsal.providers.values import Properties, Secret, decode, encode
from tests.support.rehearsal.provider_engine import CallContext, FakeEngine, Refused, engine, urn

BUCKET = "aws:s3/bucket:Bucket"
VPC = "aws:ec2/vpc:Vpc"


def test_a_call_before_configuration_is_a_sentence(tmp_path: Path) -> None:
    unready = engine(SimulatedProvider(aws_package(), Cloud(tmp_path)), tmp_path)
    with pytest.raises(Refused, match="The aws provider was called before it was configured"):
        unready.checked(BUCKET, {})


def test_each_connection_has_the_instance_it_was_configured_for(aws: FakeEngine) -> None:
    second = FakeEngine(
        servicer=aws.servicer, directory=aws.directory, context=CallContext("ipv4:127.0.0.1:4001")
    )
    second.configure({"region": "eu-west-1"})
    regions = [
        one.created(VPC, {"cidrBlock": "10.0.0.0/16"}).outputs["region"] for one in (aws, second)
    ]
    assert regions == ["us-east-1", "eu-west-1"]


def test_a_fault_names_the_resource_and_quotes_nothing(
    aws: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: simulated.SimulatedInstance, inputs: Properties, id_: str = "") -> CloudRequest:
        raise ValueError("hunter2")

    monkeypatch.setattr(simulated.SimulatedInstance, "_request", fails)
    with pytest.raises(Refused) as error:
        aws.checked(BUCKET, {"bucket": "boot-data"})
    sentence = str(error.value)
    assert sentence.startswith(f"The rehearsal's aws provider failed on it ({BUCKET}): ValueError")
    assert "hunter2" not in sentence
    assert aws.calls()[-1]["error"] == "fault: ValueError"


def test_the_log_names_calls_and_holds_no_values(aws: FakeEngine) -> None:
    aws.previewed(BUCKET, {"bucket": "hunter2-data"})
    aws.delete(aws.created(BUCKET, {"bucket": "hunter2-data"}))
    with pytest.raises(AssertionError):
        aws.checked(BUCKET, {"bucket": "Hunter2"})
    calls = [(call["method"], call["preview"], call.get("error")) for call in aws.calls()]
    assert calls == [
        ("Check", None, None),
        ("Create", True, None),
        ("Check", None, None),
        ("Create", False, None),
        ("Delete", False, None),
        ("Check", None, "refused: bucket"),
    ]
    assert {(call["provider"], call["type"], call["urn"]) for call in aws.calls()} == {
        ("aws", BUCKET, urn(BUCKET))
    }
    assert "unter2" not in (aws.directory / "calls.jsonl").read_text()


def test_only_its_owner_can_read_the_log(aws: FakeEngine) -> None:
    mode = (aws.directory / "calls.jsonl").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_components_of_a_provider_are_refused_by_name(kubernetes: FakeEngine) -> None:
    request = provider_pb2.ConstructRequest(type="kubernetes:yaml/v2:ConfigGroup", name="crds")
    with pytest.raises(Refused, match="kubernetes:yaml/v2:ConfigGroup crds cannot be rehearsed"):
        kubernetes.servicer.Construct(request, kubernetes.context)


def test_cancelling_one_connection_leaves_the_other_alone(kubernetes: FakeEngine) -> None:
    other = FakeEngine(
        servicer=kubernetes.servicer,
        directory=kubernetes.directory,
        context=CallContext("ipv4:127.0.0.1:4001"),
    )
    other.configure({})
    kubernetes.servicer.Cancel(None, kubernetes.context)
    inputs: Properties = {"metadata": {"name": "a"}}
    late = "kubernetes:karpenter.sh/v1:NodePool"
    with pytest.raises(Refused, match="Cancelled while waiting for the API server"):
        kubernetes.created(late, inputs)
    assert other.created("kubernetes:core/v1:ConfigMap", inputs).id == "default/a"


def test_whoever_waits_gives_up_when_the_process_ends(kubernetes: FakeEngine) -> None:
    kubernetes.servicer.stop()
    with pytest.raises(Refused, match="Cancelled while waiting for the API server"):
        kubernetes.created("kubernetes:karpenter.sh/v1:NodePool", {"metadata": {"name": "a"}})


def test_what_an_engine_waits_for_ends_when_it_is_killed(kubernetes: FakeEngine) -> None:
    kubernetes.context.is_gone = True
    with pytest.raises(Refused, match="Cancelled while waiting for the API server"):
        kubernetes.created("kubernetes:karpenter.sh/v1:NodePool", {"metadata": {"name": "a"}})


def test_a_name_can_be_proposed_or_demanded(aws: FakeEngine) -> None:
    options = provider_pb2.CheckRequest.AutonamingOptions
    request = provider_pb2.CheckRequest(
        urn=urn(BUCKET), autonaming=options(proposed_name="proposed", mode=options.PROPOSE)
    )
    answer = aws.servicer.Check(request, aws.context)
    assert decode(answer.inputs)["bucket"] == "proposed"
    request.autonaming.CopyFrom(options(mode=options.DISABLE))
    with pytest.raises(Refused, match=r"has no bucket, and pulumi:autonaming is off: give it one"):
        aws.servicer.Check(request, aws.context)


def test_secrets_stay_secret_on_their_way_through(aws: FakeEngine) -> None:
    made = aws.created(BUCKET, {"bucket": "boot-data", "tags": {"owner": Secret("me")}})
    assert made.inputs["tags"] == {"owner": Secret("me")}
    assert made.outputs["tags"] == {"owner": Secret("me")}
    assert decode(encode(made.outputs)) == made.outputs


def test_a_moved_secret_is_still_no_change(aws: FakeEngine) -> None:
    made = aws.created(BUCKET, {"bucket": "boot-data", "tags": {"owner": Secret("me")}})
    bare = replace(made, inputs={**made.inputs, "tags": {"owner": "me"}})
    assert not aws.diff(bare, {"bucket": "boot-data", "tags": {"owner": Secret("me")}}).diffs
