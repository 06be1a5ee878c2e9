"""The line of a log that says why a program ended."""

from pathlib import Path

import pytest

from rehearsal.log_reason import reason, with_reason

WARNING = '{"level":"warn","msg":"rejected connection on client endpoint","error":"EOF"}'
GO_STACK = """\
goroutine 1 [running]:
main.main()
\tgpu-fleet/toolchain/control-plane/main.go:33 +0x19e
"""
FULL = '{"level":"warn","msg":"failed to write","error":"write wal: no space left on device"}'
FATAL = '{"level":"fatal","ts":"2026","msg":"discovery failed","error":"no leader"}'
KLOG = """\
W1123 01:02:03.000001   42 options.go:1] a warning
E1123 01:02:03.456789   42 run.go:72] "command failed" err="at least 8 IP addresses"
I1123 01:02:04.000001   42 run.go:80] goodbye
"""
PYTHON = """\
Traceback (most recent call last):
  File "x.py", line 3, in f
    raise KeyError(name) from OSError
ValueError: it must be a number
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"panic: index out of range\n\n{GO_STACK}", "panic: index out of range"),
        (f"{FULL}\npanic: wal\n{GO_STACK}", "failed to write: write wal: no space left on device"),
        (f"{FATAL}\n{WARNING}\n", "discovery failed: no leader"),
        (KLOG, '"command failed" err="at least 8 IP addresses"'),
        (PYTHON, "ValueError: it must be a number"),
        ("starting\nerror: no stack named 'dev' found\n", "error: no stack named 'dev' found"),
        (f"{WARNING}\n", None),
        (GO_STACK, None),
        ("", None),
    ],
    ids=["panic", "full", "fatal", "klog", "python", "plain", "warning", "stack", "empty"],
)
def test_the_most_telling_line_is_the_reason(tmp_path: Path, text: str, told: str | None) -> None:
    log = tmp_path / "log"
    log.write_text(text)
    assert reason(log) == told


def test_without_a_reason_the_sentence_names_the_log_alone(tmp_path: Path) -> None:
    log = tmp_path / "etcd.log"
    assert with_reason("etcd has ended", log) == f"etcd has ended (log: {log})."
