"""What happens to resources between two versions, as an engine would tell."""

from functools import cache

from fleet.cost.settings_tried import environment_with
from fleet.diff.registered import steps_between
from fleet.preview.steps import Step
from fleet.validate.program import Program, program
from settings import stack_file
from settings.names import BARE_METAL_HOST, SERVER
from tests.conftest import ROOT

OLDER = "4593.2.4"
IMAGE = f"https://images.fleet.example/flatcar/{OLDER}/flatcar_production_openstack_image.img"


@cache
def registered(*tried: str) -> Program:
    return program(environment_with(stack_file(ROOT, "dev"), tried))


def steps(kind: str, *tried: str) -> list[Step]:
    found = steps_between(registered(), registered(*tried))
    return [step for step in found.values() if step.type == kind]


def test_the_image_of_an_owned_machine_is_left_to_its_reinstallation() -> None:
    tried = (f"versions.flatcar={OLDER}", f"pools.dgx.image.url={IMAGE}")
    hosts = steps(BARE_METAL_HOST, *tried)
    assert [step.op for step in hosts] == ["same", "same"]


def test_an_owned_machine_that_changes_is_updated_in_place() -> None:
    hosts = steps(BARE_METAL_HOST, "pools.dgx.purpose=batch")
    assert {step.op for step in hosts} == {"update"}


def test_servers_say_each_reason_for_which_they_are_replaced() -> None:
    tried = {
        (f"versions.flatcar={OLDER}", f"pools.dgx.image.url={IMAGE}"): ("image",),
        ("sites.hel1.location=nbg1",): ("location",),
        ("pools.cpu.tuning.housekeeping_cores_per_numa_node=2",): ("userData",),
        ("cluster.endpoint=other.fleet.example:6443",): ("userData",),
        ("pools.cpu.nodes=3",): (),
    }
    for changed, reasons in tried.items():
        assert {step.forcing for step in steps(SERVER, *changed)} == {reasons}, changed


def test_without_another_version_everything_is_created() -> None:
    found = steps_between(None, registered())
    assert {step.op for step in found.values()} == {"create"}
    assert not any(step.type.startswith("pulumi:providers:") for step in found.values())


def test_what_goes_is_deleted_with_what_it_was() -> None:
    found = steps_between(registered("pools.cpu.nodes=4"), registered())
    (gone,) = (step for step in found.values() if step.type == SERVER and step.op == "delete")
    assert (gone.new, gone.old and gone.old["name"]) == (None, "fleet-dev-cpu-4")
