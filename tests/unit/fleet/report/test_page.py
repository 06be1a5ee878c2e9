"""The page of a report: whole, escaped, and without anything that a browser would fetch."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fleet.preview.markdown_parts import cell
from fleet.report.markdown import markdown
from fleet.report.page import page
from rehearsal.moves.result import MachineMove, Moves
from rehearsal.report import Report

RECORDED = Path(__file__).parents[2] / "rehearsal" / "recorded"
VOID = {"meta", "wbr"}
EVIL = "<script>alert('x')</script>"


class Page(HTMLParser):
    """The text of a page, its tags and addresses; every tag must be closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    @property
    def fetched(self) -> list[str]:
        """The addresses that are not places in the page itself."""
        own = {f"#{name}" for name in self.ids}
        return [address for address in self.addresses if address not in own]

    @property
    def text(self) -> str:
        return " ".join("".join(self.parts).split())


def recorded(name: str) -> Report:
    return Report.from_json((RECORDED / f"{name}.json").read_text())


@pytest.mark.parametrize("name", ["passed", "broken"])
def test_the_page_needs_nothing_but_itself(name: str) -> None:
    text = page(recorded(name), "Rehearsed.")
    found = Page(text)
    assert not {"script", "link", "img", "iframe"} & set(found.tags)
    assert "url(" not in text
    assert "@import" not in text
    assert all(address.startswith("https://") for address in found.fetched)


def test_the_page_has_each_broken_rule_with_its_keys_before_the_pools() -> None:
    report = recorded("broken")
    text = Page(page(report, "")).text
    assert report.broken
    pools = text.index("Pools Pools as the stack file plans them")
    for verdict in report.broken:
        assert all(str(finding.resource) in text for finding in verdict.findings)
        assert " ".join(verdict.findings[0].sentences) in text
        assert text.index(f"✗ {verdict.rule}") < pools
    assert text.index("gpu-fleet:pools.burst.consolidate_after_minutes") < pools


def test_a_refused_edit_of_a_kept_twin_leaves_it_as_it_was_in_every_form() -> None:
    report = replace(recorded("broken"), kept=True)
    said = "Pools as the stack file plans them; the twin stays as it was:"
    assert said in markdown(report, "")
    assert said in Page(page(report, "")).text
    assert "rules hold so far: the twin stays as it was" in markdown(report, "")


def test_the_page_has_every_pool_rule_and_chart() -> None:
    report = recorded("passed")
    text = Page(page(report, "Rehearsed on a day.")).text
    assert "Rehearsed on a day." in text
    names = [pool.name for pool in report.pools] + [each.rule for each in report.verdicts]
    assert [name for name in names if name not in text] == []
    assert all(chart.version in text for chart in report.charts_not_rehearsed)
    assert "919.68 per day of a budget of 3,000.00" in text


def test_the_page_draws_a_box_for_each_node() -> None:
    report = recorded("passed")
    text = page(report, "")
    assert len(re.findall('class="node up"', text)) == len(report.nodes)
    assert len(re.findall('class="node rented"', text)) == 2
    down = replace(report.pools[2], nodes_ready=1)
    text = page(replace(report, pools=(*report.pools[:2], down)), "")
    assert len(re.findall('class="node down"', text)) == 1


def test_a_budget_that_is_not_enough_is_a_full_red_bar() -> None:
    report = recorded("passed")
    assert report.cost
    text = page(replace(report, cost=replace(report.cost, budget_usd_per_day=100.0)), "")
    assert '<div class="over" style="width: 100%">' in text
    assert "919.7 % of the budget of a day." in text


def test_whatever_a_report_says_is_text() -> None:
    report = recorded("passed")
    verdict = replace(report.verdicts[0], sentence=EVIL, source="javascript:alert(1)")
    evil = replace(
        report,
        problems=(EVIL,),
        warnings=(EVIL,),
        passed=False,
        verdicts=(verdict, *report.verdicts[1:]),
        pools=(replace(report.pools[0], title=EVIL), *report.pools[1:]),
    )
    found = Page(page(evil, EVIL))
    assert "script" not in found.tags
    assert found.text.count(EVIL) >= 6
    assert all(address.startswith("https://") for address in found.fetched)


def test_what_stands_in_backticks_is_code_and_still_text() -> None:
    report = recorded("passed")
    told = replace(report, problems=(f"run `fleet {EVIL}`", "one ` alone"), passed=False)
    text = page(told, "")
    assert "run <code>fleet &lt;script&gt;" in text
    assert "one ` alone" in text


def test_a_rehearsed_change_is_on_the_page_and_in_markdown() -> None:
    drained = MachineMove(name="cpu-1", pool="cpu", what="drained", at_s=2.0)
    moves = Moves(ref="main", commit="1" * 40, snapshot=None, jobs=16, machines=(drained,))
    changed = replace(recorded("passed"), moves=moves)
    assert "Jobs: 0 of 16 ended." in Page(page(changed, "")).parts
    assert "- Machines, in their order: 1 drained: cpu-1." in markdown(changed, "").splitlines()
    assert "Change" not in Page(page(recorded("passed"), "")).parts


def test_markdown_has_every_sentence_of_what_is_advised() -> None:
    report = recorded("passed")
    text = markdown(report, "")
    advised = [verdict for verdict in report.verdicts if verdict.state == "advisory"]
    assert any(len(verdict.sentences) > 1 for verdict in advised)
    for verdict in advised:
        assert all(cell(sentence) in text for sentence in verdict.sentences), verdict.rule
    assert "more)" not in text


@pytest.mark.parametrize("name", ["passed", "broken"])
def test_markdown_has_the_verdict_pools_and_keys(name: str) -> None:
    report = recorded(name)
    text = markdown(report, "")
    assert text.startswith(
        f"### {'✅' if report.passed else '⛔'} dev {name.replace('broken', 'failed')}"
    )
    assert all(f"| {pool.site} | {pool.name} | {pool.hardware} |" in text for pool in report.pools)
    asked = "change `gpu-fleet:pools.burst.consolidate_after_minutes`" in text
    assert asked is bool(report.broken)
