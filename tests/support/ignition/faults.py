"""Changes to the final Ignition of a node, as a slip or a bug would make them."""

import base64
import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import unquote

from hardware.catalogue import load
from ignition.boot.node import boot
from tests.support.ignition.nodes import TOKEN, node, user_data

Change = Callable[[dict[str, Any]], None]
PATCH = "/etc/kubernetes/patches/kubeletconfiguration+merge.json"
JOIN = "/etc/kubernetes/join.yaml"


@cache
def _dgx() -> str:
    """The whole boot data of a DGX that boots."""
    return user_data(node("dgx-h200"))


def refusal(change: Change) -> tuple[str, ...]:
    """Why a DGX stays out whose boot data has a change."""
    assert boot(_dgx(), load("dgx-h200")).problems == ()
    booted = boot(changed(_dgx(), change), load("dgx-h200"))
    assert booted.node is None
    return booted.problems


def assert_named(change: Change, says: str) -> None:
    """A fault keeps the DGX out; a problem says so, and none shows the token."""
    problems = refusal(change)
    assert any(re.search(says, problem) for problem in problems), problems
    assert not any(TOKEN in problem for problem in problems)


def changed(user_data: str, change: Change) -> str:
    """The user data with a change to it, its merged parts included."""
    config = json.loads(user_data)
    merged = config["ignition"].pop("config", {"merge": []})["merge"]
    for resource in merged:
        child = json.loads(decoded(resource["source"]))
        config["storage"]["files"] += child["storage"]["files"]
    change(config)
    return json.dumps(config)


def decoded(source: str) -> str:
    """The text of a data URL."""
    kind, _, data = source.partition(",")
    return base64.b64decode(data).decode() if kind.endswith("base64") else unquote(data)


def encoded(text: str) -> str:
    """A data URL of the text."""
    return f"data:;base64,{base64.b64encode(text.encode()).decode()}"


def argument(old: str, new: str | None) -> Change:
    """Every kernel argument that begins with `old` becomes `new`, or goes; "" adds one."""

    def change(config: dict[str, Any]) -> None:
        given = config["kernelArguments"]["shouldExist"]
        if not old:
            given.append(new)
            return
        assert any(each.startswith(old) for each in given), f"no argument begins with {old}"
        config["kernelArguments"]["shouldExist"] = [
            new if each.startswith(old) else each
            for each in given
            if new is not None or not each.startswith(old)
        ]

    return change


def file(path: str, edit: Callable[[str], str]) -> Change:
    """The text of a file is edited."""

    def change(config: dict[str, Any]) -> None:
        contents = find(config, "files", path)["contents"]
        before = decoded(contents["source"])
        after = edit(before)
        assert after != before, f"{path} was not changed"
        contents["source"] = encoded(after)

    return change


def everywhere(old: str, new: str) -> Change:
    """A text is replaced wherever it stands in plain sight."""

    def change(config: dict[str, Any]) -> None:
        before = json.dumps(config)
        assert old in before, f"{old} stands nowhere"
        config.update(json.loads(before.replace(old, new)))

    return change


def text(path: str, old: str, new: str) -> Change:
    """A piece of a file's text is replaced."""
    return file(path, lambda before: before.replace(old, new))


def kubelet(**fields: Any) -> Change:
    """Fields of the kubelet patch get other values; None removes one."""

    def edit(before: str) -> str:
        patch = json.loads(before) | fields
        return json.dumps({key: value for key, value in patch.items() if value is not None})

    return file(PATCH, edit)


def kubelet_and_plan(**fields: Any) -> Change:
    """Fields of the kubelet patch get other values, and the plan of the node says the same."""

    def edit(before: str) -> str:
        plan = json.loads(before)
        plan["kubelet"] |= fields
        return json.dumps(plan)

    return both(kubelet(**fields), file("/etc/fleet/plan.json", edit))


def both(*changes: Change) -> Change:
    """One change after another."""

    def change(config: dict[str, Any]) -> None:
        for each in changes:
            each(config)

    return change


def of(kind: str, path: str, /, **values: Any) -> Change:
    """An entry of files, links or units gets other values; an empty change removes the entry."""

    def change(config: dict[str, Any]) -> None:
        entry = find(config, kind, path)
        entry.update(values)
        if not values:
            entries(config, kind).remove(entry)

    return change


def added(kind: str, /, **values: Any) -> Change:
    """An entry is added to files, links or units."""
    return lambda config: entries(config, kind).append(values)


def unit(name: str, old: str, new: str) -> Change:
    """A piece of a unit's text is replaced."""

    def change(config: dict[str, Any]) -> None:
        entry = find(config, "units", name)
        assert old in entry["contents"], f"{name} has no {old}"
        entry["contents"] = entry["contents"].replace(old, new)

    return change


def entries(config: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The list of files, links or units."""
    found: list[dict[str, Any]] = config["systemd" if kind == "units" else "storage"][kind]
    return found


def find(config: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    """The entry of that path or name."""
    return next(
        each for each in entries(config, kind) if name in (each.get("path"), each.get("name"))
    )


def written(path: str, contents: str, mode: int = 0o644) -> Change:
    """A file is added."""
    return added("files", path=path, mode=mode, contents={"source": encoded(contents)})


def storage(kind: str, **values: Any) -> Change:
    """An entry is added to a list of storage."""
    return lambda config: config["storage"].setdefault(kind, []).append(values)


def link(path: str, target: str) -> Change:
    """A link is added."""
    return added("links", path=path, target=target)


def network(name: str, contents: str) -> Change:
    """A file of systemd-networkd is added."""
    return written(f"/etc/systemd/network/{name}", contents)


def dropin(name: str, contents: str) -> Change:
    """A drop-in of a unit is added."""
    return added("units", name=name, dropins=[{"name": "99-own.conf", "contents": contents}])


def own_unit(name: str, contents: str) -> Change:
    """A unit that is enabled is added."""
    return added("units", name=name, enabled=True, contents=contents)


def runs(command: str) -> Change:
    """A unit that runs a command at each boot is added."""
    return own_unit(
        "own.service",
        f"[Service]\nType=oneshot\nExecStart={command}\n[Install]\nWantedBy=multi-user.target\n",
    )


def data_mount(what: str, by: str) -> Change:
    """A mount of `what` is added; `by` says who wants or requires it."""
    contents = f"[Mount]\nWhat={what}\nWhere=/data\nType=xfs\n[Install]\n{by}\n"
    return own_unit("data.mount", contents)
