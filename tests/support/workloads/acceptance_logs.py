"""What the measurements of an acceptance print on a DGX H200 that is as it should be."""

import json
from typing import Any

from hardware.catalogue import load
from tests.support.workloads.nccl_output import H200

TUNED = json.dumps(
    {
        "day": "2026-11-22",
        "machine": {"gpus": "8 x NVIDIA H200", "driver": "570", "cpu": "Xeon", "kernel": "6.12"},
        "comparisons": [],
        "missing": [],
    }
)
BANNER = "== PyTorch ==\nNOTE: {this} is no JSON\n"


def gemm(*tflops: float) -> str:
    return BANNER + json.dumps({"tflops": tflops}) + "\n"


def numa(**changed: Any) -> str:
    """The probe's answer, with node 1 changed."""
    nodes = [
        {
            "id": node.id,
            "cpus": node.cpus,
            "memory_mib": 1031704,
            "pages": {str(node.id): 16384},
            "error": None,
        }
        for node in load("dgx-h200").numa_nodes
    ]
    nodes[1] |= changed
    return json.dumps({"machine": "dgx-01", "nodes": nodes})


ACCEPTED = {
    "nccl": H200,
    "gemm-host": gemm(*[700.0] * 8),
    "gemm-pod": gemm(*[699.0] * 8),
    "numa": numa(),
    "tuned": TUNED,
}
"""By the name of the log."""
