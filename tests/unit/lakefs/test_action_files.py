"""Action files: what lakeFS would run, and what it would only refuse at the first merge."""

from typing import Any

import lupa  # type: ignore[import-untyped]  # it has no stubs
import pytest
import yaml

from lakefs.action_files import metadata_gate, problems, webhook_gate


def gate() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(
        metadata_gate("merge-check", branches=["main"], required=["team", "seed"])
    )
    return document


def test_rendered_action_files_have_no_problem() -> None:
    assert not problems(yaml.safe_dump(gate()))
    assert not problems(webhook_gate("w", branches=["main"], url="https://check.example"))


def test_the_gate_stands_before_a_merge_into_its_branches() -> None:
    assert gate()["on"] == {"pre-merge": {"branches": ["main"]}}
    (hook,) = gate()["hooks"]
    assert hook["type"] == "lua"
    assert hook["properties"]["args"] == {"team": {}, "seed": {}}


def test_a_webhook_has_its_address_and_its_patience() -> None:
    document = yaml.safe_load(
        webhook_gate("w", branches=["main"], url="https://check.example", timeout_seconds=90)
    )
    (hook,) = document["hooks"]
    assert hook["properties"] == {"url": "https://check.example", "timeout": "90s"}


@pytest.mark.parametrize(
    ("metadata", "refused"),
    [
        ({"team": "equities", "seed": "1"}, None),
        ({"team": "equities"}, "must carry the metadata field seed"),
        ({"team": "equities", "seed": ""}, "must carry the metadata field seed"),
        (None, "must carry the metadata field"),
        ({"managed-by": "gpu-fleet"}, None),
    ],
)
def test_the_script_lets_pass_what_says_where_it_comes_from(
    metadata: dict[str, str] | None, refused: str | None
) -> None:
    lua = lupa.LuaRuntime()
    (hook,) = gate()["hooks"]
    table = lua.table_from
    lua.globals().args = table({key: table({}) for key in hook["properties"]["args"]})
    commit = table({} if metadata is None else {"metadata": table(metadata)})
    lua.globals().action = table({"branch_id": "main", "commit": commit})
    if refused is None:
        lua.execute(hook["properties"]["script"])
    else:
        with pytest.raises(lupa.LuaError, match=refused):
            lua.execute(hook["properties"]["script"])


DAG = {"id": "a", "type": "airflow"}
USER = {"username": "u", "password": "p"}
RUN = {"dag_id": "d", "username": "u"}
HOOK = {"id": "a", "type": "webhook", "properties": {"url": "https://check.example"}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("on: [", "It is not YAML"),
        ("- a list", "must be a mapping"),
        ({"hooks": [HOOK]}, "`on` must name at least one event"),
        ({"on": {"before-merge": None}, "hooks": [HOOK]}, "names the event 'before-merge'"),
        ({"on": {"pre-merge": {"branches": "main"}}, "hooks": [HOOK]}, "must be a list of globs"),
        ({"on": {"pre-merge": None}}, "`hooks` must be a list"),
        ({"on": {"pre-merge": None}, "hooks": [{"type": "lua"}]}, "must have an id"),
        ({"on": {"pre-merge": None}, "hooks": [HOOK, HOOK]}, "repeats the id 'a'"),
        (
            {"on": {"pre-merge": None}, "hooks": [{**HOOK, "type": "shell"}]},
            "has the type 'shell'; allowed: airflow, lua, webhook",
        ),
        (
            {"on": {"pre-merge": None}, "hooks": [{"id": "a", "type": "webhook"}]},
            "of type webhook must have url",
        ),
        ({"on": {"pre-merge": None}, "hooks": [{"id": "a", "type": "lua"}]}, "script_path"),
        (
            {"on": {"pre-merge": None}, "hooks": [{**DAG, "properties": {"url": "u"} | USER}]},
            "of type airflow must have dag_id",
        ),
        (
            {"on": {"pre-merge": None}, "hooks": [{**DAG, "properties": {"url": "u"} | RUN}]},
            "of type airflow must have password",
        ),
    ],
)
def test_a_file_that_lakefs_would_not_run_is_one_sentence(content: object, said: str) -> None:
    text = content if isinstance(content, str) else yaml.safe_dump(content)
    (problem,) = problems(text)
    assert said in problem
    assert problem.endswith(".")


def test_a_bare_on_is_the_word_and_not_a_boolean() -> None:
    assert not problems(
        "on:\n  pre-merge:\nhooks:\n- {id: a, type: webhook, properties: {url: u}}\n"
    )
