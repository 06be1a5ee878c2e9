"""What this program gives to the chart of lakeFS, against the values that the chart has."""

import pytest
import yaml

from components.platform.lakefs.values import S3, DynamoDbTable, Ingress, Serving, chart_values
from settings.versions import LAKEFS, LAKEFS_IMAGE_TAG
from tests.support.chart_index import read, unknown_keys

CHART = read("lakefs")
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
def test_every_value_that_is_set_is_one_of_the_chart(database: DynamoDbTable | None) -> None:
    assert unknown_keys(given(database), CHART["keys"], FREE_FORM) == []
    (host,), ours = CHART["defaults"]["ingress.hosts"], given(database)["ingress"]
    assert isinstance(ours, dict)
    assert ours["hosts"][0].keys() <= host.keys()


def test_the_comparison_finds_a_value_that_the_chart_does_not_have() -> None:
    wrong = {"replicas": 2, "image": {"tag": "1"}}
    assert unknown_keys(wrong, CHART["keys"], FREE_FORM) == ["replicas", "image.tag"]


def test_the_versions_are_those_of_the_chart() -> None:
    assert CHART["version"] == LAKEFS.version
    assert CHART["defaults"]["image.community.tag"] == LAKEFS_IMAGE_TAG


def test_no_default_that_loses_data_is_left_standing() -> None:
    default = yaml.safe_load(CHART["defaults"]["lakefsConfig"])
    assert default["database"] == {"type": "local"}
    for database in (None, DynamoDbTable(table="t", region="us-east-1")):
        assert "local" not in str(given(database)["lakefsConfig"])
