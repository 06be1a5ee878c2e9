"""What becomes of a test whose judge is not on the machine: skipped and counted, or failed.

A judge is a program that somebody else wrote and that the machine may lack: Debian's kernel and
systemd, QEMU, shellcheck. `FLEET_JUDGES=required`, as `.ci/run` has it, makes a skip a failure.
"""

import os
from collections.abc import Iterable
from typing import NoReturn

import pytest

_MARK = "judge did not run: "


def absent(judge: str, reason: str) -> NoReturn:
    """Skip the test because `judge` cannot run here; fail it where judges are required."""
    sentence = f"{_MARK}{judge}: {reason}"
    if os.environ.get("FLEET_JUDGES") == "required":
        pytest.fail(f"{sentence} (FLEET_JUDGES=required)", pytrace=False)
    pytest.skip(sentence)


def summary(reports: Iterable[object]) -> list[str]:
    """The judges that did not run by the reports of skipped tests: a line each, with its tests."""
    tests: dict[str, int] = {}
    for report in reports:
        # pytest: a skip is (file, line, "Skipped: <reason>")
        where = getattr(report, "longrepr", None)
        reason = str(where[2]) if isinstance(where, tuple) else ""
        _, marked, sentence = reason.partition(_MARK)
        if marked:
            tests[sentence] = tests.get(sentence, 0) + 1
    return [f"{number} tests without {sentence}" for sentence, number in sorted(tests.items())]
