"""Local files, warnings that may pass, and places of mistakes: ours beside the real Butane's."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ignition.butane import ButaneError, FilesDir, translate
from tests.conformance.test_butane import CASES, document
from tests.support.butane_reference import reference

PLACE = re.compile(r"(warning|error) at \S+, line (\d+) col \d+")
# Butane gives up at the first value of a wrong type, has no line for it, and none inside a merge
WITHOUT_LINES = {
    "a key given twice",
    "a list for a mapping",
    "a mapping for a list",
    "a mapping for a string",
    "a word for a number",
    "a quoted number",
    "a quoted boolean",
    "a merge with a wrong type",
    "a merge with an unknown key",
}
LOCAL = {
    "a file": "storage: {files: [{path: /a, contents: {local: text}}]}",
    "a file that is compressed already": (
        "storage: {files: [{path: /a, contents: {local: text, compression: gzip}}]}"
    ),
    "bytes": "storage: {files: [{path: /a, append: [{local: bytes}]}]}",
    "a unit": "systemd: {units: [{name: a.service, contents_local: unit}]}",
    "a drop-in": (
        "systemd: {units: [{name: a.service, dropins: [{name: b.conf, contents_local: unit}]}]}"
    ),
    "a unit with two texts": (
        "systemd: {units: [{name: a.service, contents: '[A]', contents_local: unit}]}"
    ),
    "an empty name": "systemd: {units: [{name: a.service, contents_local: ''}]}",
    "keys": (
        "passwd: {users: [{name: a, ssh_authorized_keys: [first],"
        " ssh_authorized_keys_local: [keys, keys]}]}"
    ),
    "a merge": "ignition: {config: {merge: [{local: merged-VERSION}]}}",
    "a tree": "storage: {trees: [{local: tree}]}",
    "a tree at a path": "storage: {trees: [{local: tree, path: /opt/x}]}",
    "a part of a tree": "storage: {trees: [{local: tree/etc, path: /etc/}]}",
    "trees that meet": "storage: {trees: [{local: tree}, {local: tree}]}",
    "a tree that fills files": (
        "storage: {files: [{path: /etc/b, mode: 0600, user: {id: 5}},"
        " {path: /bin/run, contents: {compression: gzip}}], links: [{path: /etc/link}],"
        " trees: [{local: tree}]}"
    ),
    "a tree over a file with contents": (
        "storage: {files: [{path: /etc/b, contents: {inline: x}}], trees: [{local: tree}]}"
    ),
    "a tree over a directory": ("storage: {directories: [{path: /etc/b}], trees: [{local: tree}]}"),
    "a tree below a link": "storage: {links: [{path: /etc, target: /x}], trees: [{local: tree}]}",
    "a tree over a mount unit": (
        "storage: {filesystems: [{device: /dev/sda, format: xfs, path: /d, with_mount_unit: true}],"
        " trees: [{local: units, path: /etc/systemd/system}]}"
    ),
    "a tree that is a file": "storage: {trees: [{local: text}]}",
    "a tree without name": "storage: {trees: [{path: /a}]}",
    "a tree that is missing": "storage: {trees: [{local: nowhere}]}",
    "a file that is missing": "storage: {files: [{path: /a, contents: {local: nowhere}}]}",
    "a file outside": "storage: {files: [{path: /a, contents: {local: ../outside}}]}",
    "a tree outside": "storage: {trees: [{local: ..}]}",
    "a directory for a file": "storage: {files: [{path: /a, contents: {local: tree}}]}",
    "two sources": "storage: {files: [{path: /a, contents: {local: text, inline: x}}]}",
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "outside").write_text("no one's business\n")
    root = tmp_path / "files"
    for name, text in {
        "text": "hello <world>\n",
        "unit": "[Unit]\nDescription=x\n",
        "keys": "ssh-ed25519 AAAA one\r\n\nssh-ed25519 BBBB two\n",
        "merged-1.0.0": '{"ignition":{"version":"3.3.0"}}',
        "merged-1.1.0": '{"ignition":{"version":"3.4.0"}}',
        "tree/etc/b": "b\n",
        "tree/etc/a/c": "c\n",
        "tree/etc/a.d": "d\n",
        "tree/bin/run": "#!/bin/sh\n",
        "units/d.mount": "[Mount]\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
    (root / "bytes").write_bytes(bytes(range(256)))
    (root / "tree/bin/run").chmod(0o755)
    (root / "tree/etc/link").symlink_to("../bin/run")
    return root


def ours(source: str, *, strict: bool, files_dir: Path | None = None) -> dict[str, Any] | None:
    files = None if files_dir is None else FilesDir(files_dir)
    try:
        return translate(source, strict=strict, files=files)[0]
    except ButaneError:
        return None


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
@pytest.mark.parametrize("case", LOCAL)
def test_local_files_become_the_same_config(case: str, version: str, files: Path) -> None:
    source = document(LOCAL[case].replace("VERSION", version), version)
    config = reference().transpile(source, files_dir=files)
    assert json.dumps(ours(source, strict=True, files_dir=files)) == json.dumps(config)


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
@pytest.mark.parametrize("case", CASES["refused"])
def test_a_warning_that_may_pass_leaves_the_same_config(case: str, version: str) -> None:
    source = document(CASES["refused"][case][1], version)
    config = reference().transpile(source, lax=True)
    assert json.dumps(ours(source, strict=False)) == json.dumps(config)


@pytest.mark.parametrize("case", sorted(CASES["refused"].keys() - WITHOUT_LINES))
def test_a_mistake_stands_where_butane_sees_it(case: str) -> None:
    source = document(CASES["refused"][case][1])
    theirs = set(PLACE.findall(reference().report(source)))
    with pytest.raises(ButaneError) as caught:
        translate(source)
    said = "\n".join(problem.report() for problem in caught.value.found)
    assert set(PLACE.findall(said)) == theirs
