"""Snippets of a pool: the one way to extend what its machines boot with."""

import dataclasses
import json

from ignition.boot.node import boot
from ignition.butane.urls import decode
from ignition.write.payload import Merge, data_url, merged
from ignition.write.render import join_ignition, tuning_ignition
from settings import load, stack_file
from settings.node_boot import node_boot, node_versions
from settings.versions import FLATCAR
from tests.conftest import ROOT
from tests.support.ignition.nodes import join

MOTD = "variant: flatcar\nversion: 1.1.0\nstorage:\n  files:\n    - path: /etc/motd\n"


def test_a_pools_snippet_is_merged_into_what_its_machines_boot_with() -> None:
    settings = load(stack_file(ROOT, "dev"))
    pool = settings.pools["dgx"]
    pool = dataclasses.replace(pool, declared=dataclasses.replace(pool.declared, snippets=(MOTD,)))
    node = node_boot(pool, node_versions(settings.versions))
    assert node.flatcar == FLATCAR
    plain = tuning_ignition(node)
    (merge,) = json.loads(plain)["ignition"]["config"]["merge"]
    assert json.loads(decode(merge["source"]))["storage"]["files"][0]["path"] == "/etc/motd"
    machine = boot(merged(plain, (Merge(source=data_url(join_ignition(join()))),)), node.hardware)
    assert machine.problems == ()
