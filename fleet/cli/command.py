"""The command class of all verbs: what their usage line looks like."""

from typing import Any

from typer.core import TyperCommand


class Command(TyperCommand):
    """A verb whose usage line says `ENV`; typer's own `{ENV}` looks like a choice."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # typer hides the types of click
        """The words after the name of the verb."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]
