"""The smoke set of research, which shares GPUs and whose API server warns and refuses nothing."""

import pytest

from tests.rehearsal.conftest import Checkout


@pytest.mark.slow
def test_pods_get_an_instance_of_mig_and_a_time_slice_and_kubelet_refuses_half_a_core(
    checkout: Checkout,
) -> None:
    ended = checkout.run("rehearse", "research", "--json", deadline_s=600)

    assert ended.code == 0, ended.stderr
    runs = {run["name"]: run for run in ended.report["smoke"]["runs"]}
    for sharing, node in (("mig", "research-dgx-07"), ("time-slicing", "research-dgx-08")):
        run = runs[f"interactive/smoke-slice-{sharing}"]
        assert (run["outcome"], run["nodes"]) == ("ended", [node])
    refused = runs["alpha/smoke-refused"]
    assert refused["outcome"] == "refused"
    assert refused["said"].startswith("by kubelet on research-dgx-0")
    assert "SMTAlignmentError" in refused["said"]
    assert ended.report["smoke"]["left_out"] == {}
    assert checkout.left_running("research") == []
