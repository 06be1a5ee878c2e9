"""Names as the exporters spell them."""

from pathlib import Path

import pytest

from components.platform.monitoring import promql


@pytest.mark.parametrize(
    ("resource", "spelled"),
    [
        ("nvidia.com/gpu", "nvidia_com_gpu"),
        ("nvidia.com/gpu.shared", "nvidia_com_gpu_shared"),
        ("nvidia.com/mig-1g.18gb", "nvidia_com_mig_1g_18gb"),
        ("nvidia.com/mig-1g.18gb.me", "nvidia_com_mig_1g_18gb_me"),
    ],
)
def test_a_resource_is_spelled_as_kube_state_metrics_spells_it(resource: str, spelled: str) -> None:
    assert promql.sanitised(resource) == spelled


def test_a_label_is_spelled_as_kube_state_metrics_spells_it() -> None:
    assert promql.shown("fleet.gpu/cost-centre") == "label_fleet_gpu_cost_centre"
    assert promql.shown("fleet.gpu/branch") == "label_fleet_gpu_branch"
    assert promql.shown("karpenter.sh/nodePool") == "label_karpenter_sh_node_pool"


def test_a_gpu_that_nobody_holds_must_not_seem_held_by_its_exporter() -> None:
    assert promql.HONOR_LABELS is False
    assert promql.WORKLOAD == {"namespace": "exported_namespace", "pod": "exported_pod"}


def test_the_choice_of_labels_is_made_in_one_file() -> None:
    files = Path(promql.__file__).parent.glob("*.py")
    assert [path.name for path in files if "exported_" in path.read_text()] == ["promql.py"]
