"""The smoke set of research, which shares GPUs and whose API server warns and refuses nothing.

And that of dev with a queue whose gangs may span pools, which no stack file here has.
"""

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


@pytest.mark.slow
def test_a_gang_runs_on_all_owned_machines_and_on_one_that_is_rented_for_it(
    checkout: Checkout,
) -> None:
    file = checkout.stack_file("dev")
    queue = "        interactive: {weight: 1, gpus: 8}\n"
    both = "        research-both: {weight: 1, gpus: 24, pools: [dgx, burst]}\n"
    file.write_text(file.read_text().replace(queue, queue + both))

    ended = checkout.run("rehearse", "dev", "--json", deadline_s=600)

    assert ended.code == 0, ended.stderr
    smoke = ended.report["smoke"]
    *_, gang = smoke["runs"]
    assert (gang["kind"], gang["outcome"]) == ("gang that spans", "ended")
    *owned, rented = gang["nodes"]
    assert owned == ["dev-dgx-01", "dev-dgx-02"]
    assert rented.endswith(".ec2.internal")
    assert (len(smoke["machines"]), smoke["rounds"]) == (3, 2), "two are of the gang that rents"
    assert checkout.left_running("dev") == []
