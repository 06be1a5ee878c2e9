"""Scrapes what Karpenter and Volcano export themselves, as Prometheus would."""

import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from rehearsal.controllers.controller import Controller, started
from rehearsal.moves.watch import Watch

EVERY_S = 5.0
TIMEOUT_S = 2.0
_LISTENS = re.compile(r"--listen-address=(127\.0\.0\.1:\d+)")
_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample of a series at a time of the watch."""

    at_s: float
    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


class Scraper:
    """Scrapes the series of some names from `start` to `stop`; `samples` grows meanwhile."""

    def __init__(self, directory: Path, watch: Watch, wanted: frozenset[str]) -> None:
        self.samples: list[Sample] = []
        self._directory, self._watch, self._wanted = directory, watch, wanted
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._ended.set()
        self._thread.join(timeout=2 * TIMEOUT_S)

    def _run(self) -> None:
        with httpx.Client(trust_env=False, timeout=TIMEOUT_S) as client:
            while not self._ended.is_set():
                for controller in started(self._directory):
                    self._scrape(client, controller)
                self._ended.wait(EVERY_S)

    def _scrape(self, client: httpx.Client, controller: Controller) -> None:
        address = address_of(controller)
        if address is None:
            return
        try:
            answer = client.get(f"http://{address}/metrics")
        except httpx.HTTPError:  # one that is being started
            return
        if answer.is_success:
            found = parse(answer.text, self._watch.seconds)
            self.samples += [each for each in found if each.name in self._wanted]


def address_of(controller: Controller) -> str | None:
    """Return where a controller serves its metrics; None for one that does not."""
    if port := controller.variables.get("METRICS_PORT"):
        return f"127.0.0.1:{port}"
    found = _LISTENS.search(" ".join(controller.command))
    return found[1] if found else None


def parse(text: str, at_s: float) -> Iterator[Sample]:
    """Yield the samples of Prometheus' text format."""
    for line in text.splitlines():
        if found := None if line.startswith("#") else _SAMPLE.fullmatch(line):
            labels: Mapping[str, str] = dict(_LABEL.findall(found["labels"] or ""))
            yield Sample(
                at_s=at_s,
                name=found["name"],
                labels=tuple(sorted(labels.items())),
                value=float(found["value"]),
            )
