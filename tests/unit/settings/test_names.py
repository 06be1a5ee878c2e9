"""The labels and tags of the fleet's objects."""

from settings.names import labels, tags


def test_labels_leave_out_what_does_not_apply() -> None:
    assert labels(site="fra", numa_plan="2956bf8b") == {
        "fleet.gpu/site": "fra",
        "fleet.gpu/numa-plan": "2956bf8b",
    }


def test_tags_name_the_cluster_besides() -> None:
    assert tags("fleet-dev", {"fleet.gpu/pool": "cpu"}) == {
        "fleet.gpu/cluster": "fleet-dev",
        "fleet.gpu/pool": "cpu",
    }
