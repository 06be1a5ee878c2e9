"""`python -m rehearsal.faults.node_check_pod FOLDER SERVER FILE IGNITION NODE down|up`: one check.

FILE is the zipapp of the check's ConfigMap, whose own code finds the drift, writes it for node
exporter into a folder of FOLDER and reports it to the API server with the token in FOLDER. Made up
is what nvidia-smi says of the links alone; what else that code finds on a machine that is not there
is left out.
"""

import argparse
import base64
import gzip
import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote_to_bytes

LINKS = "nvlink"
PLAN = "/etc/fleet/plan.json"


def main() -> int:
    """Check once; return what the check returns."""
    folder, server, file, ignition, node, state = sys.argv[1:]
    host, _, port = server.rpartition(":")
    sys.path.insert(0, file)  # before the checkout, which has the same packages
    api = import_module("workloads.api_server")
    reached = api.ApiServer(host=host, port=int(port), account=Path(folder))
    check = import_module("workloads.node_check.__main__")
    node_api = import_module("workloads.node_check.node_api")
    vars(check)["_api"] = lambda name: node_api.NodeApi(
        host=reached.host, port=reached.port, node=name, account=reached.account
    )
    plan = import_module("workloads.node_check.plan").parse(plan_of(Path(ignition).read_text()))
    machine = import_module("workloads.node_check.machine")
    failed = machine.FailedCommandError
    answers = _answers([gpu.nvlinks or 0 for gpu in plan.gpus], failed, down=state == "down")
    seen = machine.LiveMachine(root=Path(folder) / "no-machine", run=answers)
    found = import_module("workloads.node_check.gpus").check(seen, plan)
    drifts = [each for each in found if each.check == LINKS]
    given = argparse.Namespace(node=node, textfile=Path(folder) / state)
    return int(check.hand_on(given, plan, drifts))


def plan_of(ignition: str) -> str:
    """Return the plan that a machine's Ignition writes."""
    files = json.loads(ignition)["storage"]["files"]
    contents = next(each["contents"] for each in files if each["path"] == PLAN)
    head, _, data = contents["source"].partition(",")
    raw = base64.b64decode(data) if head.endswith(";base64") else unquote_to_bytes(data)
    return (gzip.decompress(raw) if contents.get("compression") == "gzip" else raw).decode()


def _answers(
    links: Sequence[int], failed: type[Exception], *, down: bool
) -> Callable[[Sequence[str]], str]:
    """Return what runs nvidia-smi: GPUs without any facts, and their links."""

    def run(command: Sequence[str]) -> str:
        if command == ["nvidia-smi", "-q", "-x"]:
            return f"<nvidia_smi_log>{'<gpu/>' * len(links)}</nvidia_smi_log>"
        if command == ["nvidia-smi", "nvlink", "--status"]:
            return "\n".join(_status(links, down=down))
        raise failed("not there")

    return run


def _status(links: Sequence[int], *, down: bool) -> Sequence[str]:
    """Return the lines of `nvidia-smi nvlink --status`, of which the first link may be down."""
    lines = []
    for gpu, number in enumerate(links):
        lines.append(f"GPU {gpu}: NVIDIA GPU (UUID: GPU-{gpu})")
        for link in range(number):
            inactive = down and (gpu, link) == (0, 0)
            lines.append(f"\t Link {link}: {'<inactive>' if inactive else '26.562 GB/s'}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
