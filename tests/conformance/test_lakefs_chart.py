"""What this program gives to the chart of lakeFS, against the values that the chart has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.platform.lakefs.values import S3, DynamoDbTable, Ingress, Serving, chart_values
from fleet.versions import LAKEFS, LAKEFS_IMAGE_TAG

# maps whose keys the user of the chart makes up
FREE_FORM = {"podAnnotations", "resources", "nodeSelector", "ingress.annotations"}


@pytest.fixture
def chart(shared: Path) -> Path:
    return shared / "schemas" / "charts" / "lakefs"


def given(database: DynamoDbTable | None) -> dict[str, object]:
    ingress = Ingress(host="lakefs.fleet.example", class_name="cilium", tls_secret="lakefs-tls")
    serving = Serving(node_selector={"fleet.gpu/site": "hel1"}, ingress=ingress)
    return {
        **chart_values("lakefs", database, S3(region="us-east-1"), serving),
        "podAnnotations": {"fleet.gpu/secret": "0"},
    }


def unknown(values: Mapping[str, Any], known: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The paths that we set and that the chart does not have."""
    found = []
    for key, value in values.items():
        path = f"{prefix}{key}"
        if key not in known:
            found.append(path)
        elif isinstance(value, Mapping) and path not in FREE_FORM:
            found += unknown(value, known[key] or {}, f"{path}.")
    return found


@pytest.mark.parametrize("database", [None, DynamoDbTable(table="t", region="us-east-1")])
def test_every_value_that_is_set_is_one_of_the_chart(
    chart: Path, database: DynamoDbTable | None
) -> None:
    known = yaml.safe_load((chart / "values.yaml").read_text())
    assert unknown(given(database), known) == []
    host, ours = known["ingress"]["hosts"][0], given(database)["ingress"]
    assert isinstance(ours, dict)
    assert ours["hosts"][0].keys() <= host.keys()


def test_the_comparison_finds_a_value_that_the_chart_does_not_have(chart: Path) -> None:
    known = yaml.safe_load((chart / "values.yaml").read_text())
    assert unknown({"replicas": 2, "image": {"tag": "1"}}, known) == ["replicas", "image.tag"]


def test_the_versions_are_those_of_the_chart(chart: Path) -> None:
    described = yaml.safe_load((chart / "Chart.yaml").read_text())
    known = yaml.safe_load((chart / "values.yaml").read_text())
    assert described["version"] == LAKEFS.version
    assert known["image"]["community"]["tag"] == LAKEFS_IMAGE_TAG


def test_no_default_that_loses_data_is_left_standing(chart: Path) -> None:
    known = yaml.safe_load((chart / "values.yaml").read_text())
    assert yaml.safe_load(known["lakefsConfig"])["database"] == {"type": "local"}
    for database in (None, DynamoDbTable(table="t", region="us-east-1")):
        assert "local" not in str(given(database)["lakefsConfig"])
