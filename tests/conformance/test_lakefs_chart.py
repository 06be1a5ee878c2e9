"""What this program gives to the chart of lakeFS, against the values that the chart has."""

from pathlib import Path

import pytest
import yaml

from components.platform.lakefs.values import S3, DynamoDbTable, Ingress, Serving, chart_values
from settings.versions import LAKEFS, LAKEFS_IMAGE_TAG
from tests.conformance.upstream import chart, unknown_keys

# maps whose keys the user of the chart makes up
FREE_FORM = {"podAnnotations", "resources", "nodeSelector", "ingress.annotations"}


def given(database: DynamoDbTable | None) -> dict[str, object]:
    ingress = Ingress(host="lakefs.fleet.example", class_name="cilium", tls_secret="lakefs-tls")
    serving = Serving(node_selector={"fleet.gpu/site": "hel1"}, ingress=ingress)
    return {
        **chart_values("lakefs", database, S3(region="us-east-1"), serving),
        "podAnnotations": {"fleet.gpu/secret": "0"},
    }


@pytest.mark.parametrize("database", [None, DynamoDbTable(table="t", region="us-east-1")])
def test_every_value_that_is_set_is_one_of_the_chart(
    shared: Path, database: DynamoDbTable | None
) -> None:
    known = chart(shared, "lakefs")
    assert list(unknown_keys(given(database), known, FREE_FORM)) == []
    host, ours = known["ingress"]["hosts"][0], given(database)["ingress"]
    assert isinstance(ours, dict)
    assert ours["hosts"][0].keys() <= host.keys()


def test_the_comparison_finds_a_value_that_the_chart_does_not_have(shared: Path) -> None:
    known = chart(shared, "lakefs")
    wrong = {"replicas": 2, "image": {"tag": "1"}}
    assert list(unknown_keys(wrong, known, FREE_FORM)) == ["replicas", "image.tag"]


def test_the_versions_are_those_of_the_chart(shared: Path) -> None:
    described = chart(shared, "lakefs", "Chart.yaml")
    known = chart(shared, "lakefs")
    assert described["version"] == LAKEFS.version
    assert known["image"]["community"]["tag"] == LAKEFS_IMAGE_TAG


def test_no_default_that_loses_data_is_left_standing(shared: Path) -> None:
    known = chart(shared, "lakefs")
    assert yaml.safe_load(known["lakefsConfig"])["database"] == {"type": "local"}
    for database in (None, DynamoDbTable(table="t", region="us-east-1")):
        assert "local" not in str(given(database)["lakefsConfig"])
