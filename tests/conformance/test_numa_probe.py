"""The NUMA probe of the acceptance runs for real on the Linux machine that runs the tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workloads.acceptance.numa.program import program


def test_memory_asked_of_a_node_of_this_machine_comes_from_it(tmp_path: Path) -> None:
    if not Path("/proc/self/numa_maps").exists():
        pytest.skip("this kernel has no NUMA support")
    path = tmp_path / "probe.pyz"
    path.write_bytes(program())
    done = subprocess.run(
        [sys.executable, "-I", "-S", path, "--mib=16"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    nodes = json.loads(done.stdout)["nodes"]
    online = Path("/sys/devices/system/node/node0/cpulist").read_text().strip()
    assert (nodes[0]["id"], nodes[0]["cpus"]) == (0, online)
    if nodes[0]["error"]:
        pytest.skip(f"this container forbids to bind memory: {nodes[0]['error']}")
    assert nodes[0]["pages"] == {"0": 16 * 1024 // 4}
