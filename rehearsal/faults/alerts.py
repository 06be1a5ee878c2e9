"""What the program's alerts make of a fault, by the real Prometheus.

promtool evaluates the rules that lie in the cluster, once a minute, on samples every 15 seconds:
the state before the fault for five minutes, then what was seen, and then for an hour the state as
it was when somebody mended it, or at the end. Counters go on growing as they did. An alert that
fires without the fault as well is left out.
"""

import json
import re
import subprocess
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from rehearsal.errors import RehearsalError
from rehearsal.faults import kube_state, replay
from rehearsal.faults.kube_state import DERIVED, Point
from rehearsal.faults.link import FOLDER
from rehearsal.faults.result import Alerts, FiredAlert
from rehearsal.faults.rules import Rules
from rehearsal.faults.scene import Scene
from rehearsal.faults.scrape import Sample, parse
from rehearsal.faults.work import Now

BEFORE_S = 300
HELD_S = 3600
STEP_S = 15
EVERY_S = 60
SCRAPED = ("karpenter_", "volcano_")
DRIFTS = Path(FOLDER, "down", "fleet-node-check.prom")
WITHIN_S = 120
FIRST = 'min_over_time(timestamp(ALERTS{{alertstate="firing"}})[{seconds}s:{every}s])'
_GOT = re.compile(r'\{((?:[a-zA-Z_]\w*="(?:[^"\\]|\\.)*"(?:, )?)+)\} ([0-9.E+-]+)')
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
UNTOLD = frozenset({"alertname", "alertstate", "severity", "__name__"})

Series: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
Moment: TypeAlias = Callable[[float], float]
"""The moment of the watch whose state there is at a time of Prometheus' clock."""


def judge(
    promtool: Path,
    rules: Rules,
    window: tuple[float, float],
    samples: Sequence[Sample],
    scene: Scene,
) -> Alerts:
    """Return which alerts a fault sets off that lasted over a window of the watch."""
    began, held = window
    judged = {name for name, reads in rules.alerts.items() if all(map(_is_known, reads))}
    lasts = scene.clock.between(began, held)
    end_s = BEFORE_S + int(lasts) + HELD_S
    told = _Told(scene=scene, samples=samples, began=began, held=held)

    def with_fault(at_s: float) -> float:
        after = at_s - BEFORE_S
        return began if after <= 0 else min(held, scene.clock.twin(began, after))

    before = _fires(promtool, scene, rules, told.series(end_s, lambda _: began), end_s)
    fired = _fires(promtool, scene, rules, told.series(end_s, with_fault), end_s)
    return Alerts(
        fired=tuple(
            FiredAlert(
                name=labels["alertname"],
                severity=labels.get("severity", ""),
                about=", ".join(v for k, v in sorted(labels.items()) if k not in UNTOLD and v),
                after_s=at_s - BEFORE_S,
            )
            for key, at_s in sorted(fired.items(), key=lambda item: item[1])
            if key not in before and (labels := dict(key))["alertname"] in judged
        ),
        judged=len(judged),
        not_judged=tuple(sorted(rules.alerts.keys() - judged)),
        scraped=tuple(sorted({each.name for each in samples})),
        derived=tuple(sorted(DERIVED & rules.names)),
    )


def _is_known(name: str) -> bool:
    return name in DERIVED or name.startswith(SCRAPED)


class _Told:
    """The samples of a fault, as exporters would have shown them."""

    def __init__(
        self, *, scene: Scene, samples: Sequence[Sample], began: float, held: float
    ) -> None:
        self.scene, self.began, self.held = scene, began, held
        self.seen = sorted(scene.watch.seen, key=lambda each: each.at_s)
        self.epoch = time.time() - scene.watch.seconds
        self.drifts = _drifts(scene.directory / DRIFTS)
        self.scraped: dict[Series, list[Sample]] = {}
        for each in samples:
            self.scraped.setdefault((each.name, each.labels), []).append(each)
        self._known: dict[float, tuple[Now, list[Point]]] = {}

    def series(self, end_s: int, moment: Moment) -> dict[Series, list[float | None]]:
        """Return the samples of each series, one every STEP_S."""
        steps = range(0, end_s + 1, STEP_S)
        found: dict[Series, list[float | None]] = {}
        for number, at_s in enumerate(steps):
            for name, labels, value in self._points(at_s, moment):
                samples = found.setdefault((name, labels), [None] * len(steps))
                samples[number] = value
        return found

    def _points(self, at_s: int, moment: Moment) -> Iterator[Point]:
        then = moment(at_s)
        now, points = self._state(then)
        for name, labels, value in points:
            # times are of our clock; those of Prometheus begin with its first sample
            moved = name in ("fleet_nodeclaim_created", "kube_pod_start_time")
            yield name, labels, value - self.epoch - then + at_s if moved else value
        yield from kube_state.checks(now, at_s)
        for series, samples in self.scraped.items():
            if (counted := self._counted(samples, then, at_s)) is not None:
                yield *series, counted

    def _state(self, then: float) -> tuple[Now, list[Point]]:
        if then not in self._known:
            now = replay.at(self.seen, then)
            self._known[then] = now, list(kube_state.points(now, self.drifts))
        return self._known[then]

    def _counted(self, samples: Sequence[Sample], then: float, at_s: int) -> float | None:
        """Return a scraped value; a counter goes on growing where the state is held."""
        times = [each.at_s for each in samples]
        last = bisect_right(times, then)
        if not last:
            return None
        value = samples[last - 1].value
        lasts = self.scene.clock.between(self.began, self.held)
        over = at_s - BEFORE_S - lasts
        if over <= 0 or then < self.held or not samples[0].name.endswith("_total"):
            return value
        first = bisect_right(times, self.began)
        grown = value - (samples[first - 1].value if first else 0.0)
        return value + over * grown / max(lasts, 1.0)


def _drifts(path: Path) -> dict[tuple[tuple[str, str], ...], float]:
    """Return the findings of fleet-node-check by their labels; none where it has found nothing."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return {
        each.labels: each.value
        for each in parse(text, 0.0)
        if each.name == "fleet_node_check_drift"
    }


def _fires(
    promtool: Path,
    scene: Scene,
    rules: Rules,
    series: Mapping[Series, Sequence[float | None]],
    end_s: int,
) -> dict[tuple[tuple[str, str], ...], float]:
    """Return when each alert fired first, by its labels: what promtool got in place of nothing."""
    folder = scene.directory / "promtool"
    folder.mkdir(exist_ok=True)
    (folder / "rules.yaml").write_text(_json({"groups": rules.groups}))
    asked = FIRST.format(seconds=end_s, every=EVERY_S)
    test = {
        "interval": f"{STEP_S}s",
        "input_series": [
            {"series": _selector(*key), "values": notation(samples)}
            for key, samples in series.items()
        ],
        "promql_expr_test": [{"expr": asked, "eval_time": f"{end_s}s", "exp_samples": []}],
    }
    order = [group["name"] for group in rules.groups]
    content = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": f"{EVERY_S}s",
        "group_eval_order": order,
        "tests": [test],
    }
    (folder / "test.yaml").write_text(_json(content))
    command = [str(promtool), "test", "rules", str(folder / "test.yaml")]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise RehearsalError(
            f"promtool has not judged the alerts within {WITHIN_S} s: rehearse again when this "
            "machine has less to do."
        ) from None
    said = done.stdout + done.stderr
    if done.returncode and "got:" not in said:
        raise RehearsalError(f"promtool failed: {said.strip()[-400:]}")
    return dict(got(said))


def got(said: str) -> Iterator[tuple[tuple[tuple[str, str], ...], float]]:
    """Yield labels and value of each sample that promtool got."""
    for labels, value in _GOT.findall(said.partition("got:")[2]):
        found = sorted((name, text) for name, text in _LABEL.findall(labels))
        yield tuple(found), float(value)


def notation(samples: Sequence[float | None]) -> str:
    """Return samples as promtool writes them; a series that ends is marked as stale."""
    words: list[str] = []
    there = False
    for value, run in groupby(samples):
        times = len(list(run))
        if value is None:
            words += ["stale"] if there else ["_"]
            words += [f"_x{times - 1}"] if times > 1 else []
        else:
            words.append(f"{value:.10g}x{times - 1}" if times > 1 else f"{value:.10g}")
        there = value is not None
    return " ".join(words)


def _selector(name: str, labels: tuple[tuple[str, str], ...]) -> str:
    return f"{name}{{{','.join(f'{key}={json.dumps(value)}' for key, value in labels)}}}"


def _json(content: Mapping[str, Any]) -> str:
    """JSON is YAML, and faster to write."""
    return json.dumps(content)
