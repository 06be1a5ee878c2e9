"""The join part of burst machines from its template, and the name in a kubelet's request."""

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from components.pools.boot import SAMPLE_TOKEN, Cluster, join_ignition_of
from kube import bootstrap_token
from workloads.controllers.join_tokens import burst
from workloads.controllers.join_tokens.burst import EVERY, LIFE, SAMPLE, filled
from workloads.controllers.join_tokens.used import node_name

CLUSTER = Cluster(name="c", endpoint="api.fleet.example:6443", ca_cert_hash="sha256:" + "ab" * 32)


def test_the_join_part_has_the_token_where_the_template_has_the_sample() -> None:
    token = "abcdef.0123456789abcdef"
    wanted = join_ignition_of(CLUSTER, None, token)
    assert filled(join_ignition_of(CLUSTER, None, SAMPLE_TOKEN), token).decode() == wanted


def test_a_template_without_the_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="the sample token 0 times"):
        filled(join_ignition_of(CLUSTER, None, "abcdef.0123456789abcdef"), "a")


def test_program_and_controller_agree_on_the_sample_and_on_who_joins() -> None:
    assert (SAMPLE, burst.JOINERS) == (SAMPLE_TOKEN, bootstrap_token.JOINERS)


def test_a_machine_that_reads_a_token_just_before_the_next_has_half_of_its_life_to_join() -> None:
    assert EVERY * 2 <= LIFE


@pytest.mark.parametrize("name", ["fleet-dev-cpu-1", "ip-10-51-3-7.ec2.internal", "a" * 52])
def test_the_node_of_a_request_is_the_one_in_its_subject(name: str) -> None:
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
            x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{name}"),
        ]
    )
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    pem = request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    assert node_name(base64.b64encode(pem).decode()) == name
