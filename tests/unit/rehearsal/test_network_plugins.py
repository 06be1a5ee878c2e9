"""Which device plugins for network cards the program has made."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from components.platform.rdma import Rails, RdmaDevices, RdmaDevicesArgs
from rehearsal.api import Api
from rehearsal.network_plugins import DAEMON_SETS, NetworkPlugins
from rehearsal.providers.cloud import FILE, CloudObject
from rehearsal.providers.values import Value
from settings.names import RELEASE
from tests.support.recorder import Registered, named, render


class FakeApi:
    """A cluster with the DaemonSets that the program registers."""

    def __init__(self, made: list[Registered]) -> None:
        self.made = made

    def items(self, path: str) -> list[dict[str, Any]]:
        assert path == DAEMON_SETS
        return [dict(each.inputs) for each in self.made]


def read(folder: Path, *, pools: dict[str, int], efa: bool) -> NetworkPlugins:
    rails = {pool: Rails(devices=["mlx5_0"], pods=pods) for pool, pods in pools.items()}
    made = render(lambda: RdmaDevices("rdma", RdmaDevicesArgs(rails=rails, efa=efa)))
    releases = [
        CloudObject(
            provider="kubernetes",
            type=RELEASE,
            id="efa",
            name=name,
            inputs=cast("dict[str, Value]", release.inputs),
            outputs={},
        )
        for name, release in named(made, "Release").items()
    ]
    (folder / FILE).write_text(json.dumps([asdict(each) for each in releases]))
    api = FakeApi(list(named(made, "DaemonSet").values()))
    return NetworkPlugins.read(cast("Api", api), folder)


def test_as_many_pods_may_share_the_rails_as_the_daemon_set_says(tmp_path: Path) -> None:
    assert read(tmp_path, pools={"dgx": 16, "b200": 8}, efa=False) == NetworkPlugins(
        rdma={"dgx": 16, "b200": 8}, efa=False
    )


def test_efa_is_offered_where_its_chart_is_installed(tmp_path: Path) -> None:
    assert read(tmp_path, pools={}, efa=True).efa
