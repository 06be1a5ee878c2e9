"""Our transpiler beside the real Butane on random documents that meet every key."""

import json

from hypothesis import HealthCheck, Phase, given, settings

from ignition.butane import ButaneError, translate, transpile
from tests.conformance.butane_reference import reference
from tests.sweeps.butane_documents import documents

# no shrinking and no deadline: the process on the other side answers when it answers
often = settings(
    max_examples=150,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def compare(source: str) -> None:
    config = reference().transpile(source)
    try:
        mine, refusal = transpile(source), ""
    except ButaneError as error:
        mine, refusal = None, str(error)
    if mine is None:
        assert config is None, f"Butane takes what we refuse with: {refusal}"
        return
    assert config is not None, f"we take what Butane refuses with: {reference().report(source)}"
    assert json.dumps(mine) == json.dumps(config)
    assert reference().validate(json.dumps(mine)) == ""


@often
@given(documents(wrong=0))
def test_documents_of_usual_values_have_the_same_verdict_and_config(source: str) -> None:
    compare(source)


@often
@given(documents(wrong=0.02))
def test_documents_with_a_wrong_value_have_the_same_verdict_and_config(source: str) -> None:
    compare(source)


@often
@given(documents(wrong=0.15))
def test_documents_with_several_wrong_values_have_the_same_verdict(source: str) -> None:
    compare(source)


@often
@given(documents(wrong=0.1))
def test_warnings_that_may_pass_have_the_same_verdict_and_config(source: str) -> None:
    config = reference().transpile(source, lax=True)
    try:
        mine, refusal = translate(source, strict=False)[0], ""
    except ButaneError as error:
        mine, refusal = None, str(error)
    assert json.dumps(mine) == json.dumps(config), refusal
