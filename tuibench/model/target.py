"""Server address and login."""

import shlex
from typing import Any, Literal

import msgspec

from tuibench.model.option import plain_number

SslMode = Literal["disabled", "preferred", "required", "verify-ca", "verify-identity"]

VERIFYING: tuple[SslMode, ...] = ("verify-ca", "verify-identity")
"""The modes that look at the server's certificate."""

SHORTEST_TIMEOUT_SECONDS, LONGEST_TIMEOUT_SECONDS = 0.1, 86_400.0
"""The range of the timeouts of a Target."""

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One address of a server. A non-empty `socket` takes precedence over `host` and `port`."""

    host: str = "localhost"
    port: int = 3306
    socket: str = ""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A server and a login. The password never appears in a repr, a log, a record or an argv.

    A non-empty `socket` takes precedence over `host` and `port`. `further` are more servers among which the
    connections of a load are distributed round-robin; sampling, changes of settings and `prepare` use the
    first server only. `password_command` is a shell command that prints the current password; it replaces
    `password`.

    `login` are the words of a command line that give the password again, without the password itself: `-p`,
    or an option file.

    The whole password leaves this program only over TLS or a Unix socket, or encrypted with the server's RSA
    key: the one in the file `server_public_key_path`, or with `get_server_public_key` the one that the server
    sends. `enable_cleartext_plugin` allows the plugins that send the password as it is.

    `connect_timeout` limits a login and `query_timeout` a query of tuibench itself, both in seconds;
    `net_timeout` is how long a peer may be unreachable before its connections are considered lost.
    """

    host: str = "localhost"
    port: int = 3306
    socket: str = ""
    further: tuple[Endpoint, ...] = ()
    user: str = ""
    password: str = ""
    password_command: str = ""
    database: str = "sbtest"
    ssl_mode: SslMode = "preferred"
    ssl_ca: str = ""
    ssl_cert: str = ""
    ssl_key: str = ""
    get_server_public_key: bool = False
    server_public_key_path: str = ""
    enable_cleartext_plugin: bool = False
    connect_timeout: float = 10.0
    query_timeout: float = 15.0
    net_timeout: float = 30.0
    login: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Target({self.user}@{self.where}/{self.database})"

    @property
    def where(self) -> str:
        """The address in a few characters, for screen and messages."""
        first = f"socket {self.socket}" if self.socket else f"{self.host}:{self.port}"
        return f"{first} and {len(self.further)} more" if self.further else first

    @property
    def is_local(self) -> bool:
        """True if the (first) server runs on this host, so that host figures apply to it."""
        return bool(self.socket) or self.host in LOOPBACK_HOSTS

    def for_connection(self, number: int) -> "Target":
        """The server for connection `number` (from 0) of a load."""
        if not self.further:
            return self
        place = number % (len(self.further) + 1)
        chosen = self.further[place - 1] if place else self
        return msgspec.structs.replace(
            self, host=chosen.host, port=chosen.port, socket=chosen.socket, further=()
        )

    def without_password(self) -> "Target":
        """The same target without the password, for a record."""
        return msgspec.structs.replace(self, password="", password_command="")


OWN_WORDS = ("host", "port", "socket", "further", "password", "password_command", "login")
"""Fields of a target that are not one option of their own, or are never written."""


def address_options(target: Target) -> dict[str, str]:
    """Host and port, or socket, of a target's servers as values of options."""
    endpoints: tuple[Target | Endpoint, ...] = (target, *target.further)
    if target.socket:
        return {"socket": ",".join(each.socket for each in endpoints)}
    hosts = dict.fromkeys(each.host for each in endpoints)
    ports = dict.fromkeys(str(each.port) for each in endpoints)
    return {"host": ",".join(hosts), "port": ",".join(ports)}


def server_words(target: Target) -> list[str]:
    """The words of a command line for server and login: each field of a target is an option of that name."""
    values: dict[str, Any] = address_options(target)
    values |= {"user": target.user, "database": target.database}
    defaults = Target()
    for name in Target.__struct_fields__:
        if name not in OWN_WORDS and (value := getattr(target, name)) != getattr(defaults, name):
            values[name] = plain_number(value) if isinstance(value, float) else value
    words = {f"--{name.replace('_', '-')}": value for name, value in values.items()}
    return [
        *(name if value is True else f"{name}={value}" for name, value in words.items()),
        *target.login,
    ]


def for_server(command: str, target: Target) -> str:
    """A command for this server, complete with address and login."""
    return f"{command} {shlex.join(server_words(target))}"
