"""Which targets are encrypted, and what TLS failures are called."""

import ssl
from pathlib import Path

import pytest

from tuibench.errors import UsageError
from tuibench.model.target import Target
from tuibench.mysql.errors import ADDRESS_MISMATCH, HOSTNAME_MISMATCH, tls_error
from tuibench.mysql.login import tls


@pytest.mark.parametrize(
    ("target", "encrypted"),
    [
        (Target(host="db"), True),
        (Target(host="db", ssl_mode="disabled"), False),
        (Target(host="127.0.0.1"), False),
        (Target(host="db", socket="/run/db.sock"), False),
        (Target(host="127.0.0.1", ssl_mode="required"), True),
    ],
)
def test_preferred_is_plain_where_nothing_leaves_the_host(target: Target, encrypted: bool) -> None:
    assert (tls.tls_context(target) is not None) == encrypted


def test_only_verify_modes_look_at_the_certificate() -> None:
    looks = {
        mode: (made.verify_mode == ssl.CERT_REQUIRED, made.check_hostname)
        for mode in ("required", "verify-ca", "verify-identity")
        if (made := tls.tls_context(Target(host="db", ssl_mode=mode))) is not None
    }
    assert looks == {
        "required": (False, False),
        "verify-ca": (True, False),
        "verify-identity": (True, True),
    }


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"/none\.pem: No such file"):
        tls.tls_context(Target(host="db", ssl_mode="verify-ca", ssl_ca=str(tmp_path / "none.pem")))
    (tmp_path / "text.pem").write_text("no certificate")
    with pytest.raises(UsageError, match="cannot use the TLS files"):
        tls.tls_context(Target(host="db", ssl_mode="required", ssl_cert=str(tmp_path / "text.pem")))


def certificate_error(code: int) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "failed")
    error.verify_code, error.verify_message = code, "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (certificate_error(HOSTNAME_MISMATCH), "is not for 'db'"),
        (certificate_error(ADDRESS_MISMATCH), "is not for 'db'"),
        (certificate_error(18), "is not trusted: self-signed certificate"),
        (ConnectionResetError("reset"), "handshake with db:3306 failed: reset"),
        (TimeoutError(), "handshake with db:3306 failed: TimeoutError"),
    ],
)
def test_a_tls_failure_is_reported_with_the_remedy(error: Exception, words: str) -> None:
    said = tls_error(error, Target(host="db"))
    assert words in said.message
    assert said.hint
