"""What a waiting gang gets: a buffer that asks, one that keeps, or a reason."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from components.platform.volcano import affinity
from settings.names import GANG_BUFFER, GPU, POOL_LABEL
from workloads.controllers.gang_buffer import buffer, shape
from workloads.controllers.gang_buffer.decision import NOTHING, Decision, decide
from workloads.controllers.gang_buffer.gang import SAYS, SINCE, Gang
from workloads.controllers.gang_buffer.place import Place
from workloads.controllers.gang_buffer.shape import Shape, amount
from workloads.controllers.gang_buffer.world import World

NOW = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)
POOLS = ("dgx", "burst")
MACHINE = shape.of({"cpu": "176", "memory": "1900Gi", GPU: "8"})
TRIED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def pod(
    name: str = "a",
    *,
    node: str = "",
    gpus: int = 8,
    tried: datetime | None = NOW,
    asks: Mapping[str, str] | None = None,
    **spec: object,
) -> dict[str, Any]:
    requests = {"cpu": "16", "memory": "64Gi", GPU: str(gpus), **(asks or {})}
    work = {"containers": [{"name": "train", "resources": {"requests": requests}}], **spec}
    times = [{**TRIED, "lastTransitionTime": f"{tried:%Y-%m-%dT%H:%M:%SZ}"}] if tried else []
    metadata, status = {"name": name}, {"phase": "Pending", "conditions": times}
    return {"metadata": metadata, "spec": {**work, "nodeName": node}, "status": status}


def ended(name: str, phase: str) -> dict[str, Any]:
    return {**pod(name, node=f"dgx-{name}"), "status": {"phase": phase}}


def gang(
    *pods: dict[str, Any], least: int | None = None, notes: dict[str, str] | None = None
) -> Gang:
    metadata = {"name": "g", "namespace": "q", "uid": "u", "annotations": notes or {}}
    spec = {"minMember": len(pods) if least is None else least}
    return Gang(group={"metadata": metadata, "spec": spec}, pods=pods)


def since(minutes: int) -> dict[str, str]:
    return {SINCE: (NOW - timedelta(minutes=minutes)).isoformat(), SAYS: "asked"}


def world(
    owned: int = 0,
    coming: int = 0,
    rentable: int = 64,
    machine: Place | None = None,
    offer: Place | None = None,
) -> World:
    whole = Place(room=MACHINE)
    free = {"dgx": [machine or whole] * owned, "burst": [whole] * coming}
    names = {"dgx": [f"dgx-{n}" for n in range(owned)], "burst": [f"b-{n}" for n in range(coming)]}
    return World(
        offers={"burst": [offer or whole]},
        free=free,
        names=names,
        rentable={"burst": float(rentable)},
    )


def decided(waiting: Gang, there: World) -> Decision:
    return decide(waiting, there, pools=POOLS, give_back=HALF_HOUR, now=NOW)


THREE = [pod(name) for name in "abc"]


def test_a_gang_that_lacks_machines_asks_and_remembers_since_when() -> None:
    got = decided(gang(*THREE), world(owned=1))
    assert got == Decision(
        asks=True, says="Machines are asked for: 2 of its 3 pods lack one.", since=NOW
    )


def test_once_the_machines_are_on_their_way_the_buffer_only_keeps_them() -> None:
    got = decided(gang(*THREE, notes=since(1)), world(owned=1, coming=2))
    assert (got.asks, got.keeps) == (False, ("b-0", "b-1", "dgx-0"))


@pytest.mark.parametrize(
    "waiting",
    [
        gang(*THREE[:2], least=3),
        gang(*(pod(name, tried=None) for name in "abc")),
        gang(*(pod(name, node="dgx-0") for name in "abc")),
    ],
    ids=["not all pods are there", "Volcano has not tried it", "it runs"],
)
def test_a_gang_that_does_not_wait_gets_nothing(waiting: Gang) -> None:
    assert decided(waiting, world()) == NOTHING


def test_a_gang_that_fits_what_is_idle_gets_nothing() -> None:
    assert decided(gang(*THREE), world(owned=3)) == NOTHING


def test_only_the_pods_without_a_machine_are_asked_for() -> None:
    waiting = gang(pod("a", node="dgx-0"), pod("b"), pod("c"))
    assert "2 of its 2 pods" in decided(waiting, world()).says


def test_two_gangs_do_not_count_on_the_same_machine() -> None:
    there = world(owned=3)
    assert decided(gang(*THREE), there) == NOTHING
    assert decided(gang(pod("d")), there).asks


@pytest.mark.parametrize(
    "first",
    [
        gang(*THREE[:2], pod("wide", gpus=16)),
        gang(*THREE, pod("d"), pod("e")),
        gang(*THREE[:2], notes=since(40)),
    ],
    ids=["no machine has it", "more than the limits", "it gives back what came"],
)
def test_a_gang_that_gets_nothing_leaves_its_room_to_those_behind_it(first: Gang) -> None:
    there = world(owned=2, rentable=16)
    assert decided(first, there).is_refusal
    assert decided(gang(pod("x"), pod("y")), there) == NOTHING


def test_what_an_asking_gang_has_room_for_is_not_offered_to_the_next() -> None:
    there = world(owned=1)
    assert "1 of its 2 pods" in decided(gang(*THREE[:2]), there).says
    assert "1 of its 1 pods" in decided(gang(pod("x")), there).says


@pytest.mark.parametrize("name", ["vpc.amazonaws.com/efa", "rdma/rails", "hugepages-1Gi"])
def test_room_is_judged_by_every_resource(name: str) -> None:
    def asks(amount: str) -> Gang:
        return gang(pod(asks={name: amount}))

    has = Place(room=MACHINE + Shape(amounts={name: 8.0}))
    assert decided(asks("8"), world(owned=1, machine=has)) == NOTHING
    assert decided(asks("9"), world(owned=1, machine=has)).is_refusal
    assert decided(asks("8"), world(owned=1, offer=has)).asks
    got = decided(asks("8"), world(owned=1))
    assert got.is_refusal
    assert name in got.says


def test_room_for_files_is_no_reason_against_a_machine_to_rent() -> None:
    assert decided(gang(pod(asks={"ephemeral-storage": "100Gi"})), world()).asks


TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
SPOT = {"karpenter.sh/capacity-type": ("spot",)}


@pytest.mark.parametrize(
    ("spec", "machine", "fits"),
    [
        ({"nodeSelector": {"a": "b"}}, Place(room=MACHINE), False),
        ({"nodeSelector": {"a": "b"}}, Place(room=MACHINE, labels={"a": ("b",)}), True),
        ({}, Place(room=MACHINE, taints=[TAINT]), False),
        ({}, Place(room=MACHINE, taints=[{**TAINT, "effect": "PreferNoSchedule"}]), True),
        (
            {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
            Place(room=MACHINE, taints=[TAINT]),
            True,
        ),
        (
            {"tolerations": [{"key": "nvidia.com/gpu", "value": "other"}]},
            Place(room=MACHINE, taints=[TAINT]),
            False,
        ),
    ],
)
def test_a_machine_that_a_pod_may_not_use_is_no_room(
    spec: dict[str, Any], machine: Place, fits: bool
) -> None:
    got = decided(gang(pod(**spec)), world(owned=1, machine=machine))
    assert (got == NOTHING) is fits


@pytest.mark.parametrize(
    ("selector", "rents"),
    [
        ({"karpenter.sh/capacity-type": "spot"}, True),
        ({"karpenter.sh/capacity-type": "reserved"}, False),
        ({"topology.kubernetes.io/zone": "us-east-1a"}, True),
        ({"kubernetes.io/hostname": "mine"}, False),
        ({"desk": "rates"}, False),
    ],
)
def test_no_machine_is_asked_for_that_a_pod_may_not_use(
    selector: dict[str, str], rents: bool
) -> None:
    offer = Place(room=MACHINE, labels=SPOT, is_there=False)
    got = decided(gang(pod(nodeSelector=selector)), world(offer=offer))
    assert got.asks is rents
    assert rents or "allow no machine of burst to rent" in got.says


def test_a_gang_that_has_room_and_is_not_started_is_told_so_after_some_minutes() -> None:
    def waits(minutes: int) -> Decision:
        tried = NOW - timedelta(minutes=minutes)
        return decided(gang(pod("a", tried=tried), pod("b", tried=tried)), world(owned=2))

    assert waits(4) == NOTHING
    assert "Volcano has not started it" in waits(5).says
    assert (waits(5).reason, waits(5).asks, waits(5).keeps) == ("NotStarted", False, ())


def test_a_member_that_failed_is_none_and_one_that_succeeded_counts() -> None:
    two = [ended("a", "Failed"), ended("b", "Succeeded")]
    assert decided(gang(*two, pod("c"), least=3), world()) == NOTHING
    assert "2 of its 2 pods" in decided(gang(*two, pod("c"), pod("d"), least=3), world()).says


def test_what_no_machine_has_is_refused_with_what_they_have() -> None:
    got = decided(gang(pod(gpus=16)), world())
    assert got.is_refusal
    assert got.says.startswith("A pod asks for 16 GPUs, 16 CPUs and 64 GiB, which no machine")


def test_parts_of_gpus_are_refused_by_name() -> None:
    part = pod(gpus=0)
    part["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/mig-1g.18gb"] = "1"
    got = decided(gang(part), world())
    assert "nvidia.com/mig-1g.18gb" in got.says


def test_more_than_the_limits_leave_is_refused_and_nothing_is_asked_for() -> None:
    got = decided(gang(*THREE), world(rentable=16))
    assert got.is_refusal
    assert "8 GPUs more than the gpu_limits of burst leave" in got.says


def test_the_limits_are_shared_by_the_gangs_that_wait() -> None:
    there = world(rentable=24)
    assert decided(gang(*THREE[:2]), there).asks
    assert decided(gang(*THREE[:2]), there).is_refusal


@pytest.mark.parametrize("coming", [0, 1, 3])
def test_after_the_set_time_nothing_is_asked_for_or_kept(coming: int) -> None:
    got = decided(gang(*THREE, notes=since(30)), world(coming=coming))
    assert (got.asks, got.keeps, got.is_refusal) == (False, (), True)
    assert "given back, and asked for again at 12:30 UTC" in got.says


def test_after_twice_the_time_it_tries_anew() -> None:
    assert decided(gang(*THREE, notes=since(60)), world()).since == NOW


@pytest.mark.parametrize("text", ["soon", "2026-11-24T03:00:00", "9999-12-31T23:59:00+00:00", ""])
def test_a_time_that_a_user_wrote_and_that_is_none_counts_as_none(text: str) -> None:
    assert decided(gang(*THREE, notes={SINCE: text}), world()).since == NOW


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e3", 1000), ("2E2", 200), ("100u", 1e-4), ("5n", 5e-9), ("1E", 1e18), ("2Gi", 2**31)],
)
def test_amounts_are_read_as_kubernetes_writes_them(text: str, number: float) -> None:
    assert amount(text) == pytest.approx(number)


def test_small_pods_share_a_machine() -> None:
    eight = [shape.of({"cpu": "16", "memory": "1", GPU: "1"})] * 9
    assert shape.machines(eight, MACHINE) == 2


def test_a_pod_needs_what_runs_at_once_or_its_largest_start() -> None:
    def asks(cpu: str, **more: object) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    beside = asks("500m", restartPolicy="Always")
    spec = {"containers": [asks("2")], "initContainers": [asks("4"), beside]}
    assert shape.of_pod(spec).amounts["cpu"] == 4
    assert shape.of_pod({**spec, "initContainers": [beside]}).amounts["cpu"] == 2.5


def test_there_is_a_buffer_for_each_shape_and_the_gang_owns_it() -> None:
    pairs = buffer.manifests(gang(pod("a"), pod("b"), pod("c", gpus=4)), POOLS, ())
    assert [each["spec"]["replicas"] for _, each in pairs] == [2, 1]
    for template, each in pairs:
        assert each["spec"]["podTemplateRef"] == {"name": template["metadata"]["name"]}
        (owner,) = each["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("PodGroup", "u")


def test_pods_that_differ_by_what_they_run_alone_are_one_shape_and_no_secret_is_copied() -> None:
    members = []
    for number, found in enumerate(THREE):
        (work,) = found["spec"]["containers"]
        program = {"command": ["sh"], "args": [str(number)], "envFrom": [{"secretRef": {}}]}
        env = [{"name": "RANK", "value": str(number)}, {"name": "TOKEN", "value": "s3cret"}]
        work = {**work, **program, "env": env}
        members.append({**found, "spec": {"containers": [work], "initContainers": [work]}})
    ((template, each),) = buffer.manifests(gang(*members), POOLS, ())
    assert each["spec"]["replicas"] == 3
    assert "s3cret" not in str(template)
    assert "secretRef" not in str(template)


def test_what_is_kept_is_named_so_that_no_new_machine_is_meant() -> None:
    ((template, _),) = buffer.manifests(gang(pod()), POOLS, ("dgx-0",))
    required = template["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert {each["key"]: each["values"] for each in term["matchExpressions"]} == {
        "fleet.gpu/pool": ["dgx", "burst"],
        "kubernetes.io/hostname": ["dgx-0"],
    }


def test_the_first_term_of_a_pods_affinity_excludes_karpenters_machines() -> None:
    required = affinity(POOLS)["nodeAffinity"]
    assert isinstance(required, dict)
    first, second = required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    keys = [[each["key"] for each in term["matchExpressions"]] for term in (first, second)]
    assert keys == [["karpenter.sh/nodepool", POOL_LABEL], [POOL_LABEL]]


def test_it_has_one_name_everywhere() -> None:
    assert buffer.MANAGER == GANG_BUFFER
