"""Karpenter's environment variables, from the values of its Release."""

from rehearsal.karpenter.chart_values import variables
from tests.support.environments import resources


def test_the_program_s_values_become_the_variables_of_the_container() -> None:
    (release,) = (each for each in resources("dev") if each.inputs.get("name") == "karpenter")
    values = release.inputs["values"]
    assert isinstance(values, dict)

    assert variables(values, "kube-system") == {
        "SYSTEM_NAMESPACE": "kube-system",
        "KARPENTER_SERVICE": "karpenter",
        "CLUSTER_NAME": "fleet-dev",
        "CLUSTER_ENDPOINT": "https://api.dev.fleet.example:6443",
        "EKS_CONTROL_PLANE": "false",
        "VM_MEMORY_OVERHEAD_PERCENT": "0.025",
        "INTERRUPTION_QUEUE": "fleet-dev-interruptions",
        "CPU_REQUESTS": "500",
        "MEMORY_LIMIT": str(1 << 30),
        "AWS_REGION": "us-east-1",
    }


def test_feature_gates_are_one_variable() -> None:
    gates = {"capacityBuffer": True, "reservedCapacity": False}

    found = variables({"settings": {"featureGates": gates}}, "kube-system")

    assert found["FEATURE_GATES"] == "CapacityBuffer=true,ReservedCapacity=false"
