"""`fleet check --sarif`: findings for code scanning, in a file or alone."""

import json
from pathlib import Path

import pytest

from tests.support.fleet_check import ID, LATE, run


@pytest.mark.parametrize("target", ["found.sarif", None])
def test_sarif_goes_to_a_file_or_alone_to_stdout(bad: str, target: str | None) -> None:
    result = run("-f", bad, "--sarif", *([target] if target else []))

    assert result.exit_code == 1
    found = json.loads(Path(target).read_text() if target else result.stdout)
    (one,) = [each for each in found["runs"][0]["results"] if each["ruleId"] == ID]
    place = one["locations"][0]["physicalLocation"]
    assert (one["level"], one["message"]["text"]) == ("error", LATE)
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("bad.yaml", 2)
    assert ("against dev" in result.stdout) is (target is not None)


def test_sarif_of_a_rendered_chart_names_its_template(bad: str) -> None:
    text = Path(bad).read_text().replace("---\n", "---\n# Source: c/templates/pool.yaml\n")

    found = json.loads(run("-", "--sarif", stdin=text).stdout)

    places = [each["locations"][0]["physicalLocation"] for each in found["runs"][0]["results"]]
    assert {each["artifactLocation"]["uri"] for each in places} == {"c/templates/pool.yaml"}


def test_sarif_of_what_could_not_all_be_read_says_so(bad: str) -> None:
    Path("broken.yaml").write_text("[\n")

    found = json.loads(run(bad, "broken.yaml", "--sarif").stdout)

    (told,) = found["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].startswith("broken.yaml:2: ")


def test_sarif_is_never_written_over_a_manifest(bad: str, good: str) -> None:
    before = Path(bad).read_text()

    result = run("--sarif", bad, good)

    assert result.exit_code == 2
    assert "--sarif would write over bad.yaml" in result.stderr
    assert Path(bad).read_text() == before


def test_sarif_that_cannot_be_written_is_refused(good: str) -> None:
    result = run(good, "--sarif", "no/such/folder.sarif")

    assert result.exit_code == 2
    assert "no/such/folder.sarif cannot be used" in result.stderr
