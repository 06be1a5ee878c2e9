"""What only the network knows: who one is at AWS, and whether the API server answers."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from fleet.doctor.finding import Finding
from settings import SettingsError, load, stack_file

WAIT_S = 10


def of_network(root: Path, environment: str | None) -> Iterator[Finding]:
    """Yield what is asked over the network."""
    if aws := shutil.which("aws"):
        yield _identity(aws)
    if environment is None:
        return
    try:
        endpoint = load(stack_file(root, environment)).cluster.endpoint
    except SettingsError:
        return  # whose mistakes have a row of their own
    yield _api_server(endpoint)


def _identity(aws: str) -> Finding:
    asked = (aws, "sts", "get-caller-identity", "--output", "json")
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=30)
        found, mend = str(json.loads(answer.stdout)["Arn"]), ""
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        found, mend = "AWS knows nobody by these credentials", "aws sso login"
    return Finding(purpose="deploy", what="AWS account", found=found, mend=mend, needed=False)


def _api_server(endpoint: str) -> Finding:
    host, _, port = endpoint.rpartition(":")
    found, mend = f"{endpoint} answers", ""
    try:
        socket.create_connection((host, int(port)), timeout=WAIT_S).close()
    except OSError as error:
        found = f"{endpoint} does not answer ({error.strerror or error})"
        mend = "check cluster.endpoint and the route to it: docs/real-account.md, step 1"
    return Finding(purpose="deploy", what="API server", found=found, mend=mend)
