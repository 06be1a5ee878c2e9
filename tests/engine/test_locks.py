"""Who has a stack, as the real engine says it, and that it changes nothing to say so."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from fleet.deployed_stack import DeployedStack
from fleet.resume.locks import locks_in
from toolchain.build import ensure

URN = "urn:pulumi:dev::gpu-fleet::aws:s3/bucket:Bucket::"
PROVIDER = "urn:pulumi:dev::gpu-fleet::pulumi:providers:aws::burst"
ID = "8f5e4ab8-5d0e-4a2e-8b07-0123456789ab"
CONFIG = "config:\n\n  gpu-fleet:admission: deny\n"
LOCK = {"pid": 77, "username": "ada", "hostname": "runner-7", "timestamp": "2026-11-24T00:41:00Z"}


@pytest.fixture(params=["plain", "gzipped"])
def stack(tmp_path: Path, request: pytest.FixtureRequest) -> DeployedStack:
    """A stack in a folder, with a bucket and another one that was being made."""
    (tmp_path / "state").mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: gpu-fleet\nruntime: python\n")
    config = tmp_path / "Pulumi.dev.yaml"
    tools = ensure(("pulumi",), console=None)
    variables = {
        **os.environ,
        **tools.environment(),
        "PULUMI_BACKEND_URL": f"file://{tmp_path / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": "of a test",
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_RUN_PROGRAM": "true",  # which there is none of
        **({"PULUMI_DIY_BACKEND_GZIP": "true"} if request.param == "gzipped" else {}),
    }
    made = DeployedStack(
        root=tmp_path,
        environment="dev",
        pulumi=tools.path("pulumi"),
        variables=variables,
        arguments=("--stack=dev", f"--config-file={config}"),
    )
    config.write_text(CONFIG)
    init = (made.pulumi, "stack", "init", "dev", "--non-interactive")
    subprocess.run(init, cwd=tmp_path, env=variables, check=True, capture_output=True)
    state = made.exported()
    provider = {"urn": PROVIDER, "custom": True, "type": "pulumi:providers:aws", "id": ID}
    state["deployment"] |= {
        "resources": [provider, {**bucket("data"), "id": "data"}],
        "pending_operations": [{"type": "creating", "resource": bucket("boot")}],
    }
    made.put_back(state)
    config.write_text(CONFIG)  # without the salt
    return made


def bucket(name: str) -> dict[str, object]:
    made = {"urn": URN + name, "custom": True, "type": "aws:s3/bucket:Bucket"}
    return {**made, "inputs": {"bucket": name}, "provider": f"{PROVIDER}::{ID}"}


def files(stack: DeployedStack) -> dict[Path, bytes]:
    """Those of the backend, and the stack file."""
    paths = [*(stack.root / "state").rglob("*"), *stack.root.glob("Pulumi.*")]
    return {path: path.read_bytes() for path in paths if path.is_file()}


def test_to_look_for_a_lock_changes_no_file(stack: DeployedStack) -> None:
    before = files(stack)
    assert stack.lock() is None
    assert files(stack) == before

    lock = stack.root / "state" / ".pulumi" / "locks" / "organization" / "gpu-fleet" / "dev"
    lock.mkdir(parents=True, exist_ok=True)
    (lock / "4b1a.json").write_text(json.dumps(LOCK))
    held = files(stack)
    (found,) = locks_in(stack.lock() or "")
    assert (found.who, found.process) == ("ada@runner-7", 77)
    assert files(stack) == held
