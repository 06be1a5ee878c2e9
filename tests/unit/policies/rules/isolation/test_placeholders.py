"""The rule on plain manifests: what is not filled in is told once."""

import pytest

from policies.rules.isolation import clear_secrets, image_digest
from policies.rules.isolation.placeholders import RULE
from tests.support.policies.gpu_pods import container, pod

TOKEN = {"name": "HF_TOKEN", "value": "${HF_TOKEN}"}


def told(manifest: dict[str, object]) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, RULE.defaults())


def test_an_object_with_many_placeholders_is_told_once() -> None:
    first = {**container("first"), "image": "$IMAGE", "env": [TOKEN]}
    manifest = pod(first, {**container("second"), "env": [TOKEN]})

    must = "must name its image: a placeholder is not judged."
    assert told(manifest) == [f"Pod 'p': container 'first' {must}"]


def test_a_placeholder_is_told_by_no_other_rule() -> None:
    manifest = pod({**container(), "image": "train:${TAG}", "env": [TOKEN]})

    assert len(told(manifest)) == 1
    for rule in (clear_secrets.RULE, image_digest.RULE):
        assert rule.predicate is not None
        assert rule.predicate(manifest, rule.defaults()) == []


@pytest.mark.parametrize(
    "value",
    [
        "<HF_token>",
        "<your token>",
        "<API-KEY>",
        "PLACEHOLDER_HF_TOKEN",
        "placeholder",
        "your-token",
    ],
)
def test_words_that_stand_for_a_secret_are_placeholders_and_no_secrets(value: str) -> None:
    manifest = pod({**container(), "env": [{**TOKEN, "value": value}]})

    assert len(told(manifest)) == 1
    assert clear_secrets.RULE.predicate is not None
    assert clear_secrets.RULE.predicate(manifest, {}) == []


@pytest.mark.parametrize("value", ["<pad>", "<s>", "<|endoftext|>", "[PAD]"])
def test_tokens_of_a_tokenizer_are_no_placeholders(value: str) -> None:
    assert told(pod({**container(), "env": [{"name": "PAD_TOKEN", "value": value}]})) == []


def test_a_default_in_a_placeholder_is_a_value_and_no_placeholder() -> None:
    manifest = pod({**container(), "env": [{**TOKEN, "value": "${HF_TOKEN:-hunter2}"}]})

    assert told(manifest) == []
    assert clear_secrets.RULE.predicate is not None
    assert clear_secrets.RULE.predicate(manifest, {}) != []


def test_what_is_no_secret_may_be_filled_in_later() -> None:
    path = {"name": "PATH", "value": "${HOME}/bin"}

    assert told(pod({**container(), "image": "train:1", "env": [path]})) == []
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    assert told({**data, "data": {"region": "${REGION}"}}) == []
    assert told({**data, "data": {"password": "${PASSWORD}"}}) != []
