"""Which targets are encrypted, and what TLS failures are called."""

import os
import ssl
from pathlib import Path

import pytest

from tuibench.errors import UsageError
from tuibench.model.target import SslMode, Target
from tuibench.mysql.errors import ADDRESS_MISMATCH, HOSTNAME_MISMATCH, tls_error
from tuibench.mysql.login import tls
from tuibench.mysql.login.first_login import FirstLogin


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
    assert tls.is_wanted(target, None) == encrypted


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_the_first_login_decides_where_tls_is_preferred(is_encrypted: bool) -> None:
    first = FirstLogin(where="", user="", is_encrypted=is_encrypted, plugin="")
    assert tls.is_wanted(Target(host="db"), first) == is_encrypted
    assert tls.is_wanted(Target(host="127.0.0.1"), first) == is_encrypted
    assert tls.is_wanted(Target(host="db", ssl_mode="required"), first)
    assert not tls.is_wanted(Target(host="db", ssl_mode="disabled"), first)


def test_only_verify_modes_look_at_the_certificate() -> None:
    modes: tuple[SslMode, ...] = ("required", "verify-ca", "verify-identity")
    made = {mode: tls.tls_context(Target(host="db", ssl_mode=mode)) for mode in modes}
    looks = {
        mode: (each.verify_mode == ssl.CERT_REQUIRED, each.check_hostname) for mode, each in made.items()
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


@pytest.mark.parametrize("field", ["ssl_ca", "ssl_cert", "ssl_key"])
def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path, field: str) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(UsageError, match="/pipe: not a regular file"):
        tls.tls_context(Target(host="db", ssl_mode="required", **{field: str(pipe)}))  # type: ignore[arg-type]


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
