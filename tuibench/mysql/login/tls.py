"""TLS with the options of the MySQL clients: --ssl-mode and the checks of the server's certificate."""

import ssl
from functools import lru_cache
from pathlib import Path

from tuibench import files
from tuibench.errors import UsageError
from tuibench.model.target import VERIFYING, SslMode, Target
from tuibench.mysql.login.first_login import FirstLogin


def is_wanted(target: Target, first: FirstLogin | None) -> bool:
    """Whether to request TLS, after this `first` login at the server.

    `preferred` encrypts what leaves this host. The first login decides for all later ones.
    """
    if target.ssl_mode == "preferred":
        return first.is_encrypted if first is not None else not target.is_local
    return target.ssl_mode != "disabled"


def tls_context(target: Target) -> ssl.SSLContext:
    """The TLS context for a target. Raises UsageError for certificate files that cannot be read."""
    return _shared_tls_context(target.ssl_mode, target.ssl_ca, target.ssl_cert, target.ssl_key)


@lru_cache(maxsize=8)
def _shared_tls_context(mode: SslMode, ca: str, cert: str, key: str) -> ssl.SSLContext:
    """One for all connections alike: reading this host's trusted certificates takes 50 ms."""
    for path in filter(None, (ca, cert, key)):
        _check_readable(path)
    try:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        made.check_hostname = mode == "verify-identity"
        made.verify_mode = ssl.CERT_REQUIRED if mode in VERIFYING else ssl.CERT_NONE
        if ca:
            made.load_verify_locations(cafile=ca)
        elif mode in VERIFYING:
            made.load_default_certs()
        if cert:
            made.load_cert_chain(cert, key or None)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(
            f"cannot use the TLS files of this connection: {error}",
            "they must be PEM, and the key unencrypted",
        ) from error
    return made


def _check_readable(path: str) -> None:
    """OpenSSL does not say which file it cannot read."""
    try:
        files.open_regular(Path(path), limit=files.MAX_FILE_BYTES).close()
    except OSError as error:
        raise UsageError(f"cannot read the TLS file {path}: {error.strerror}") from error
