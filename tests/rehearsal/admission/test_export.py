"""An exported bundle at an API server says of the corpus what `fleet check` says."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from typer.testing import CliRunner

from fleet.check.judging import check
from fleet.check.reading import ReadObject, ReadResult
from fleet.cli.main import app
from fleet.rules.export import NEEDS_POOLS, NEEDS_QUEUES, configured
from policies.configuration import ConfiguredRule
from policies.gates.pack_config import POLICY
from policies.language.facts import KEY
from policies.verdicts import Resource
from tests.rehearsal.admission.cases import CASES
from tests.rehearsal.admission.test_same_verdict import AT_ONCE
from tests.support import corpus
from tests.support.admission.objects import Object
from tests.support.admission.server import ADMITTED, Answer, Server
from toolchain.build import ensure

HELD = {rule.id for rule in ADMITTED}
ENVIRONMENT = yaml.safe_load((corpus.FOLDER / "environment.yaml").read_text())
FACTS, TODAY = ENVIRONMENT[KEY], date.fromisoformat(ENVIRONMENT["today"])
OF_THE_CLUSTER = (
    "CiliumClusterwideNetworkPolicy",
    "ClusterRole",
    "ClusterRoleBinding",
    "EC2NodeClass",
    "Namespace",
    "NodePool",
    "PersistentVolume",
    "PriorityClass",
    "Queue",
)
CANARIES = 10
LEAST = 500
"""Of the objects of the corpus, at least so many are compared."""
RULES, NOTHING_SET = configured({KEY: FACTS}), configured({})
DIFFERENT = {
    # CEL knows no clock: that an end is near or over shows at the preview
    "capacity-block-end-is-near": ["cost/capacity-block"],
    "capacity-block-end-is-over": ["cost/capacity-block"],
    # text in which CEL reads no pod; the pod itself is judged when it is made
    "host-access-argo-pod-spec-patch": ["isolation/host-access"],
    "node-name-argo-patch": ["isolation/node-name"],
    # the trainer is a part of a pod, which is judged when it is made
    "image-digest-trainjob-image": ["isolation/image-digest"],
}
UNSERVED = {
    "Backtest",
    "CapacityBuffer",
    "InferenceService",
    "JobTemplate",
    "MPIJob",
    "SparkApplication",
}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An object of the corpus, and what the server says of it."""

    case: str
    manifest: Mapping[str, Any]
    answer: Answer


def objects() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of both halves, with a name and a namespace, as `kubectl -n models` has it."""
    for half in corpus.HALVES:
        for case in corpus.cases(half):
            for found in case.objects:
                manifest = cast("dict[str, Any]", found)
                if manifest["kind"] not in OF_THE_CLUSTER:
                    space = manifest["metadata"].get("namespace", "models")
                    manifest = {
                        **manifest,
                        "metadata": {**manifest["metadata"], "namespace": space},
                    }
                yield case.id, manifest


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `fleet rules export` writes with the facts of the corpus."""
    folder = tmp_path_factory.mktemp("bundle")
    config = folder / "config.json"
    config.write_text(json.dumps({POLICY: {KEY: FACTS}}))
    done = CliRunner().invoke(
        app, ["rules", "export", str(folder / "gate"), "--config", str(config)]
    )
    assert done.exit_code == 0, done.output
    return folder / "gate"


@pytest.fixture(scope="module")
def spaced(server: Server) -> Iterator[Server]:
    """The server with the namespaces that the objects name; those made for it go again."""
    spaces = {each["metadata"].get("namespace", "models") for _, each in objects()}
    made: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in sorted(spaces)
        if server.api.get(f"/api/v1/namespaces/{name}") is None
    ]
    for each in made:
        server.made(each)
        account = f"{server.place(each)}/serviceaccounts/default"
        server.wait_for(account, lambda at=account: server.api.get(at) is not None)
    yield server
    for each in made:
        server.ask("DELETE", server.place(each))
    for each in made:
        server.wait_for("the end of a namespace", lambda gone=each: server.gone(gone))


@pytest.fixture(scope="module")
def told(spaced: Server, bundle: Path) -> list[Asked]:
    """What the server with the bundle says of each object whose kind it has."""
    kubectl = ensure(("kubectl",), console=None).path("kubectl")
    made = subprocess.run((kubectl, "kustomize", bundle), capture_output=True, check=True).stdout
    policies = list(yaml.safe_load_all(made))
    assert len(policies) == 2 * len(list(bundle.glob("fleet-*.yaml")))
    server = spaced
    server.install(policies)
    served = [(case, each) for case, each in objects() if _is_served(server, each)]
    for policy, rules in _rules_of(policies):
        bad = [each for _, each in served if rules & checked(each).keys()][:CANARIES]
        server.wait_for(
            policy,
            lambda bad=bad, policy=policy: any(_warns(server, each, policy) for each in bad),
        )
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(lambda one: server.try_out(one[1]), served)
        return [
            Asked(case=case, manifest=each, answer=answer)
            for (case, each), answer in zip(served, answers, strict=True)
        ]


def _is_served(server: Server, manifest: Mapping[str, Any]) -> bool:
    try:
        server.path(manifest)
    except KeyError:
        return False
    return True


def _warns(server: Server, manifest: dict[str, Any], policy: str) -> bool:
    return policy in {name for name, _ in server.try_out(manifest).told}


def _rules_of(policies: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, set[str]]]:
    """Each policy by its name, and the rules that stand in it."""
    for each in policies:
        if "validations" in each["spec"]:
            said = [held["messageExpression"] for held in each["spec"]["validations"]]
            yield each["metadata"]["name"], {text.partition(": ")[0].strip('"') for text in said}


def checked(
    manifest: Mapping[str, Any], rules: Sequence[ConfiguredRule] = RULES
) -> dict[str, tuple[str, ...]]:
    """The sentences of `fleet check` on an object alone, by exported rule."""
    resource = Resource(kind=manifest["kind"], name="it")
    read = ReadResult(objects=[ReadObject(manifest=manifest, resource=resource)])
    found = check("corpus", rules, read, TODAY).findings
    return {
        each.rule: tuple(f"{each.rule}: {sentence}" for sentence in each.sentences)
        for each in found
        if each.rule in HELD
    }


def test_the_server_warns_of_what_the_check_reports(told: list[Asked]) -> None:
    compared = [one for one in told if one.answer.taken]
    different = {
        one.case: sorted(checked(one.manifest).keys() ^ one.answer.rules().keys())
        for one in compared
        if checked(one.manifest).keys() != one.answer.rules().keys()
    }

    assert different == DIFFERENT
    assert len(compared) >= LEAST, "the others are refused by the server itself"


def test_it_does_so_in_the_same_words(told: list[Asked]) -> None:
    for one in told:
        if "name" in one.manifest["metadata"]:  # else the server gives one
            said = checked(one.manifest)
            answered = one.answer.rules()
            assert all(answered[rule] in said[rule] for rule in said.keys() & answered.keys())


def test_only_kinds_without_a_definition_are_left_out(told: list[Asked]) -> None:
    every = [_of(each) for _, each in objects()]
    asked = {_of(each.manifest) for each in told}
    left = set(every) - asked

    # of ResourceClaim the server has v1 alone
    assert {kind for _, kind in left} == {*UNSERVED, "ResourceClaim"}
    assert len(every) - len(told) == sum(each in left for each in every)


def _of(manifest: Mapping[str, Any]) -> tuple[str, str]:
    return str(manifest["apiVersion"]), str(manifest["kind"])


def test_without_pools_and_queues_the_named_rules_report_nothing_and_the_others_do() -> None:
    every = [*(each for _, each in objects()), *(case.manifest for case in CASES)]
    found = {rule for each in every for rule in checked(each, NOTHING_SET)}

    assert HELD - found == {*NEEDS_POOLS, *NEEDS_QUEUES}
