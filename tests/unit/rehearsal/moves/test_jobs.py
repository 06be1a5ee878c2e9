"""The jobs that run while a change is rehearsed."""

from dataclasses import replace

from hardware.catalogue import load
from ignition.boot.node import BootedNode
from rehearsal.moves.jobs import filling, of_smoke_set
from rehearsal.nodes import ClusterNode, RequestedMachine
from settings import load as load_settings
from settings import parse, stack_file
from settings.gpu_sharing import GpuSharing
from tests.conftest import ROOT
from tests.support.stack_settings import config, with_value


def node(name: str, pool: str, hardware: str) -> ClusterNode:
    machine = RequestedMachine(
        name=name, pool=pool, site="", hardware=hardware, ignition="", provider_id=name
    )
    booted = BootedNode.__new__(BootedNode)  # nothing of it is read
    return ClusterNode(machine=machine, hardware=load(hardware), booted=booted)


NODES = [node("dgx-01", "dgx", "dgx-h200"), node("cpu-1", "cpu", "ccx33")]


def test_each_machine_with_whole_gpus_is_held_by_one_job() -> None:
    settings = parse("dev", config())
    (held,) = filling(settings, NODES)
    assert (held.name, held.hours) == ("default/dgx-holds-1", 12.0)
    template = held.manifest["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert template["spec"]["nodeSelector"] == {"fleet.gpu/pool": "dgx"}


def test_a_pool_that_admits_no_pod_of_all_gpus_is_held_by_smaller_ones() -> None:
    policy = with_value("pools.dgx.tuning", {"largest_pod_gpus": 4})
    held = list(filling(parse("dev", policy), NODES))
    gpus = [
        each.manifest["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        for each in held
    ]
    assert [each["nvidia.com/gpu"] for each in gpus] == ["4", "4"]


def test_a_pool_whose_gpus_are_shared_is_held_by_nothing() -> None:
    dgx = parse("dev", config()).pools["dgx"]
    sharing = GpuSharing(mode="mig", mig_layout={"1g.18gb": 7}, replicas=None)
    settings = replace(parse("dev", config()), pools={"dgx": replace(dgx, sharing=sharing)})
    assert list(filling(settings, NODES)) == []


def test_the_default_jobs_are_the_smoke_set_that_may_run_and_does_not_end() -> None:
    jobs = of_smoke_set(load_settings(stack_file(ROOT, "dev")))
    assert {job.name for job in jobs} == {
        "research/smoke-one-gpu",
        "research/smoke-gang-owned",
        "research-burst/smoke-gang-rented",
    }
    gangs = [job for job in jobs if job.is_gang]
    assert {job.needs for job in gangs} == {2}
    for gang in gangs:
        (task,) = gang.manifest["spec"]["tasks"]
        assert task["template"]["metadata"]["annotations"]["fleet.gpu/runs-for"] == "24h"


def test_the_size_of_a_job_is_that_of_its_largest_pod() -> None:
    sizes = {
        job.name: job.gpus_of_a_pod for job in of_smoke_set(load_settings(stack_file(ROOT, "dev")))
    }
    assert sizes == {
        "research/smoke-one-gpu": 1,
        "research/smoke-gang-owned": 4,
        "research-burst/smoke-gang-rented": 8,
    }
