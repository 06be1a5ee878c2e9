"""A real Prometheus on the loopback address, with blocks that promtool made of our series."""

import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

import httpx
import yaml

from tests.conformance.monitoring.exporters import STEP_SECONDS, Series

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
