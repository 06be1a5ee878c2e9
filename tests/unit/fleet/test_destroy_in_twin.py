"""What `fleet destroy` does to a twin: it waits a short time alone, and says where it stopped."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fleet import in_twin
from fleet.cli.place import ROOT
from rehearsal.engine import Engine
from settings import load
from tests.support.kube_server import CLAIMS, serving
from tests.unit.fleet.test_destroy import DEPLOYED, resource, stack

POOL: dict[str, Any] = {
    "metadata": {"name": "burst-spot"},
    "spec": {"template": {"spec": {"terminationGracePeriod": "24h"}}},
}
NODE_POOL = resource("kubernetes:karpenter.sh/v1:NodePool", "burst-spot", inputs=POOL)


def test_machines_that_do_not_end_are_not_waited_for_a_day_and_what_is_known_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_twin, "DRAINED_WITHIN_S", 0.0)
    state = json.dumps({"deployment": {"resources": [*DEPLOYED, NODE_POOL]}})
    with serving() as cluster:
        cluster.node_pool("burst-spot")
        cluster.claim("burst-spot-1", "burst-spot")
        engine = stack(
            tmp_path,
            f"import sys\nif 'export' in sys.argv: print({state!r})\n"
            f"elif 'gpu-fleet:kubeconfig' in sys.argv: print({cluster.kubeconfig!r})\n"
            "else: sys.exit('configuration key not found for stack')",
        )
        monkeypatch.setattr(in_twin, "_stack", lambda _engine: engine)

        done = in_twin.take_down(
            cast("Engine", SimpleNamespace()),
            load(ROOT / "stacks/Pulumi.dev.yaml"),
            "http://127.0.0.1:1",
            lambda _text: None,
        )

        assert cluster.left(CLAIMS) == ["burst-spot-1"]
    assert done.failed.startswith("fleet destroy: After ")
    assert "1 rented machine is still there: burst-spot-1" in done.failed
    assert done.protected == {"dgx": "1 BareMetalHost"}
    assert done.left == (
        "BareMetalHost dgx-dev-dgx-01 (resources in the state)",
        "NodePool burst-spot (resources in the state)",
    )
