"""Where the server is and how to log in."""

from typing import Literal

import msgspec

SslMode = Literal["disabled", "preferred", "required", "verify-ca", "verify-identity"]

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A server and a login. The password never appears in a repr, a log, a record or an argv.

    `socket` wins over `host` and `port` when it is not empty.
    """

    host: str = "localhost"
    port: int = 3306
    socket: str = ""
    user: str = ""
    password: str = ""
    database: str = "sbtest"
    ssl_mode: SslMode = "preferred"
    ssl_ca: str = ""
    ssl_cert: str = ""
    ssl_key: str = ""

    def __repr__(self) -> str:
        return f"Target({self.user}@{self.where}/{self.database})"

    @property
    def where(self) -> str:
        """The place in a few characters, as the screen and messages name it."""
        return f"socket {self.socket}" if self.socket else f"{self.host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """True if the server shares this host, so that host figures speak of it."""
        return bool(self.socket) or self.host in LOOPBACK_HOSTS

    def without_password(self) -> "Target":
        """The same target, fit for a record."""
        return msgspec.structs.replace(self, password="")
