"""A mistake in a document: its place, a sentence, and whether Butane only warns of it."""

from dataclasses import dataclass

Path = tuple[str | int, ...]


class Mild(str):
    """A sentence of which Butane makes a warning; every other one is an error."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake; line and column are those of the nearest place that the document has."""

    path: Path
    sentence: str
    line: int | None
    column: int | None
    warning: bool

    def __str__(self) -> str:
        line = f", line {self.line}" if self.line else ""
        return f"{display(self.path)}{line}: {self.sentence}"

    def report(self) -> str:
        """The mistake as Butane's own command writes it."""
        place = f", line {self.line} col {self.column}" if self.line else ""
        kind = "warning" if self.warning else "error"
        return f"{kind} at {display(self.path)}{place}: {self.sentence}"


def display(path: Path) -> str:
    """A path as Butane prints it: `$.storage.files.0.mode`."""
    return ".".join(("$", *map(str, path)))


class ButaneError(ValueError):
    """Butane that the real one refuses; `problems` has a sentence each, with path and line."""

    def __init__(self, problems: tuple[str, ...], found: tuple[Problem, ...] = ()) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
        self.found = found
