"""Makes the keys and certificates of a rehearsal's control plane, which are deleted with it."""

import datetime
import os
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = datetime.timedelta(days=30)  # a rehearsal is kept for days, not months
CLOCK_SKEW = datetime.timedelta(minutes=5)
SIGNS_CERTIFICATES = x509.KeyUsage(  # Python 3.13 refuses an authority without it
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Paths of one certificate and its private key (PEM)."""

    certificate: Path
    key: Path


@dataclass(frozen=True, kw_only=True)
class Certificates:
    """The keys and certificates of etcd, the API server and their clients."""

    authority: Path
    server: Pair  # of etcd and the API server, for 127.0.0.1
    admin: Pair  # group system:masters
    webhook: Pair  # of the webhooks of controllers, for 127.0.0.1
    service_account_key: Path


def make(directory: Path, *, service_cidr: str) -> Certificates:
    """Write a new authority and the certificates that it signs; private keys have mode 0600."""
    directory.mkdir(parents=True, mode=0o700)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key)
    authority_path = directory / "ca.crt"
    authority_path.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    _write_key(directory / "ca.key", authority_key)
    service_account = ec.generate_private_key(ec.SECP256R1())
    _write_key(directory / "service-account.key", service_account)
    first_service_ip = ip_network(service_cidr).network_address + 1
    loopback = x509.IPAddress(ip_address("127.0.0.1"))
    names = [
        loopback,
        x509.IPAddress(first_service_ip),
        *(x509.DNSName(name) for name in ("localhost", "kubernetes", "kubernetes.default.svc")),
    ]
    issue = _Issuer(directory=directory, authority=authority, key=authority_key).issue
    return Certificates(
        authority=authority_path,
        server=issue("server", "kube-apiserver", None, names),
        admin=issue("admin", "rehearsal-admin", "system:masters", []),
        webhook=issue("webhook", "webhook", None, [loopback]),
        service_account_key=directory / "service-account.key",
    )


@dataclass(frozen=True, kw_only=True)
class _Issuer:
    directory: Path
    authority: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def issue(self, file: str, name: str, group: str | None, names: list[x509.GeneralName]) -> Pair:
        """Return a certificate for servers and clients, as the API server is a client of etcd."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        if group:
            attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = (
            _builder(x509.Name(attributes), self.authority.subject, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(_authority_identifier(self.authority), critical=False)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        pair = Pair(certificate=self.directory / f"{file}.crt", key=self.directory / f"{file}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        _write_key(pair.key, key)
        return pair


def _authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gpu-fleet rehearsal")])
    return (
        _builder(name, name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(SIGNS_CERTIFICATES, critical=True)
        .sign(key, hashes.SHA256())
    )


def _authority_identifier(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    identifier = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + LIFE)
    )


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,  # the only one that every program reads
        serialization.NoEncryption(),
    )
    write_private(path, text)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may ever read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
