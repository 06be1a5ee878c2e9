"""`fleet hardware`: the catalogue of machines, and how a machine gets into it."""

from __future__ import annotations

import datetime
import json as json_text
from importlib import import_module
from pathlib import Path  # noqa: TC003  # typer reads the annotation
from typing import Annotated, Any

import typer

from fleet.cli.printing import refuse, show

IMPORT_HELP = """\
Make a catalogue file from what a machine says about itself.

On the machine, in bash:

\b
shopt -s nullglob; export LC_ALL=C; mkdir -p capture; pci=/sys/bus/pci/devices
(lscpu -J; lscpu -J -e=CPU,CORE,SOCKET,NODE) > capture/lscpu.json
nvidia-smi topo -m > capture/topo.txt    # where it has GPUs
cp --parents /sys/devices/system/node/node*/meminfo capture
for f in class vendor device numa_node resource max_link_{speed,width} \\
  nvme/nvme*/model nvme/nvme*/nvme*n*/size
do cp --parents $pci/*/$f capture; done
for d in $pci/*/{net,virtio*/net,infiniband}/*; do mkdir -p capture/$d; done

Then here:

\b
fleet hardware import --name rack7 --lscpu capture/lscpu.json \\
  --sysfs capture/sys --topo capture/topo.txt --system-disk nvme0n1 \\
  -o hardware/rack7.yaml

Without a copy of sysfs: --lspci with the output of lspci -Dvmmnn, and --meminfo with that of
cat /sys/devices/system/node/node*/meminfo. Names of network cards and sizes of drives are missing
then.

A YAML file in hardware/ is a machine of the catalogue. Prices are to be filled in.
Exit code 2 where a capture cannot be read or captures contradict each other.
"""

hardware = typer.Typer(help="The catalogue of machines.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON alone.")]


@hardware.command("list")
def list_machines(*, json: Json = False) -> None:
    """List the machines of the catalogue; each is a YAML file in hardware/."""
    catalogue, tables = _modules()
    machines = [_load(catalogue, name) for name in catalogue.names()]
    if json:
        typer.echo(json_text.dumps([tables.as_json(machine) for machine in machines], indent=2))
    else:
        show(tables.overview(machines))


@hardware.command("show")
def show_machine(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as dgx-h200.")],
    *,
    json: Json = False,
) -> None:
    """Show how a machine is wired, what it costs, the sources, and what nobody has verified."""
    catalogue, tables = _modules()
    machine = _load(catalogue, name)
    if json:
        typer.echo(json_text.dumps(tables.as_json(machine), indent=2))
    else:
        show(tables.details(machine))


@hardware.command("import", help=IMPORT_HELP)
def import_(  # noqa: PLR0913  # one option for each capture, as the user gives them
    *,
    name: Annotated[str, typer.Option(help="The catalogue name, and the file's.")],
    lscpu: Annotated[Path, typer.Option(metavar="FILE", help="lscpu, both documents.")],
    system_disk: Annotated[
        str, typer.Option(metavar="DEVICE|GIB", help="The disk for Flatcar: nvme0n1, or its GiB.")
    ],
    lspci: Annotated[Path | None, typer.Option(metavar="FILE", help="lspci -Dvmmnn.")] = None,
    sysfs: Annotated[Path | None, typer.Option(metavar="DIR", help="/sys or its copy.")] = None,
    meminfo: Annotated[Path | None, typer.Option(metavar="FILE", help="With --lspci.")] = None,
    topo: Annotated[Path | None, typer.Option(metavar="FILE", help="nvidia-smi topo -m.")] = None,
    gpus: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="nvidia-smi --query-gpu, for GPUs that are new here."),
    ] = None,
    vendor: Annotated[str, typer.Option(help="Who makes the machine or rents it out.")] = "own",
    kind: Annotated[str, typer.Option(help="bare-metal, aws, azure, hetzner, …")] = "bare-metal",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Else it is printed.")
    ] = None,
) -> None:
    """Documented by IMPORT_HELP."""
    importer = import_module("hardware.importer.files")
    write = import_module("hardware.importer.write")
    files = importer.Files(
        lscpu=lscpu, lspci=lspci, sysfs=sysfs, meminfo=meminfo, topo=topo, gpus=gpus
    )
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    heading = write.Heading(name=name, vendor=vendor, kind=kind, date=today)
    try:
        text = importer.import_machine(files, heading, system_disk=system_disk)
        if output is not None:
            output.write_text(text, encoding="utf-8")
    except (import_module("hardware.catalogue").HardwareError, OSError) as error:
        refuse(error)
    if output is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"{output}: fill in the price before it is used", err=True)


def _modules() -> tuple[Any, Any]:
    return import_module("hardware.catalogue"), import_module("fleet.catalogue.tables")


def _load(catalogue: Any, name: str) -> Any:
    try:
        return catalogue.load(name)
    except catalogue.HardwareError as error:
        refuse(error)
