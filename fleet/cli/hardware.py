"""`fleet hardware`: the catalogue of machines, and how a machine gets into it."""

import datetime
import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from fleet.cli.command import Command
from fleet.cli.completing import machines
from fleet.cli.place import Json
from fleet.cli.printing import refuse, show
from hardware.machine import HardwareError, MachineKind

IMPORT_HELP = """\
Make a catalogue file from lscpu, lspci and nvidia-smi.

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

Without a copy of sysfs, give --lspci (output of lspci -Dvmmnn) and --meminfo (output of
cat /sys/devices/system/node/node*/meminfo). The file then lacks the names of network cards and
the sizes of drives.

Every YAML file in hardware/ is a machine of the catalogue. Fill in the price before you use it.

Exit code 2 if a capture cannot be read or captures contradict each other.
"""

hardware = typer.Typer(
    help="List, show and import machines of the catalogue.", no_args_is_help=True
)


@hardware.command("list", cls=Command)
def list_machines(*, json: Json = False) -> None:
    """List the machines of the catalogue.

    Each is a YAML file in hardware/.

    \b
    Example:
      fleet hardware list
    """
    from fleet.catalogue.tables import as_json, overview
    from hardware.catalogue import load, names

    try:
        machines = [load(name) for name in names()]
    except HardwareError as error:
        refuse(error)
    if json:
        typer.echo(json_text.dumps([as_json(machine) for machine in machines], indent=2))
    else:
        show(overview(machines))


@hardware.command("show", cls=Command)
def show_machine(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A machine, such as dgx-h200.", autocompletion=machines
        ),
    ],
    *,
    json: Json = False,
) -> None:
    """Show a machine: topology, price and sources.

    Also lists the facts that nobody has verified.

    \b
    Example:
      fleet hardware show dgx-h200
    """
    from fleet.catalogue.tables import as_json, details
    from hardware.catalogue import load

    try:
        machine = load(name)
    except HardwareError as error:
        refuse(error)
    if json:
        typer.echo(json_text.dumps(as_json(machine), indent=2))
    else:
        show(details(machine))


@hardware.command("import", cls=Command, help=IMPORT_HELP)
def import_(  # noqa: PLR0913  # one option for each capture, as the user gives them
    *,
    name: Annotated[str, typer.Option(metavar="NAME", help="Name in the catalogue.")],
    lscpu: Annotated[Path, typer.Option(metavar="FILE", help="Output of both lscpu commands.")],
    system_disk: Annotated[
        str, typer.Option(metavar="DEVICE|GIB", help="Flatcar's disk: nvme0n1, or GiB.")
    ],
    lspci: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output of lspci -Dvmmnn.")
    ] = None,
    sysfs: Annotated[Path | None, typer.Option(metavar="DIR", help="/sys, or a copy.")] = None,
    meminfo: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Memory, for --lspci.")
    ] = None,
    topo: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output of nvidia-smi topo -m.")
    ] = None,
    gpus: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Output of nvidia-smi --query-gpu, for a GPU model new to us."
        ),
    ] = None,
    vendor: Annotated[str, typer.Option(metavar="NAME", help="Maker or cloud.")] = "own",
    kind: Annotated[MachineKind, typer.Option(help="Where the machine comes from.")] = "bare-metal",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE, not stdout."),
    ] = None,
) -> None:
    """Documented by IMPORT_HELP."""
    from hardware.importer.catalogue_file import Heading
    from hardware.importer.files import Files, import_machine

    files = Files(lscpu=lscpu, lspci=lspci, sysfs=sysfs, meminfo=meminfo, topo=topo, gpus=gpus)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    heading = Heading(name=name, vendor=vendor, kind=kind, date=today)
    try:
        text = import_machine(files, heading, system_disk=system_disk)
        if output is not None:
            output.write_text(text, encoding="utf-8")
    except (HardwareError, OSError) as error:
        refuse(error)
    if output is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"{output}: fill in the price before it is used", err=True)
