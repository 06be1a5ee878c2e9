"""`python -m rehearsal.controllers.in_pod FOLDER SERVER FILE ARGUMENT…`: runs a program of ours.

FILE is the zipapp of its ConfigMap. It asks for the API server as a pod reaches it, whose address
and token are at fixed places in a pod; here the token is in FOLDER, and SERVER is host and port.
"""

import runpy
import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    """Run the program."""
    folder, server, file, *arguments = sys.argv[1:]
    host, _, port = server.rpartition(":")
    sys.path.insert(0, file)  # before the checkout, which has the same packages
    module = import_module("workloads.api_server")
    reached = module.ApiServer(host=host, port=int(port), account=Path(folder))
    vars(module)["of_pod"] = lambda: reached
    sys.argv = [file, *arguments]
    runpy.run_path(file, run_name="__main__")


if __name__ == "__main__":
    main()
