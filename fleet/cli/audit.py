"""`fleet audit ENV`: what runs in a cluster against the rules of an environment."""

import json as json_text
from typing import Annotated

import typer

from fleet.cli.place import ROOT, Environment, Json
from fleet.cli.printing import complain, refuse, show


def audit(  # noqa: PLR0913  # an option each
    environment: Environment,
    *,
    kubeconfig: Annotated[
        str, typer.Option(metavar="FILE", help="Default: KUBECONFIG, else ~/.kube/config.")
    ] = "",
    context: Annotated[
        str, typer.Option(metavar="NAME", help="A context of it. Default: the current one.")
    ] = "",
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with 1 also if something with GPUs could not be judged."
        ),
    ] = False,
    whole: Annotated[bool, typer.Option("--all", help="Show each finding.")] = False,
    json: Json = False,
) -> None:
    """Check what runs in a cluster against an environment's rules.

    Reads the cluster with your kubeconfig and changes nothing; never reads Secrets. Shows the GPUs
    that broken rules hold now, with GPU-hours and USD at the catalogue's prices.

    \b
    Examples:
      fleet audit prod
      fleet audit prod --kubeconfig ~/.kube/prod --context admin
      fleet audit prod --all

    Exit code 1 if a mandatory rule is broken, 2 if something cannot be read.
    """
    from fleet.audit.command import audited_cluster
    from fleet.audit.tables import audited_table
    from kube.client import KubeError
    from settings import SettingsError

    try:
        audited = audited_cluster(
            ROOT, environment, kubeconfig=kubeconfig, context=context, strict=strict
        )
    except (KubeError, SettingsError) as error:
        refuse(error)
    if json:
        typer.echo(json_text.dumps(audited.as_json(), indent=2, ensure_ascii=False))
    else:
        show(audited_table(audited, whole=whole))
    for sentence in audited.checked.unreadable:
        if sentence not in audited.forbidden.values():  # the table names these
            complain(sentence)
    raise typer.Exit(audited.checked.code)
