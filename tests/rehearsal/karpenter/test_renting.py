"""A pod that waits gets a machine, which boots from its user data."""

from tests.rehearsal.karpenter.conftest import Ground


def test_a_pod_that_waits_gets_a_machine_that_has_booted(ground: Ground) -> None:
    pod = ground.pod()

    ground.wait(lambda: ground.bound(pod), "the pod is bound to no node")

    (machine,) = ground.alive()
    assert machine.capacity == "reserved"
