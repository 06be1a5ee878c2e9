"""Bootstrap tokens under the real engine, on a real API server: made with machines, then let go."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
import yaml
from lightkube import Client

from engine.events import Outcome
from kube.client import client
from kube.kinds import Secret
from tests.engine.conftest import Change, Trial

# dev has two DGX and three servers at Hetzner
LIVES_H = {
    **{f"dev-dgx-0{number}": 24 for number in (1, 2)},
    **{f"fleet-dev-cpu-{number}": 1 for number in (1, 2, 3)},
}


def tokens(cluster: Client) -> dict[str, dict[str, str]]:
    """The data of each token's Secret by the machine that its label names."""
    found = cluster.list(
        Secret, namespace="kube-system", fields={"type": "bootstrap.kubernetes.io/token"}
    )
    return {
        secret.metadata.labels["fleet.gpu/machine"]: {
            key: base64.b64decode(text).decode() for key, text in (secret.data or {}).items()
        }
        for secret in found
        if secret.metadata and secret.metadata.labels
    }


def text_of(token: dict[str, str]) -> str:
    return f"{token['token-id']}.{token['token-secret']}"


def logs_in(cluster: Client, token: str) -> bool:
    """Asks the API server who the bearer of the token is."""
    server = cluster.config.cluster.server
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = httpx2.post(
        f"{server}/apis/authentication.k8s.io/v1/selfsubjectreviews",
        json=body,
        headers={"Authorization": f"Bearer {token}"},
        verify=False,  # who answers on 127.0.0.1 is our own
    )
    return answer.status_code != 401


def changes(outcome: Outcome) -> set[str]:
    return set(outcome.steps) - {"same"}


@pytest.fixture
def trial(twin_of_dev: Callable[[Change], Trial]) -> Trial:
    made = twin_of_dev(lambda _config: None)
    made.up()
    return made


def test_a_machine_has_a_token_for_as_long_as_it_may_take_to_join(trial: Trial) -> None:
    kubeconfig = (trial.engine.directory / "kubeconfig").read_text()
    cluster = client(kubeconfig)
    before = tokens(cluster)
    assert before.keys() == LIVES_H.keys()
    now = datetime.now(UTC)
    for machine, token in before.items():
        left = datetime.fromisoformat(token["expiration"]) - now
        life = timedelta(hours=LIVES_H[machine])
        assert timedelta(0) < left <= life, f"the token of {machine} lives {left}"
        assert left > life / 2, "it was made in this test"
        assert logs_in(cluster, text_of(token)), machine
    assert not logs_in(cluster, "abcdef.0123456789abcdef")

    state = json.dumps(trial.state())
    events = "".join(
        path.read_text(errors="replace") for path in trial.engine.directory.glob("*.jsonl")
    )
    for machine, token in before.items():
        assert token["token-secret"] not in state, f"the state has the token of {machine} in clear"
        assert token["token-secret"] not in events, f"a log has the token of {machine} in clear"
    (seed,) = (each for each in trial.state() if each["type"].endswith("kube:JoinSeed"))
    assert "ciphertext" in seed["outputs"]["seed"]

    # a day later: the machines have joined, and no token is left
    for token in before.values():
        cluster.delete(Secret, f"bootstrap-token-{token['token-id']}", namespace="kube-system")
    for again in (trial.preview(), trial.up()):
        assert changes(again) == set(), "a token that is gone must change nothing"
    assert tokens(cluster) == {}

    # other boot data: the servers are replaced, each with a token of its own; the DGX stay
    document = yaml.safe_load(trial.engine.stack_file.read_text())
    pool = document["config"]["gpu-fleet:pools"]["cpu"]
    pool["tuning"] = {"housekeeping_cores_per_numa_node": 2}
    document["config"]["gpu-fleet:allow"] = {"replace": 3}
    trial.engine.stack_file.write_text(yaml.safe_dump(document))
    trial.up()
    after = tokens(cluster)
    assert after.keys() == {f"fleet-dev-cpu-{number}" for number in (1, 2, 3)}
    assert {text_of(each) for each in after.values()}.isdisjoint(
        text_of(each) for each in before.values()
    )
    for machine, token in after.items():
        assert logs_in(cluster, text_of(token))
        assert text_of(token) in deep(server_data(trial, machine)), "its user data has it"


def server_data(trial: Trial, name: str) -> str:
    """The user data with which the simulated Hetzner made a server."""
    found: list[dict[str, Any]] = json.loads((trial.engine.directory / "cloud.json").read_text())
    (server,) = (
        each
        for each in found
        if each["type"].endswith(":Server") and each["inputs"].get("name") == name
    )
    return str(server["inputs"]["userData"])


def deep(ignition: str) -> str:
    """The text of the join file inside the merged part of the user data."""
    (merge,) = json.loads(ignition)["ignition"]["config"]["merge"]
    inner = json.loads(base64.b64decode(merge["source"].partition("base64,")[2]))
    return "".join(
        base64.b64decode(file["contents"]["source"].partition("base64,")[2]).decode()
        for file in inner["storage"]["files"]
    )
