"""What the transpiler says of documents that it refuses. Where it equals Butane: tests/sweeps."""

import pytest

from ignition.butane import ButaneError, transpile

HEADER = "variant: flatcar\nversion: 1.1.0\n"


def problems(source: str) -> tuple[str, ...]:
    with pytest.raises(ButaneError) as caught:
        transpile(source)
    return caught.value.problems


def test_an_empty_document_is_an_empty_configuration() -> None:
    assert transpile(HEADER) == {"ignition": {"version": "3.4.0"}}


def test_the_older_version_becomes_older_ignition() -> None:
    assert transpile(HEADER.replace("1.1.0", "1.0.0")) == {"ignition": {"version": "3.3.0"}}


def test_a_problem_has_the_path_and_the_line() -> None:
    source = f"{HEADER}storage:\n  files:\n    - path: /a\n    - path: /b\n      mode: 644\n"
    assert problems(source) == (
        "$.storage.files.1.mode, line 7: 644 looks like octal; write 0644",
        "$.storage.files.1.mode, line 7: 1204: setuid, setgid and sticky bits are not written",
    )


def test_a_problem_of_the_result_has_the_line_of_its_source() -> None:
    source = f"{HEADER}systemd:\n  units:\n    - name: a.service\n    - name: b\n"
    assert problems(source)[0].startswith("$.systemd.units.1.name, line 6: ")


def test_a_problem_of_what_is_missing_has_the_line_of_its_parent() -> None:
    source = f"{HEADER}storage:\n  links:\n    - path: /a\n"
    assert problems(source) == ("$.storage.links.0.target, line 5: a link needs a target",)


def test_all_mistakes_of_a_document_come_at_once() -> None:
    source = f"{HEADER}storage: {{files: [{{path: /a, mode: x}}, {{pth: /b}}]}}\nnetworkd: {{}}\n"
    assert [problem.split(",")[0] for problem in problems(source)] == [
        "$.storage.files.0.mode",
        "$.storage.files.1.pth",
        "$.networkd",
    ]


def test_a_mistake_in_yaml_is_one_sentence_with_its_line() -> None:
    (sentence,) = problems(f"{HEADER}storage: [")
    assert sentence.startswith("the text is not YAML: ")
    assert "line 4" in sentence


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("version: 1.1.0\n", '$.variant: must be flatcar, not ""'),
        ("variant: fcos\nversion: 1.5.0\n", '$.variant: must be flatcar, not "fcos"'),
        (HEADER.replace("1.1.0", "1.2.0"), "$.version: must be 1.0.0 or 1.1.0 for flatcar"),
    ],
)
def test_a_variant_or_version_that_flatcar_has_not_is_refused(source: str, says: str) -> None:
    assert problems(source)[0].startswith(says)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("storage: {files: [{path: !!str /a}]}", "the tag tag:yaml.org,2002:str is not read"),
        ("storage: {files: [{path: /a, mode: 1.5}]}", 'must be of type integer, not "1.5"'),
        ("storage:\n  files:\n    -\n", "is empty"),
        ("a: &a {b: c}\nstorage: *a\n", "unused key a"),
        ("---\nvariant: flatcar\n", "the text is not YAML"),
    ],
)
def test_slips_that_butane_lets_pass_are_refused(body: str, says: str) -> None:
    assert any(says in problem for problem in problems(f"{HEADER}{body}"))
