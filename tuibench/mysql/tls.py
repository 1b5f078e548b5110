"""TLS as the MySQL clients spell it: --ssl-mode and what it demands of the server's certificate."""

import ssl

from tuibench.errors import UsageError
from tuibench.model.target import Target


def context(target: Target) -> ssl.SSLContext | None:
    """The TLS context for a target, None for a plain connection.

    `preferred` is plain on this host (socket or loopback: nothing leaves it) and encrypted elsewhere.
    Raises UsageError for certificate files that cannot be read.
    """
    if target.ssl_mode == "disabled" or (target.ssl_mode == "preferred" and target.is_local):
        return None
    verify = target.ssl_mode in ("verify-ca", "verify-identity")
    try:
        made = ssl.create_default_context(cafile=target.ssl_ca or None)
        made.check_hostname = target.ssl_mode == "verify-identity"
        made.verify_mode = ssl.CERT_REQUIRED if verify else ssl.CERT_NONE
        if target.ssl_cert:
            made.load_cert_chain(target.ssl_cert, target.ssl_key or None)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"cannot use the TLS files of this connection: {error}") from error
    return made
