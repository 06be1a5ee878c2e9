"""The controllers that ran, with the rights of their charts and what they asked of AWS."""

from collections.abc import Iterator

from fleet.report.section import Fold, Section, Table, folds, row
from rehearsal import digest
from rehearsal.controller_report import ControllerReport
from rehearsal.digest import Line, count
from rehearsal.karpenter.iam_use import IamUse
from rehearsal.report import Report

HEAD = ("Controller", "Version", "Rights used", "Never used", "Lacks", "AWS actions used")
NUMBERS = frozenset(HEAD[2:])


def controllers(report: Report) -> Section | None:
    """Return the section; None where no controller ran."""
    line = digest.controllers(report)
    if line is None:
        return None
    asks_aws = any(each.iam for each in report.controllers)
    head = HEAD if asks_aws else HEAD[:-1]
    found = tuple(
        row(_cells(each)[: len(head)], "warning" if _is_odd(each) else "plain")
        for each in report.controllers
    )
    return Section(
        title="Controllers",
        mark=line.mark,
        text=f"{line.text}.",
        lines=tuple(told for each in report.controllers for told in _odd(each)),
        tables=(Table(head=head, rows=found, numbers=NUMBERS),),
        folds=folds(fold for each in report.controllers for fold in _folds(each)),
        note="No IAM judges these calls to AWS, so they prove no right." if asks_aws else "",
    )


def _cells(one: ControllerReport) -> tuple[str, ...]:
    return (
        one.name,
        one.version,
        f"{one.used} of {one.rights}",
        str(one.rights - one.used),
        str(len(one.missing) or ""),
        _actions(one.iam) if one.iam else "",
    )


def _actions(use: IamUse) -> str:
    return f"{len(use.called)} of {len(use.called) + len(use.never_called)}"


def _is_odd(one: ControllerReport) -> bool:
    return bool(one.missing or one.difference or (one.iam and one.iam.not_allowed))


def _odd(one: ControllerReport) -> Iterator[Line]:
    for sentence in (*one.warnings, *([one.difference] if one.difference else [])):
        yield Line(mark="warning", text=sentence)


def _folds(one: ControllerReport) -> Iterator[Fold]:
    never = count(one.rights - one.used, "right")
    yield Fold(title=f"{one.name}: {never} never used", lists=(("", one.never_used),))
    if use := one.iam:
        named = (
            (f"{one.name} asked for", use.called),
            ("Allowed, never asked for", use.never_called),
        )
        asked = count(len(use.called), "action")
        yield Fold(title=f"{one.name}: {asked} of AWS asked for", lists=named)
