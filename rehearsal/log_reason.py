"""Finds the line of a program's log that says why it ended, or why it did not start."""

import json
import re
from pathlib import Path

PORT_TAKEN = "address already in use"
TELLING = (  # the most telling first
    re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE),
    re.compile(PORT_TAKEN),
    re.compile(r'\bpanic: |\bfatal error: |^F\d{4} |"level":"(?:fatal|panic)"|^Fatal Python error'),
    re.compile(r'^E\d{4} |"level":"error"|\blevel=error\b|\berror: |\w+Error\b', re.IGNORECASE),
)
KLOG = re.compile(r"^[EF]\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] ")
LONGEST = 400


def reason(log: Path) -> str | None:
    """Return the last of the most telling lines; None where no line tells of a failure.

    A warning, or a frame of a stack trace, is no reason.
    """
    try:
        lines = [
            line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
        ]
    except FileNotFoundError:
        return None
    for pattern in TELLING:
        for line in reversed(lines):
            if pattern.search(line):
                return _plain(line)[:LONGEST]
    return None


def with_reason(sentence: str, log: Path) -> str:
    """Return the sentence with the reason in the log, where there is one, and the log's path."""
    told = reason(log)
    return f"{sentence}: {told.rstrip('.')} (log: {log})." if told else f"{sentence} (log: {log})."


def _plain(line: str) -> str:
    """Return the message of a line of etcd's JSON, or of a Kubernetes log."""
    if line.startswith("{"):
        try:
            found = json.loads(line)
        except ValueError:
            return line
        return ": ".join(str(found[key]) for key in ("msg", "error") if found.get(key)) or line
    return KLOG.sub("", line)
