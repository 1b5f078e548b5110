"""The server: address, login, version, and the errors that a load retries.

Constant properties of a server: flavour, version, identity.

Server address and login.

SQL errors of a normal load: retried by default, and their plain names.

"""

import shlex
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import msgspec

from tuibench.model.option import plain_number


class Flavour(StrEnum):
    MARIADB = "MariaDB"
    MYSQL = "MySQL"


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Flavour, version and identity. `version` is plain (10.11.19), `version_text` is the server's own
    string.

    `pid_file` and `socket` are used to find its process; `is_local` is True if it runs on this host.
    `identity` identifies the server instance across connections (host, port, data directory). `is_encrypted`
    is True if connections to it use TLS, `tls` names protocol and cipher.
    """

    flavour: Flavour
    version: str
    version_text: str
    where: str
    identity: str
    datadir: str
    pid_file: str
    socket: str
    port: int
    is_local: bool
    uptime_seconds: int | None
    is_encrypted: bool = False
    tls: str = ""

    @property
    def version_tuple(self) -> tuple[int, ...]:
        """The version as a tuple of numbers, for comparison: (10, 11, 19)."""
        return tuple(int(part) for part in self.version.split("."))


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a private server: CPUs, and memory in bytes; None for no limit."""

    cpus: float | None = None
    memory_bytes: int | None = None


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

    `ssl_server_name` is the name in the server's certificate, if it is not `host`: behind a tunnel.

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
    ssl_server_name: str = ""
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


class ErrorName(NamedTuple):
    """An error's plain name, and the label of its rate."""

    text: str
    rate: str


ERROR_NAMES = {
    0: ErrorName("error counted by the script", "errors/s"),
    1213: ErrorName("deadlock", "deadlocks/s"),
    1020: ErrorName("snapshot conflict", "conflicts/s"),
    1205: ErrorName("lock wait timeout", "timeouts/s"),
    1412: ErrorName("table definition changed", "errors/s"),
}

IGNORED_ERRORS = tuple(code for code in ERROR_NAMES if code)
"""The default of --mysql-ignore-errors: sysbench's, and what a transaction meets while a table is altered."""


def error_text(code: str) -> str:
    """An error code with its plain name: "1213 deadlock"; the code alone without one."""
    name = ERROR_NAMES.get(int(code))
    return f"{code} {name.text}" if name else code


def error_rate_label(codes: Iterable[str]) -> str:
    """The label of the rate of these errors: their name if all are the same."""
    different = {int(code) for code in codes}
    name = ERROR_NAMES.get(different.pop()) if len(different) == 1 else None
    return name.rate if name else "errors/s"
