"""Certificates of a few days' life: an authority, and a server's by the name of localhost."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.x509.oid import NameOID


class Files(NamedTuple):
    """Where they are: the authority's certificate, and a certificate with its key."""

    ca: Path
    cert: Path
    key: Path

    @property
    def server_options(self) -> tuple[str, ...]:
        return (f"--ssl-ca={self.ca}", f"--ssl-cert={self.cert}", f"--ssl-key={self.key}")


def make(folder: Path, *names: str, valid_until: timedelta = timedelta(days=1)) -> Files:
    """Writes an authority and a certificate for these host names; the latter is valid from now until then."""
    ca_key, key = (generate_private_key(65537, 2048) for _ in range(2))
    ca = _signed("a test's authority", ca_key, ca_key, "a test's authority", authority=True)
    alternatives = x509.SubjectAlternativeName([_name(name) for name in names])
    cert = _signed(names[0], key, ca_key, "a test's authority", alternatives, valid_until=valid_until)
    files = Files(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
    files.ca.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    files.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    files.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return files


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _signed(
    name: str,
    key: RSAPrivateKey,
    issuer_key: RSAPrivateKey,
    issuer: str,
    extension: x509.ExtensionType | None = None,
    *,
    authority: bool = False,
    valid_until: timedelta = timedelta(days=1),
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(now + valid_until)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    if extension is not None:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(issuer_key, hashes.SHA256())
