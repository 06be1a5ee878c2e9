"""A chart as a Release names it, and what became of the search for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

OCI = "oci://"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A chart by name and version; `repository` is a URL, with oci:// that of the chart itself."""

    name: str
    version: str
    repository: str | None = None

    @classmethod
    def of(cls, release: Mapping[str, object]) -> "Wanted":
        """The chart that a Release with these inputs installs."""
        chart = str(release["chart"])
        options = release.get("repositoryOpts")
        repository = options.get("repo") if isinstance(options, Mapping) else None
        return cls(
            name=cls.name_of(chart),
            version=str(release["version"]),
            repository=chart if chart.startswith(OCI) else repository and str(repository),
        )

    @staticmethod
    def name_of(chart: str) -> str:
        """The name of a chart that a Release names, perhaps by an address."""
        return chart.rpartition("/")[2]

    @property
    def plain_version(self) -> str:
        """The version without a v in front."""
        return self.version.removeprefix("v")

    @property
    def title(self) -> str:
        """Name and version, for people."""
        return f"{self.name} {self.version}"


@dataclass(frozen=True, kw_only=True)
class Found:
    """A chart that can be rendered: a folder, or a .tgz."""

    path: Path
    source: str
    """Where it is from, in words."""
    version: str = ""
    """What its project's release writes over the version in Chart.yaml; empty: as it is."""
    defaults: Mapping[str, object] = field(default_factory=dict)
    """What its project's release writes over values in values.yaml."""


@dataclass(frozen=True, kw_only=True)
class Unreachable:
    """A chart that is nowhere to be had from here; the reason is part of a sentence."""

    reason: str
