"""The YAML that kubeadm writes, read without a library: as PyYAML reads it, or refused."""

import pytest
import yaml

from tests.support.workloads.dgx_tree import KUBELET_CONFIG
from workloads.node_check.yaml_lines import YamlLinesError, parse

NESTED = """\
---
# written by kubeadm
a:
  b:
    - - x
    - c: 1
      d:
      - e
      - 'it''s'
  f: "0-3,56"
g: []
h:
- i: j
k:
"""


@pytest.mark.parametrize(
    "text", [KUBELET_CONFIG, NESTED.replace("    - - x\n", ""), "a: b\n", "", "# nothing\n"]
)
def test_it_reads_what_yaml_reads_with_every_scalar_as_text(text: str) -> None:
    read = yaml.load(text, yaml.BaseLoader) or {}  # noqa: S506  # it makes texts alone
    assert parse(text) == {key: None if value == "" else value for key, value in read.items()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: |\n  x\n", r"line 1 has '\|', which kubeadm does not write"),
        ("a: {b: c}\n", "line 1 has '{'"),
        ("a: *x\n", r"line 1 has '\*'"),
        ("a\n", 'line 1 is no "key: value"'),
        ("a:\n    b: c\n  d: e\n", "line 3 is indented unlike those before it"),
        ("- a\n", "a sequence instead of a mapping"),
        ('a: "x\n', "line 1: Unterminated string"),
    ],
)
def test_it_refuses_what_it_does_not_know(text: str, message: str) -> None:
    with pytest.raises(YamlLinesError, match=message):
        parse(text)
