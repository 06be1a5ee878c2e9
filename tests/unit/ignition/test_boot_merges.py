"""How the parts of boot data meet: what is merged, fetched, unpacked and held to its hash."""

import base64
import dataclasses
import gzip
import hashlib
import json

from hardware.catalogue import load
from ignition.boot.config import read
from ignition.boot.kernel import command_line
from ignition.boot.node import boot
from ignition.write.render import data_url, join_ignition, tuning_ignition, with_merge
from tests.support.ignition.nodes import join, node, user_data

STORED = "s3://gpu-fleet-boot/dgx/join.ign"
JOIN = join_ignition(join()).encode()


def merged(source: str, sha512: str | None = None) -> str:
    return with_merge(tuning_ignition(node("dgx-h200")), source, sha512)


def test_a_secret_part_in_a_store_is_fetched_and_held_to_its_hash() -> None:
    config = merged(STORED, hashlib.sha512(JOIN).hexdigest())
    result = boot(config, load("dgx-h200"), fetch={STORED: JOIN}.__getitem__)
    assert result.problems == ()


def test_a_secret_part_with_another_hash_keeps_the_machine_out() -> None:
    config = merged(STORED, "0" * 128)
    result = boot(config, load("dgx-h200"), fetch=lambda _: JOIN)
    assert "has the sha512" in result.problems[0]
    assert "wants 000000000000…" in result.problems[0]


def test_a_store_that_has_nothing_keeps_the_machine_out() -> None:
    result = boot(merged(STORED), load("dgx-h200"), fetch=dict[str, bytes]().__getitem__)
    assert result.problems[0].startswith(f"ignition.config: {STORED} cannot be fetched")


def test_a_store_that_nobody_can_reach_is_named() -> None:
    result = boot(merged(STORED), load("dgx-h200"))
    assert "cannot be fetched here" in result.problems[0]


def test_a_compressed_secret_part_is_read() -> None:
    config = json.loads(merged(STORED))
    config["ignition"]["config"]["merge"][0]["compression"] = "gzip"
    packed = gzip.compress(JOIN)
    result = boot(json.dumps(config), load("dgx-h200"), fetch=lambda _: packed)
    assert result.problems == ()


def test_contents_that_are_not_gzip_are_named() -> None:
    config = json.loads(merged(STORED))
    config["ignition"]["config"]["merge"][0]["compression"] = "gzip"
    result = boot(json.dumps(config), load("dgx-h200"), fetch=lambda _: JOIN)
    assert "is not gzip" in result.problems[0]


def test_a_merged_file_replaces_the_one_before_it() -> None:
    labels = base64.b64encode(b"KUBELET_EXTRA_ARGS=--node-labels=a=b\n").decode()
    override = {
        "ignition": {"version": "3.4.0"},
        "storage": {
            "files": [
                {
                    "path": "/etc/sysconfig/kubelet",
                    "contents": {"source": f"data:;base64,{labels}"},
                }
            ]
        },
    }
    config = with_merge(user_data(node("dgx-h200")), data_url(json.dumps(override)))
    problems = boot(config, load("dgx-h200")).problems
    assert sum("is missing from /etc/sysconfig/kubelet" in problem for problem in problems) == 5


def test_a_merged_unit_keeps_what_the_first_one_says() -> None:
    first = {
        "name": "a.service",
        "enabled": True,
        "contents": "[Install]",
        "dropins": [{"name": "1.conf", "contents": "one"}, {"name": "2.conf", "contents": "two"}],
    }
    second = {
        "name": "a.service",
        "enabled": False,
        "dropins": [{"name": "2.conf", "contents": "2"}, {"name": "3.conf", "contents": "3"}],
    }
    configs = [
        {"ignition": {"version": "3.4.0"}, "systemd": {"units": [unit]}} for unit in (first, second)
    ]
    unit = read(
        with_merge(json.dumps(configs[0]), data_url(json.dumps(configs[1]))), None, []
    ).units["a.service"]
    assert (unit.contents, unit.enabled) == ("[Install]", False)
    assert unit.dropins == {"1.conf": "one", "2.conf": "2", "3.conf": "3"}


def test_an_argument_that_stands_on_the_command_line_is_dropped() -> None:
    items = ("a=1 b=2", "b=2", "c", "1 b", "a=1 b=2 c")
    assert command_line(items) == ("a=1", "b=2", "c", "1", "b")


def test_a_merged_link_replaces_a_file_of_its_path() -> None:
    override = {
        "ignition": {"version": "3.4.0"},
        "storage": {"links": [{"path": "/etc/sysconfig/kubelet", "target": "/dev/null"}]},
    }
    config = with_merge(user_data(node("dgx-h200")), data_url(json.dumps(override)))
    assert boot(config, load("dgx-h200")).node is None


def test_a_snippet_takes_part_in_the_boot() -> None:
    snippet = (
        "variant: flatcar\nversion: 1.1.0\nkernel_arguments:\n  should_exist: [nohz_full=4-55]\n"
    )
    of = dataclasses.replace(node("dgx-h200"), snippets=(snippet,))
    assert any("nohz_full" in problem for problem in boot(user_data(of), of.hardware).problems)
