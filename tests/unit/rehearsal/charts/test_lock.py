"""The lock file of images: what it holds, and what is said of a difference."""

from pathlib import Path

import pytest

from rehearsal.charts import lock
from rehearsal.charts.results import Charts, RenderedChart
from rehearsal.errors import RehearsalError
from rehearsal.report import Chart, Report

ONE = f"sha256:{'1' * 64}"
TWO = f"sha256:{'2' * 64}"


def chart(*images: str, version: str = "1.0.0") -> RenderedChart:
    return RenderedChart(name="a", chart="ours", version=version, source="here", images=images)


def report(*charts: RenderedChart, left: tuple[Chart, ...] = ()) -> Report:
    return Report(environment="dev", charts=Charts(rendered=charts), charts_not_rehearsed=left)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "stacks").mkdir()
    return tmp_path


def test_an_image_has_the_digest_that_its_chart_names_and_no_other(root: Path) -> None:
    file = lock.write(root, report(chart(f"a.example/x:1@{ONE}", "a.example/y:1")))

    assert lock.read(file) == {"ours 1.0.0": {"a.example/x:1": ONE, "a.example/y:1": None}}


def test_a_lock_that_was_just_written_differs_in_nothing(root: Path) -> None:
    found = chart(f"a.example/x:1@{ONE}", "a.example/y:1")

    assert lock.differences([found], lock.read(lock.write(root, report(found)))) == []


def test_every_difference_is_told(root: Path) -> None:
    before = chart(f"a.example/x:1@{ONE}", "a.example/y:1")
    known = lock.read(lock.write(root, report(before)))

    after = chart(f"a.example/x:1@{TWO}", "a.example/z:1")
    newer = chart("a.example/y:1", version="2.0.0")

    assert lock.differences([after, newer], known) == [
        f"ours 1.0.0: a.example/x:1 is {TWO}, and {ONE} in the lock.",
        "ours 1.0.0: a.example/z:1 is not in the lock of images.",
        "ours 1.0.0: a.example/y:1 is in the lock of images, and the chart has it no more.",
        "ours 2.0.0 is not in the lock of images.",
    ]


def test_without_a_lock_nothing_is_said(root: Path) -> None:
    assert lock.read(lock.path(root, "dev")) == {}
    assert lock.differences([chart("a.example/x:1")], {}) == []


def test_a_digest_that_was_filled_in_stays_and_is_no_difference(root: Path) -> None:
    file = lock.write(root, report(chart("a.example/x:1")))
    file.write_text(file.read_text().replace("x:1: null", f"x:1: {ONE}"))

    assert lock.differences([chart("a.example/x:1")], lock.read(file)) == []
    lock.write(root, report(chart("a.example/x:1")))
    assert lock.read(file) == {"ours 1.0.0": {"a.example/x:1": ONE}}


def test_a_chart_that_nobody_could_render_keeps_its_entry_and_one_that_is_gone_does_not(
    root: Path,
) -> None:
    gone = RenderedChart(
        name="b", chart="gone", version="1", source="here", images=("a.example/b:1",)
    )
    lock.write(root, report(chart("a.example/x:1"), gone))
    left = Chart(name="a", chart="oci://a.example/ours", version="1.0.0", kinds_installed=False)

    file = lock.write(root, report(left=(left,)))

    assert lock.read(file) == {"ours 1.0.0": {"a.example/x:1": None}}


@pytest.mark.parametrize("text", ["- a\n", "ours: [a]\n", "a: {\n"])
def test_a_file_of_another_form_is_refused(root: Path, text: str) -> None:
    file = lock.path(root, "dev")
    file.write_text(text)

    with pytest.raises(RehearsalError, match=r"images\.dev\.yaml is no lock of images"):
        lock.read(file)


@pytest.mark.parametrize("digest", ["notadigest", "3", "[1, 2]", "sha256:12"])
def test_what_is_no_digest_is_refused_with_its_image(root: Path, digest: str) -> None:
    file = lock.path(root, "dev")
    file.write_text(f"ours 1.0.0:\n  a.example/x:1: {digest}\n")

    told = r"The digest of a\.example/x:1 is .+; allowed: sha256: with 64 digits, or null\."
    with pytest.raises(RehearsalError, match=told):
        lock.read(file)


def test_a_rehearsal_that_did_not_come_to_its_charts_leaves_the_file_alone(root: Path) -> None:
    file = lock.write(root, report(chart(f"a.example/x:1@{ONE}")))
    before = file.read_text()

    with pytest.raises(RehearsalError, match="ended before its charts"):
        lock.write(root, report())

    assert file.read_text() == before
