"""The real Prometheus loads every rule, and answers every question of the dashboard."""

import json
import math
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TypeVar

import httpx
import pytest
import yaml

from components.platform.monitoring.alerts import groups
from components.platform.monitoring.dashboard import dashboard_json
from tests.support.monitoring.exporters import (
    STEP_SECONDS,
    Device,
    Series,
    activity,
    last_xid,
    placed_pages,
    pod_groups,
    steady,
    then,
    xid_count,
)
from tests.support.monitoring.kube_state_metrics import Pod
from tests.support.monitoring.promtool import LIMITS, POOLS, rule_text
from tests.support.monitoring.situations import (
    BUSY,
    GPU,
    IDLE,
    QUANTS,
    SLICE,
    dgx,
    gang,
    series,
)

DEADLINE_SECONDS = 60
# lines of Prometheus after which an answer may be another one: a rule was evaluated, it is ready
SIGNS = (b'"ruleGroup"', b"ready to receive web requests")
Answer = TypeVar("Answer")


class Output(threading.Thread):
    """Keeps what a Prometheus prints, and wakes who waits for one of its signs."""

    def __init__(self, stream: IO[bytes], log: Path) -> None:
        super().__init__(daemon=True)
        self.signs = 0
        self._stream, self._log = stream, log
        self._changed = threading.Condition()
        self._ended = False

    def run(self) -> None:
        with self._log.open("wb", buffering=0) as log:
            for line in self._stream:
                log.write(line)
                if any(sign in line for sign in SIGNS):
                    self._tell()
        self._ended = True
        self._tell()

    def await_sign(self, seen: int, seconds: float) -> bool:
        """Waits until there are more signs than the `seen` ones; False where none came."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self.signs > seen, seconds)
            return self.signs > seen and not self._ended

    def _tell(self) -> None:
        with self._changed:
            self.signs += 1
            self._changed.notify_all()


@dataclass(frozen=True, kw_only=True)
class Server:
    """The HTTP interface of a running Prometheus."""

    url: str
    process: subprocess.Popen[bytes]
    output: Output
    log: Path

    def query(self, expr: str) -> list[dict[str, object]]:
        """The series of an expression at this moment."""
        return self._get("/api/v1/query", query=expr)["result"]  # type: ignore[no-any-return]  # JSON

    def label_values(self, label: str, metric: str) -> list[str]:
        """The values of a label, as Grafana asks for those of a variable."""
        return self._get(f"/api/v1/label/{label}/values", **{"match[]": metric})  # type: ignore[no-any-return]  # JSON

    def rules(self) -> list[dict[str, object]]:
        """All rules that were loaded, with the result of their last evaluation."""
        return [rule for group in self._get("/api/v1/rules")["groups"] for rule in group["rules"]]

    def eventually(self, ask: Callable[[], Answer], good: Callable[[Answer], bool]) -> Answer:
        """The first good answer, else the last one before the deadline; asks at every sign."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            seen = self.output.signs
            answer = ask()
            left = deadline - time.monotonic()
            if good(answer) or not self.output.await_sign(seen, left):
                return answer

    def _get(self, path: str, **parameters: str):  # type: ignore[no-untyped-def]  # whatever JSON says
        answer = httpx.get(f"{self.url}{path}", params=parameters, timeout=30)
        assert answer.status_code == httpx.codes.OK, f"{parameters}: {answer.text}"
        return answer.json()["data"]

    def is_ready(self) -> bool:
        """Whether it answers; an error when it has ended."""
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        try:
            return httpx.get(f"{self.url}/-/ready").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False


def fill(promtool: Path, folder: Path, series: Sequence[Series]) -> Path:
    """Blocks with the series, whose last samples are of this moment."""
    now = int(time.time())
    text = folder / "series.om"
    with text.open("w") as file:
        for each in series:
            begin = now - STEP_SECONDS * (len(each.samples) - 1)
            for step, value in enumerate(each.samples):
                if not isinstance(value, str):
                    file.write(f"{each.selector} {value} {begin + step * STEP_SECONDS}\n")
        file.write("# EOF\n")
    blocks = folder / "data"
    command: list[str | Path] = [
        promtool,
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        text,
        blocks,
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return blocks


@contextmanager
def serving(prometheus: Path, folder: Path, rules: str) -> Iterator[Server]:
    """A Prometheus on the blocks in `folder`, with the rule file `rules`; it scrapes nothing."""
    (folder / "rules.yaml").write_text(rules)
    configuration = folder / "prometheus.yaml"
    # the log of queries has a line for each rule that was evaluated
    settings = {"global": {"query_log_file": "/dev/stdout"}, "rule_files": ["rules.yaml"]}
    configuration.write_text(yaml.safe_dump(settings))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = folder / "prometheus.log"
    process = subprocess.Popen(
        [
            prometheus,
            f"--config.file={configuration}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    output = Output(process.stdout, log)
    output.start()
    server = Server(url=f"http://127.0.0.1:{port}", process=process, output=output, log=log)
    try:
        assert server.eventually(server.is_ready, bool), log.read_text()[-2000:]
        yield server
    finally:
        process.terminate()
        process.wait(timeout=30)
        output.join(timeout=30)
        process.stdout.close()


def fleet() -> list[Series]:
    """A morning of a small fleet: whole GPUs, MIG, time slices, work that waits, a broken GPU."""
    risk = {**QUANTS, "fleet.gpu/team": "risk", "fleet.gpu/branch": "bt-20261121-b2"}
    slices = [
        Device(node="dgx-02", index=0, pod="note-0", profile="1g.18gb", instance=str(number))
        for number in (7, 8)
    ]
    train = gang("train-0")
    devices = {
        **dict(zip(train, [BUSY, *[IDLE] * 7], strict=True)),
        **dict(zip(slices, [BUSY, IDLE], strict=True)),
        **dict.fromkeys(gang("serve-0", node="dgx-03", gpus=1), BUSY),
        **dict.fromkeys(gang("grid-0", node="p5e-1"), BUSY),
    }
    return series(
        dgx(),
        dgx("dgx-02", capacity={GPU: 0, SLICE: 56}),
        dgx("dgx-03", capacity={GPU: 32}, sharing="time-slicing"),
        dgx("p5e-1", pool="burst"),
        Pod(name="train-0", node="dgx-01", requests={GPU: 8}, labels=QUANTS),
        Pod(name="note-0", node="dgx-02", requests={SLICE: 2}, labels=risk),
        Pod(name="serve-0", node="dgx-03", requests={GPU: 1}, labels=risk),
        Pod(name="grid-0", node="p5e-1", requests={GPU: 8}, labels=risk),
        Pod(name="next-0", phase="Pending", requests={GPU: 8}, labels=QUANTS),
        devices=devices,
        more=[
            *activity(train, steady(0.4), "SM_ACTIVE"),
            *activity(train, steady(0.2), "PIPE_TENSOR_ACTIVE"),
            last_xid(train[3], then((0.0, 56), (79.0, 5))),
            xid_count(train[0], 31, steady(1)),
            *placed_pages("dgx-01", hit=9_000, miss=90),
            *pod_groups("research", pending=1, inqueue=0, running=3),
        ],
    )


@pytest.fixture(scope="module")
def server(prometheus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("prometheus")
    fill(prometheus / "promtool", folder, fleet())
    # a minute between two evaluations is for clusters; what the rules say stays as it is
    rules = rule_text().replace("interval: 60s", "interval: 1s")
    with serving(prometheus / "prometheus", folder, rules) as running:
        yield running


def questions() -> list[tuple[str, str]]:
    """Panel and expression of every query, for all pools and teams, without its 0 for nothing."""
    return [
        (panel["title"], re.sub(r"\$(pool|team)", ".*", query["expr"]).replace(" or vector(0)", ""))
        for panel in json.loads(dashboard_json())["panels"]
        for query in panel.get("targets", [])
    ]


def has_data(result: list[dict[str, object]]) -> bool:
    """Whether there is a series, and none that is no number."""
    values = [float(each["value"][1]) for each in result]  # type: ignore[index]  # Prometheus' JSON
    return bool(values) and not any(map(math.isnan, values))


def test_every_rule_is_loaded_and_evaluated_without_an_error(server: Server) -> None:
    rules = server.eventually(
        server.rules, lambda found: all(rule["health"] != "unknown" for rule in found)
    )
    assert len(rules) == sum(len(group.rules) for group in groups(POOLS, LIMITS))
    assert {rule["name"]: rule.get("lastError") for rule in rules if rule["health"] != "ok"} == {}


def test_every_recording_rule_finds_something_in_the_test_fleet(server: Server) -> None:
    for rule in server.rules():
        if rule["type"] == "recording":
            name = str(rule["name"])
            assert has_data(server.eventually(partial(server.query, name), has_data)), name


@pytest.mark.parametrize(("panel", "expr"), questions())
def test_every_query_of_the_dashboard_returns_data(panel: str, expr: str, server: Server) -> None:
    assert has_data(server.eventually(partial(server.query, expr), has_data)), panel


def test_the_dashboards_variables_have_values(server: Server) -> None:
    found = {}
    for variable in json.loads(dashboard_json())["templating"]["list"]:
        query = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"])
        assert query is not None, variable["query"]
        ask = partial(server.label_values, query[2], query[1])
        found[variable["name"]] = server.eventually(ask, bool)
    assert found == {"pool": ["burst", "dgx"], "team": ["quants", "risk"]}


def test_an_alert_reaches_the_list_of_alerts(server: Server) -> None:
    expr = 'ALERTS{alertname="GpuHardwareXid", alertstate="firing"}'
    (alert,) = server.eventually(partial(server.query, expr), bool)
    assert alert["metric"]["xid"] == "79"  # type: ignore[index]  # Prometheus' JSON
