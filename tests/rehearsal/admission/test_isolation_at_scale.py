"""What the API server has of its own, and objects as large as it takes: no alarm, no failure."""

import base64
import hashlib

import pytest

from policies.language.token_forms import LONGEST_BASE64
from policies.rules.isolation import clear_secrets, network_policy, rbac_wildcards
from tests.rehearsal.admission.cases_cilium import group
from tests.rehearsal.admission.cases_spelling import blocks, network
from tests.support.admission.objects import Object
from tests.support.admission.server import Server
from tests.support.admission.verdicts import deny

RULES = [clear_secrets.RULE, network_policy.RULE, rbac_wildcards.RULE]
LARGEST = 1024 * 1024 - 4096
LINES = "key: http://a@b hf_ ASIA PRIVATE ghp_ github_pat_ glpat- sk-svcacct xoxb AIza {{pass}}\n"
LINES_OF = (LINES, "x" * 100)
TOKEN = "ghp_" + "a1" * 18


@pytest.fixture(scope="module")
def denying(server: Server) -> Server:
    deny(server, RULES)
    return server


def _map(text: str, field: str = "data") -> Object:
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}}
    return {**whole, field: {"dashboard": text}}


@pytest.mark.parametrize(
    ("size", "line"),
    [(LARGEST, "x" * 100), *((size, line) for size in (490_000, 99_000) for line in LINES_OF)],
)
def test_a_large_config_map_is_judged_and_not_too_dear(
    denying: Server, size: int, line: str
) -> None:
    text = (line * (size // len(line) + 1))[: size - 100]

    taken = denying.try_out(_map(text))
    assert taken.taken, taken.message
    refused = denying.try_out(_map(f"{text}\n{TOKEN}\n"))
    assert refused.message.endswith("must have no secret in its data; put it into a Secret.")


def test_what_is_too_dear_to_judge_is_refused(denying: Server) -> None:
    answer = denying.try_out(_map(LINES * (LARGEST // len(LINES))))
    assert "running out of cost budget" in answer.message
    assert not answer.taken


def test_large_binary_data_is_not_too_dear(denying: Server) -> None:
    answer = denying.try_out(_map("aHR0" * (LARGEST // 4), "binaryData"))
    assert answer.taken, answer.message


@pytest.mark.parametrize("seed", range(8))
def test_a_program_is_not_too_dear_whatever_short_parts_of_tokens_it_has_by_chance(
    denying: Server, seed: int
) -> None:
    some = hashlib.shake_256(bytes([seed])).digest(LONGEST_BASE64 * 3 // 4)
    program = base64.b64encode(some).decode()

    answer = denying.try_out(_map(program, "binaryData"))
    assert answer.taken, answer.message


def test_a_policy_of_a_thousand_networks_is_not_too_dear(denying: Server) -> None:
    cidrs = [f"{first}.{second}.0.0/16" for first in range(11, 15) for second in range(250)]
    answer = denying.try_out(network(*blocks(*cidrs)))
    assert answer.taken, answer.message


def test_a_group_of_thousands_of_networks_is_not_too_dear(denying: Server) -> None:
    cidrs = [f"{first}.{second}.0.0/16" for first in range(11, 15) for second in range(250)]
    small = [f"198.{first}.{second}.0/24" for first in range(12) for second in range(250)]
    answer = denying.try_out(group(*cidrs, *small))
    assert answer.taken, answer.message
    assert not denying.try_out(group(*cidrs, *small, "0.0.0.0/2")).taken


KINDS = ("clusterroles", "roles", "clusterrolebindings", "rolebindings")


@pytest.mark.parametrize("plural", KINDS)
def test_the_roles_of_the_api_server_itself_are_known(server: Server, plural: str) -> None:
    assert rbac_wildcards.RULE.predicate is not None
    found = server.api.get(f"/apis/rbac.authorization.k8s.io/v1/{plural}") or {}
    kind = found["kind"].removesuffix("List")
    listed = [{"apiVersion": found["apiVersion"], "kind": kind, **each} for each in found["items"]]

    assert listed
    settings = rbac_wildcards.RULE.defaults()
    assert [said for each in listed for said in rbac_wildcards.RULE.predicate(each, settings)] == []
