"""What a cluster of many machines takes for many pods: seconds, memory, requests, CPU."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.table import Table

from benchmarks.results import Goal

LEAST = 0.1
"""Of a figure that has a row."""
SLOWER = 1.25
"""So much longer a pod may take than in a bare cluster: 0.8 of the pods a second."""


@dataclass(frozen=True, kw_only=True)
class Placed:
    """From the first request to the last pod that runs."""

    what: str
    machines: int
    pods: int
    seconds: float
    peak_memory_gib: float
    memory_gib: Mapping[str, float]
    """Of each process, at the end."""
    elsewhere_s: float | None = None
    """The same case in KAI's nightly run, on other hardware."""

    def table(self) -> Table:
        """Return the figures."""
        title = f"{self.what}, {self.machines} machines"
        table = Table("", "figure", title=title, title_justify="left")
        table.add_row("until all run", f"{self.seconds:.1f} s")
        table.add_row("pods a second", f"{self.pods / self.seconds:.1f}")
        if self.elsewhere_s:
            table.add_row("KAI's nightly run, other hardware", f"{self.elsewhere_s:.1f} s")
        table.add_row("peak memory", f"{self.peak_memory_gib:.2f} GiB")
        largest = sorted(self.memory_gib.items(), key=lambda each: -each[1])[:3]
        table.add_row("of these", ", ".join(f"{name} {gib:.2f}" for name, gib in largest))
        return table


@dataclass(frozen=True, kw_only=True)
class Worked:
    """The jobs of one cluster: how long they took, and what each process did for them."""

    pods: int
    seconds: float
    cpu_s: Mapping[str, float]
    requests: Mapping[str, float]
    """To the API server, as `POST pods/binding`."""


@dataclass(frozen=True, kw_only=True)
class Pods:
    """The same jobs in the twin's cluster and in a bare one, one after the other."""

    machines: int
    twin: Worked
    bare: Worked

    @property
    def goal(self) -> Goal:
        """The seconds of a pod against those in a bare cluster."""
        name = "a pod in the twin / in a bare cluster"
        return Goal(name=name, value=self.twin.seconds / self.bare.seconds, at_most=SLOWER)

    def tables(self) -> tuple[Table, Table, Table]:
        """Return the ratio, and where the time goes."""
        title = f"{self.twin.pods} jobs of one GPU, {self.machines} machines"
        ratio = Table("", "s", "pods a second", "goal", title=title, title_justify="left")
        for name, one in (("bare", self.bare), ("twin", self.twin)):
            row = (name, f"{one.seconds:.1f}", f"{one.pods / one.seconds:.1f}")
            ratio.add_row(*row, self.goal.verdict if one is self.twin else "")
        ratio.add_row("ratio of seconds", f"{self.goal.value:.2f}")
        both = {name: (one.cpu_s, one.pods) for name, one in self._both().items()}
        asked = {name: (one.requests, one.pods) for name, one in self._both().items()}
        return (
            ratio,
            _by_pod("CPU of a pod, ms", both, 1000),
            _by_pod("requests of a pod to the API server", asked, 1),
        )

    def _both(self) -> Mapping[str, Worked]:
        return {"bare": self.bare, "twin": self.twin}


def _by_pod(title: str, found: Mapping[str, tuple[Mapping[str, float], int]], scale: int) -> Table:
    """A table of what a pod costs in each cluster, the most first."""
    table = Table("", *found, title=title, title_justify="left")
    shares = [
        {key: scale * each / pods for key, each in figures.items()}
        for figures, pods in found.values()
    ]
    keys = {key for share in shares for key, each in share.items() if each >= LEAST}
    for key in sorted(keys, key=lambda key: -shares[-1].get(key, 0)):
        table.add_row(key, *(f"{share.get(key, 0):.1f}" for share in shares))
    table.add_row("all", *(f"{sum(share.values()):.1f}" for share in shares))
    return table
