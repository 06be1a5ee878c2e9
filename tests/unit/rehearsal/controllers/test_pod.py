"""What the kubelet would start of a pod."""

import base64
import stat
from pathlib import Path
from typing import Any

from rehearsal.controllers.pod import container, contents

SPEC: dict[str, Any] = {
    "containers": [
        {
            "command": ["serve"],
            "args": ["--conf=/etc/app/app.conf", "--tls=/etc/tls/tls.crt", "-v=3", "2>&1"],
            "env": [
                {"name": "SOCKETS", "value": "/run/sockets"},
                {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            ],
            "volumeMounts": [
                {"name": "settings", "mountPath": "/etc/app"},
                {"name": "certificate", "mountPath": "/etc/tls"},
                {"name": "sockets", "mountPath": "/run/sockets"},
            ],
        }
    ],
    "volumes": [
        {"name": "settings", "configMap": {"name": "app"}},
        {"name": "certificate", "secret": {"secretName": "pair"}},
        {"name": "sockets", "emptyDir": {}},
    ],
}
FILES = {"app": {"app.conf": b"a: 1"}, "pair": {"tls.crt": b"PEM"}}


def test_the_container_finds_its_volumes_where_its_arguments_say(tmp_path: Path) -> None:
    found = container(SPEC, tmp_path, FILES)
    program, conf, tls, level = found.words
    assert (program, level) == ("serve", "-v=3")
    assert Path(conf.removeprefix("--conf=")).read_bytes() == b"a: 1"
    assert Path(tls.removeprefix("--tls=")).read_bytes() == b"PEM"


def test_only_the_owner_can_read_them(tmp_path: Path) -> None:
    container(SPEC, tmp_path, FILES)
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert found
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}


def test_words_for_a_shell_are_left_out_and_variables_without_a_value(tmp_path: Path) -> None:
    found = container(SPEC, tmp_path, FILES)
    assert "2>&1" not in found.words
    assert found.variables == {"SOCKETS": str(tmp_path / "sockets")}
    assert (tmp_path / "sockets").is_dir()


def test_a_changed_config_map_changes_the_file_in_place(tmp_path: Path) -> None:
    container(SPEC, tmp_path, FILES)
    container(SPEC, tmp_path, {**FILES, "app": {"app.conf": b"a: 2"}})
    assert [path.read_bytes() for path in (tmp_path / "settings").iterdir()] == [b"a: 2"]


def test_a_config_map_has_texts_and_bytes() -> None:
    config_map = {"data": {"a": "text"}, "binaryData": {"b": base64.b64encode(b"\0").decode()}}
    assert contents(config_map) == {"a": b"text", "b": b"\0"}
