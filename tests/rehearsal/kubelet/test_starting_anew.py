"""A kubelet that starts without its managers' files sends its pods through admission again."""

import shutil
import time
from datetime import datetime
from typing import Any

from rehearsal.kubelet import ADMITTED
from rehearsal.nodes import MERGE, NODES
from tests.support.rehearsal.kubelets import PODS, Kubelets, cpus, wait

GPU = "nvidia.com/gpu"


def pod(kubelets: Kubelets, name: str) -> dict[str, Any]:
    return dict(kubelets.api.get(f"{PODS}/{name}") or {})


def next_second(kubelets: Kubelets, name: str) -> None:
    """Wait until a pod that is made now is younger in the words of the API."""
    made = datetime.fromisoformat(pod(kubelets, name)["metadata"]["creationTimestamp"]).timestamp()
    wait(lambda: time.time() >= made + 1, "the second passes")


def test_pods_hold_again_what_they_are_given_under_another_configuration(
    kubelets: Kubelets,
) -> None:
    node = kubelets.node("dgx-h200")
    for name in ("a", "b"):
        kubelets.bind(name, node, cpu="8", **{GPU: "4"})
        kubelets.runs(name)
    kubelets.configure(node, {"podPidsLimit": 4096})
    kubelets.bind("c", node, cpu="8", **{GPU: "1"})

    reason, message = kubelets.refusal("c")
    assert reason == "UnexpectedAdmissionError"
    assert f"unavailable for {GPU}. Requested: 1, Available: 0" in message
    first, second = kubelets.runs("a"), kubelets.runs("b")
    assert len({*first["devices"][GPU], *second["devices"][GPU]}) == 8


def test_the_youngest_pod_fails_where_fewer_fit_now(kubelets: Kubelets) -> None:
    node = kubelets.node("gex44")
    kubelets.bind("z", node, cpu="8")
    held = cpus(kubelets.runs("z")["cpus"])
    next_second(kubelets, "z")
    kubelets.bind("a", node, cpu="6")
    kubelets.runs("a")
    kubelets.configure(node, {"reservedSystemCPUs": "0-3,16-19"})

    kubelets.until("a", lambda found: found["status"]["phase"] == "Failed")
    reason, message = kubelets.refusal("a")
    assert reason == "UnexpectedAdmissionError"
    assert "not enough cpus available to satisfy request: requested=6" in message
    reserved = {*range(4), *range(16, 20)}
    assert held & reserved
    assert not cpus(kubelets.runs("z")["cpus"]) & reserved


def test_a_running_pod_that_is_refused_is_left_with_nothing_but_the_failure(
    kubelets: Kubelets,
) -> None:
    node = kubelets.node("gex44")
    kubelets.bind("a", node, cpu="14")
    kubelets.runs("a")
    since = pod(kubelets, "a")["status"]["startTime"]
    kubelets.configure(node, {"reservedSystemCPUs": "0-7"})

    left = kubelets.until("a", lambda found: found["status"]["phase"] == "Failed")
    assert left["status"].pop("message")
    assert left["status"].pop("observedGeneration", 1) == 1
    assert left["status"] == {
        "phase": "Failed",
        "reason": "UnexpectedAdmissionError",
        "qosClass": "Guaranteed",
        "startTime": since,
    }
    assert ADMITTED not in left["metadata"].get("annotations", {})


def test_pods_run_on_unasked_where_the_files_are_there(kubelets: Kubelets) -> None:
    node = kubelets.node("gex44")
    for text in ("here", None):
        label = {"metadata": {"labels": {"fleet.gpu/place": text}}}
        kubelets.api.request("PATCH", f"{NODES}/{node}", label, headers=MERGE)
        if text:
            kubelets.create("a", node, {}, nodeSelector={"fleet.gpu/place": text})
            kubelets.runs("a")
    kubelets.restart()
    kubelets.create("b", node, {}, nodeSelector={"fleet.gpu/place": "here"})

    assert kubelets.refusal("b")[0] == "NodeAffinity"
    assert kubelets.runs("a") == {}, "it was not asked for again"


def test_a_wiped_machine_gives_anew_what_a_machine_that_was_off_kept(kubelets: Kubelets) -> None:
    node = kubelets.node("gex44")
    for name in ("a", "b"):
        kubelets.bind(name, node, cpu="4")
    before, taken = kubelets.runs("a"), kubelets.runs("b")
    assert before != taken
    kubelets.delete("a")

    kubelets.power(node, on=False)
    kubelets.power(node, on=True)
    kubelets.bind("c", node, cpu="4")
    assert kubelets.runs("c") == before, "b has kept its CPUs"
    kubelets.delete("c")

    kubelets.power(node, on=False)
    shutil.rmtree(kubelets.directory / "kubelets" / node)
    kubelets.power(node, on=True)
    kubelets.until("b", lambda _: kubelets.given("b") == before)
    kubelets.bind("d", node, cpu="4")
    assert kubelets.runs("d") == taken
