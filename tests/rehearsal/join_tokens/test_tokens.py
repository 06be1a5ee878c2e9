"""fleet-join-tokens at a real API server: what it makes, what it deletes, what it may not do."""

import base64
import json
import ssl
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from components.platform.join_tokens import JoinTokensArgs, burst_pools
from settings.names import JOIN_TOKENS_NAMESPACE
from tests.rehearsal.join_tokens.conftest import CLUSTER, Ground
from workloads.api_server import ApiServerError
from workloads.controllers.join_tokens.burst import EVERY, LIFE, BurstPool, Writer, forget
from workloads.controllers.join_tokens.s3 import AccessKey, S3Error
from workloads.controllers.join_tokens.used import REQUESTS, SECRETS, SIGNER, delete_used

DEADLINE_S = 60
KEY = AccessKey(key_id="AKIA", secret="never-shown")
JOINERS = "system:bootstrappers:kubeadm:default-node-token"


def pool(ground: Ground, name: str = "burst") -> BurstPool:
    args = JoinTokensArgs(cluster=CLUSTER, region="us-east-1", burst=(name,))
    (said,) = json.loads(burst_pools(args))
    return BurstPool(**{**said, "url": f"{ground.store.url}/{name}.ign"})


def writer(ground: Ground) -> Writer:
    return Writer(api=ground.program, namespace=JOIN_TOKENS_NAMESPACE, key=KEY)


def token_in(body: bytes) -> str:
    (file,) = json.loads(body)["storage"]["files"]
    text = base64.b64decode(file["contents"]["source"].partition(";base64,")[2])
    return str(json.loads(text)["discovery"]["bootstrapToken"]["token"])


def is_there(ground: Ground, token: str) -> bool:
    return ground.api.get(f"{SECRETS}/bootstrap-token-{token[:6]}") is not None


def test_burst_machines_get_a_new_token_in_time_and_the_old_one_lives_on(ground: Ground) -> None:
    burst, keeper = pool(ground), writer(ground)
    now = datetime.now(UTC)
    assert keeper.renew(burst, now) is not None
    first = token_in(ground.store.objects["/burst.ign"])
    secret = ground.api.get(f"{SECRETS}/bootstrap-token-{first[:6]}")
    assert secret is not None
    said = {key: base64.b64decode(text).decode() for key, text in secret["data"].items()}
    end = datetime.fromisoformat(said["expiration"])
    assert abs(end - (now + LIFE)) < timedelta(seconds=2)
    assert said["auth-extra-groups"] == JOINERS

    assert keeper.renew(burst, now + EVERY / 2) is None, "not yet"
    assert keeper.renew(burst, now + EVERY) is not None
    second = token_in(ground.store.objects["/burst.ign"])
    assert second != first
    assert is_there(ground, first), "a machine that has read it joins still"
    assert keeper.ids(burst) == (second[:6], first[:6])


def test_a_store_that_refuses_leaves_the_lease_old_so_that_the_alert_comes(ground: Ground) -> None:
    other, keeper = pool(ground, "other"), writer(ground)
    now = datetime.now(UTC)
    keeper.renew(other, now)
    path = f"/apis/coordination.k8s.io/v1/namespaces/{JOIN_TOKENS_NAMESPACE}/leases/other"
    before = (ground.api.get(path) or {})["spec"]["renewTime"]
    ground.store.refuses = True
    try:
        with pytest.raises(S3Error, match="503"):
            keeper.renew(other, now + EVERY)
    finally:
        ground.store.refuses = False
    assert (ground.api.get(path) or {})["spec"]["renewTime"] == before
    assert keeper.renew(other, now + EVERY) is not None, "the next try follows"


def test_another_template_is_written_at_once(ground: Ground) -> None:
    moved, keeper = pool(ground, "moved"), writer(ground)
    now = datetime.now(UTC)
    keeper.renew(moved, now)
    other = BurstPool(**{**vars(moved), "digest": "another"})
    assert keeper.renew(other, now) is not None


def test_a_pool_that_is_no_more_is_forgotten_so_that_no_alert_names_it(ground: Ground) -> None:
    keeper, now = writer(ground), datetime.now(UTC)
    for name in ("stays", "goes"):
        keeper.renew(pool(ground, name), now)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{JOIN_TOKENS_NAMESPACE}/leases"
    others = {"metadata": {"name": "theirs"}, "spec": {"holderIdentity": "another"}}
    ground.api.create(leases, others)
    said = forget(ground.program, JOIN_TOKENS_NAMESPACE, ["stays"])
    assert "Pool goes is no more, and gets no token." in said
    assert {each["metadata"]["name"] for each in ground.api.items(leases)} == {"stays", "theirs"}
    assert forget(ground.program, JOIN_TOKENS_NAMESPACE, ["stays"]) == []


def made(ground: Ground, token: str) -> None:
    """Makes a token valid, as `kubeadm token create` does."""
    end = datetime.now(UTC) + timedelta(hours=1)
    data = {
        "token-id": token[:6],
        "token-secret": token[7:],
        "expiration": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": JOINERS,
    }
    secret = {
        "metadata": {"name": f"bootstrap-token-{token[:6]}"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": data,
    }
    assert ground.api.create(SECRETS, secret)


def asked(ground: Ground, token: str, node: str) -> str:
    """Asks for a node's certificate with the token, as its kubelet does; the request's name."""
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
            x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}"),
        ]
    )
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    pem = request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    spec = {
        "request": base64.b64encode(pem).decode(),
        "signerName": SIGNER,
        "usages": ["digital signature", "client auth"],
    }
    trust = ssl.create_default_context(cafile=str(Path(ground.program.account) / "ca.crt"))
    answer = httpx.post(
        f"{ground.api.server}{REQUESTS}",
        json={"metadata": {"name": f"node-csr-{node}"}, "spec": spec},
        headers={"Authorization": f"Bearer {token}"},
        verify=trust,
    )
    assert answer.status_code == 201, answer.text
    return f"node-csr-{node}"


def granted(ground: Ground, request: str) -> None:
    """Approves and signs a request, as the controller manager of kubeadm does."""
    path = f"{REQUESTS}/{request}"
    found = ground.api.get(path)
    assert found
    condition = {"type": "Approved", "status": "True", "reason": "Test", "message": "by a test"}
    found["status"] = {"conditions": [condition]}
    found = ground.api.request("PUT", f"{path}/approval", found)
    pem = (Path(ground.program.account) / "ca.crt").read_bytes()
    found["status"]["certificate"] = base64.b64encode(pem).decode()
    ground.api.request("PUT", f"{path}/status", found)


def joined(ground: Ground, node: str) -> None:
    ground.api.create("/api/v1/nodes", {"metadata": {"name": node}})
    ready = {"type": "Ready", "status": "True", "reason": "Up", "message": "up"}
    answer = ground.api.client.request(
        "PATCH",
        f"/api/v1/nodes/{node}/status",
        json={"status": {"conditions": [ready]}},
        headers={"Content-Type": "application/merge-patch+json"},
    )
    assert answer.is_success, answer.text


@pytest.fixture(scope="module")
def bootstrappers(ground: Ground) -> None:
    """What kubeadm lets the holders of a token do."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    binding = {
        "metadata": {"name": "kubeadm:kubelet-bootstrap"},
        "roleRef": {**role, "name": "system:node-bootstrapper"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": JOINERS}],
    }
    assert ground.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)


@pytest.mark.usefixtures("bootstrappers")
def test_a_token_goes_when_its_node_is_ready_and_not_before(ground: Ground) -> None:
    token = "aaaaaa.0123456789abcdef"
    made(ground, token)
    assert delete_used(ground.program, shared=frozenset()) == []
    request = asked(ground, token, "cpu-1")
    assert delete_used(ground.program, shared=frozenset()) == [], "it has no certificate yet"
    granted(ground, request)
    assert delete_used(ground.program, shared=frozenset()) == [], "its node is not there yet"
    assert is_there(ground, token)
    joined(ground, "cpu-1")
    said = "Node cpu-1 has joined, so its token aaaaaa is deleted."
    assert delete_used(ground.program, shared=frozenset()) == [said]
    assert not is_there(ground, token)
    assert delete_used(ground.program, shared=frozenset()) == [], "once is enough"


@pytest.mark.usefixtures("bootstrappers")
def test_the_token_of_burst_machines_stays_for_the_next_of_them(ground: Ground) -> None:
    token = "bbbbbb.0123456789abcdef"
    made(ground, token)
    granted(ground, asked(ground, token, "burst-1"))
    joined(ground, "burst-1")
    assert delete_used(ground.program, shared=frozenset({"bbbbbb"})) == []
    assert is_there(ground, token)


@pytest.mark.parametrize("kind", ["list", "get"])
def test_it_reads_no_secret(ground: Ground, kind: str) -> None:
    path = SECRETS if kind == "list" else f"{SECRETS}/bootstrap-token-bbbbbb"
    with pytest.raises(ApiServerError) as caught:
        ground.program.request("GET", path)
    assert caught.value.status == 403


def secret(**changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": "bootstrap-token-cccccc", "namespace": "kube-system"},
        "stringData": {
            "token-id": "cccccc",
            "token-secret": "0123456789abcdef",
            "expiration": "2030-01-01T00:00:00Z",
            "auth-extra-groups": JOINERS,
        },
        **changes,
    }


def without(key: str, **others: str) -> dict[str, str]:
    data: dict[str, str] = secret()["stringData"]
    del data[key]
    return {**data, **others}


@pytest.mark.parametrize(
    "wanted",
    [
        secret(type="Opaque"),
        secret(
            type="kubernetes.io/service-account-token",
            metadata={"name": "x", "annotations": {"kubernetes.io/service-account.name": "x"}},
        ),
        secret(stringData=without("expiration")),
        secret(stringData=without("auth-extra-groups")),
        secret(stringData=without("auth-extra-groups", **{"auth-extra-groups": "system:masters"})),
    ],
    ids=["another kind", "an account's", "without an end", "of no group", "of another group"],
)
def test_it_makes_no_other_secret(ground: Ground, wanted: dict[str, Any]) -> None:
    until_held(ground)
    with pytest.raises(ApiServerError) as caught:
        ground.program.request("POST", SECRETS, wanted)
    assert caught.value.status in (403, 422), caught.value
    assert "fleet-join-tokens must" in str(caught.value)


def test_it_deletes_no_other_secret(ground: Ground) -> None:
    until_held(ground)
    ground.api.create(SECRETS, {"metadata": {"name": "karpenter-aws"}, "stringData": {"a": "b"}})
    with pytest.raises(ApiServerError, match="must touch no Secret but bootstrap tokens"):
        ground.program.request("DELETE", f"{SECRETS}/karpenter-aws")
    assert ground.api.get(f"{SECRETS}/karpenter-aws") is not None


def until_held(ground: Ground) -> None:
    """The API server takes a new policy up within moments: try until it refuses."""
    deadline = time.monotonic() + DEADLINE_S
    wanted = secret(type="Opaque", metadata={"name": "tried", "namespace": "kube-system"})
    while time.monotonic() < deadline:
        try:
            ground.program.request("POST", f"{SECRETS}?dryRun=All", wanted)
        except ApiServerError:
            return
    pytest.fail("the API server never took the policy up")
