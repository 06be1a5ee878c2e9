"""Whatever stands in a configuration, the boot check answers; it never breaks."""

import base64
import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hardware.catalogue import load
from ignition.boot.node import boot
from tests.support.ignition.faults import JOIN, PATCH, changed, decoded, find
from tests.support.ignition.nodes import node, user_data

DGX = load("dgx-h200")
CONFIG: dict[str, Any] = json.loads(changed(user_data(node("dgx-h200")), lambda _: None))
Path = tuple[str | int, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every place in JSON where another value could stand."""
    if path:
        yield path
    children: Any = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    for key, child in children:
        yield from places(child, (*path, key))


def replaced(value: Any, path: Path, junk: object) -> Any:
    """The value with something else at a place."""
    value = copy.deepcopy(value)
    target = value
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = junk
    return value


INNER = {
    name: json.loads(decoded(find(CONFIG, "files", name)["contents"]["source"]))
    for name in (PATCH, JOIN)
}
JUNK = st.sampled_from([None, 0, -1, 1.5, True, "", "x", "0-3", [], [1], ["a"], {}, {"a": 1}, "1%"])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(list(places(CONFIG))), JUNK)
def test_junk_anywhere_in_the_config_gets_an_answer(path: Path, junk: object) -> None:
    booted = boot(json.dumps(replaced(CONFIG, path, junk)), DGX)
    assert (booted.node is None) is bool(booted.problems)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([(name, path) for name, value in INNER.items() for path in places(value)]), JUNK
)
def test_junk_in_what_kubelet_and_kubeadm_read_gets_an_answer(
    place: tuple[str, Path], junk: object
) -> None:
    name, path = place
    config = copy.deepcopy(CONFIG)
    text = json.dumps(replaced(INNER[name], path, junk)).encode()
    source = f"data:;base64,{base64.b64encode(text).decode()}"
    find(config, "files", name)["contents"]["source"] = source
    booted = boot(json.dumps(config), DGX)
    assert (booted.node is None) is bool(booted.problems)


@given(st.text(max_size=60))
def test_any_text_as_user_data_gets_an_answer(text: str) -> None:
    assert boot(text, DGX).problems
