"""An environment whose rented machines speak EFA, under the real engine."""

from collections.abc import Callable
from typing import Any

from tests.engine.conftest import Change, Trial
from tests.support.stack_settings import EFA


def test_the_parts_of_efa_are_made_and_the_class_selects_them(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    def with_efa(config: dict[str, Any]) -> None:
        del config["gpu-fleet:lakefs"]  # which is no part of this
        config["gpu-fleet:versions"]["efa"] = EFA
        config["gpu-fleet:sites"]["us-east-1"]["vpc"] = "vpc-0a1b2c3d4e5f60718"

    trial = twin_of_dev(with_efa)
    trial.up()

    made = {each["urn"].rsplit("::", 1)[-1]: each for each in trial.state()}
    spec = made["burst-class"]["inputs"]["spec"]
    selected = {each["name"] for each in spec["securityGroupSelectorTerms"] if "name" in each}
    assert selected == {made["burst-fabric-group"]["outputs"]["name"]}
    group = made["burst-fabric-placement"]["outputs"]
    assert group["strategy"] == "cluster"
    assert spec["placementGroupSelector"] == {"name": group["name"]}
    assert "rdma-efa" in made
