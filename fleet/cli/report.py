"""`fleet report ENV`: the report of the last rehearsal, once more."""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from fleet.cli.place import ROOT, Environment
from fleet.cli.printing import refuse, show


def report(  # noqa: PLR0913  # an option each
    environment: Environment,
    *,
    all_of_it: Annotated[
        bool, typer.Option("--all", help="Print every rule, resource and chart by name.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write it as one page that needs no network."),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print it as Markdown, for a comment or a wiki.")
    ] = False,
    lock_images: Annotated[
        bool,
        typer.Option("--lock-images", help="Write the images of its charts to their lock file."),
    ] = False,
) -> None:
    """Print the report of the last rehearsal again.

    \b
    Examples:
      fleet report dev --all
      fleet report prod --html prod.html
      fleet report prod --lock-images

    Exit code 2 if the environment was not rehearsed here, or there is no such environment.
    """
    if sum((all_of_it, json, html is not None, markdown, lock_images)) > 1:
        refuse(
            "--all, --json, --html, --markdown and --lock-images are five forms of a report: "
            "choose one."
        )
    from fleet.report.last import NoReportError, last, when
    from settings import SettingsError

    try:
        found = last(ROOT, environment)
    except (NoReportError, SettingsError) as error:
        refuse(error)
    if lock_images:
        from rehearsal.charts import lock
        from rehearsal.charts.digests import tell
        from rehearsal.errors import RehearsalError

        try:
            told = tell(lock.without_digest(ROOT, found))
            typer.echo(f"Wrote {lock.write(ROOT, found, told.digests)}.")
            for image, reason in told.unknown.items():
                typer.echo(f"{image} is there without a digest: {reason}.")
        except RehearsalError as error:
            refuse(error)
    elif json:
        typer.echo(json_text.dumps(found.as_json(), indent=2))
    elif html is not None:
        from fleet.report.page import page

        html.write_text(page(found, when(found, ROOT)), encoding="utf-8")
        typer.echo(f"Wrote {html}.")
    elif markdown:
        from fleet.report.markdown import markdown as as_markdown

        typer.echo(as_markdown(found, when(found, ROOT)), nl=False)
    else:
        from rehearsal.short_report import render_short
        from rehearsal.tables import render

        show((render if all_of_it else render_short)(found))
        if said := when(found, ROOT):
            show(f"\n{said}")
