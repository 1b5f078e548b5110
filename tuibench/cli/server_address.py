"""The address of the server: notations, and the choice between several given addresses.

Addresses in option files and in the clients' environment variables are read as by `mariadb` and `mysql`:
`localhost` means the socket unless the protocol is TCP, and a socket applies to `localhost` only. An address
in tuibench's own options or variables is used literally; a port without a host means TCP, as for `mariadb`.
A given address that is not used is reported.

Hosts, ports and sockets in tuibench's options may be lists, as in sysbench: every host with every port, or
every socket. A list in an option file means the first server that answers, as for `mariadb`.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tuibench.base.errors import UsageError
from tuibench.model.server import Endpoint

MAX_PORT = 65535
LOCALHOST, TCP, SOCKET = "localhost", "tcp", "socket"

DEFAULT_SOCKETS = (
    "/run/mysqld/mysqld.sock",  # Debian, Ubuntu, Alpine
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",  # RHEL, Fedora, Amazon Linux
    "/run/mysql/mysql.sock",  # openSUSE
    "/opt/bitnami/mysql/tmp/mysql.sock",
    "/opt/bitnami/mariadb/tmp/mysql.sock",
    "/tmp/mysql.sock",  # noqa: S108  # builds from source, Homebrew, FreeBSD
)
"""The paths of the socket for `localhost` in packages of the servers."""

CLIENT_VARIABLES = {"host": "MYSQL_HOST", "default_port": "MYSQL_TCP_PORT", "socket": "MYSQL_UNIX_PORT"}
"""The environment variables of the MySQL clients, over which option files take precedence."""

LISTENING_SOCKETS = Path("/proc/net/unix")


class Place(NamedTuple):
    """An address as typed: `USER@HOST:PORT`."""

    user: str
    """Empty if not given."""
    host: str
    port: int | None
    """None if not given."""


_PLACE = re.compile(r"(?:([^@:/\s]+)@)?(?:\[([\w:.%-]+)\]|([^@:/\s\[\]]+))(?::(\d{1,5}))?", re.ASCII)
_IPV6 = re.compile(r"[0-9A-Fa-f]*(?::[0-9A-Fa-f.]*){2,8}(%[\w.-]+)?", re.ASCII)


def parse_place(text: str, option: str, takes: str = "HOST, HOST:PORT or [IPV6]:PORT") -> Place:
    """Parse an address with an optional port. Raises UsageError, without a password that a URL contains."""
    text = text.strip()
    if _IPV6.fullmatch(text):
        return Place("", text, None)
    match = _PLACE.fullmatch(text)
    host = (match[2] or match[3]) if match else ""
    is_ipv6 = match is not None and ":" in (match[2] or "")
    if (
        match is None
        or (match[2] is not None and not (is_ipv6 and _IPV6.fullmatch(match[2])))
        or (match[4] is not None and not 0 < int(match[4]) <= MAX_PORT)
    ):
        raise UsageError(f"{option} takes {takes}, not {_shown(text)}", _as_options(text))
    return Place(match[1] or "", host, int(match[4]) if match[4] else None)


def _shown(text: str) -> str:
    """The text for a message, without a password."""
    if "://" in text:
        return "a URL"
    return f"'…@{text.rpartition('@')[2]}'" if "@" in text else f"'{text}'"


def _as_options(text: str) -> str:
    """The options that are equivalent to a URL or to `user@host`, without its password."""
    before, at, place = text.rpartition("@")
    if "://" not in text and not at:
        return "for example db1, db1:3307, or [::1]:3307; user and password have options of their own"
    user = before.rpartition("/")[2] if "://" not in text else before.partition("://")[2]
    address, _, database = (place if at else text.partition("://")[2]).partition("/")
    host, _, port = address.rpartition(":") if re.search(r":\d+$", address) else (address, "", "")
    user, _, password = user.partition(":")
    words = {"host": host.strip("[]"), "port": port, "user": user, "database": database.partition("?")[0]}
    shown = [f"--{name}={value}" for name, value in words.items() if value]
    return f"as options: {' '.join(shown + ['-p'] * bool(password))}"


def parse_endpoints(found: Mapping[str, object]) -> tuple[Endpoint, ...]:
    """The endpoints of the lists in `host`, `port` and `socket`; sockets take precedence.

    Raises UsageError for an invalid port.
    """
    hosts = [parse_place(text, "--host") for text in split_list(found, "host", Endpoint().host)]
    ports = [_parse_port(text) for text in split_list(found, "port", str(Endpoint().port))]
    if not hosts or not ports:
        raise UsageError(f"{'--port' if hosts else '--host'} is empty", "a list looks like this: db1,db2")
    if user := next((host.user for host in hosts if host.user), ""):
        raise UsageError("--host takes no user", f"give it with --user={user}")
    if sockets := split_list(found, "socket", ""):
        return tuple(Endpoint(host=hosts[0].host, port=ports[0], socket=socket) for socket in sockets)
    pairs = ((host.host, port) for host in hosts for port in ([host.port] if host.port else ports))
    return tuple(Endpoint(host=host, port=port) for host, port in dict.fromkeys(pairs))


def endpoint_fields(found: Mapping[str, object]) -> dict[str, Any]:
    """The endpoints as fields of a `Target`, whose own address is the first endpoint."""
    first, *further = parse_endpoints(found)
    own = {"host": first.host, "port": first.port, "socket": first.socket}
    failover = found.get("failover", ())
    if isinstance(failover, str):
        texts = split_list(found, "failover", "")
        failover = tuple(_failover_endpoint(text, first.port) for text in texts)
    if failover and further:
        raise UsageError("--failover is for one server; --host and --port name several", "name one of them")
    return {**own, "further": tuple(further), "failover": failover}


def _failover_endpoint(text: str, port: int) -> Endpoint:
    """Parse another address of the server; the default port is `port`. Raises UsageError if it is invalid."""
    if text.startswith("/"):
        return Endpoint(socket=text)
    place = parse_place(text, "--failover", "HOST[:PORT] or a socket's path")
    if place.user:
        raise UsageError("--failover takes no user", "user, password and TLS are those of the server")
    return Endpoint(host=place.host, port=place.port or port)


def split_list(found: Mapping[str, object], name: str, default: str) -> list[str]:
    """The elements of an option's list, which is separated by commas."""
    return [part for part in (text.strip() for text in str(found.get(name, default)).split(",")) if part]


def _parse_port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MAX_PORT:
        raise UsageError(f"--port must be between 1 and {MAX_PORT}, not {text}")
    return int(text)


def client_environment(environment: Mapping[str, str] = os.environ) -> dict[str, object]:
    """The values of the clients' environment variables. Raises UsageError for a port that is not a number."""
    found = {name: text for name, each in CLIENT_VARIABLES.items() if (text := environment.get(each))}
    if (port := found.get("default_port", "0")) and not (port.isascii() and port.isdigit()):
        raise UsageError(f"MYSQL_TCP_PORT is '{port}'", "a port is a number, such as 3306")
    return dict(found)


def choose_address(
    of_clients: Mapping[str, object],
    own: Mapping[str, object],
    tell: Callable[[str], None],
    server_sockets: Callable[[], Iterable[str]] = tuple,
) -> dict[str, object]:
    """The `host`, `port`, `socket` and `failover` to use.

    `of_clients` are the values in option files and variables of the clients, `own` those given to tuibench;
    both may contain a `protocol`. `tell` is called with a message about an address that is not used.
    `server_sockets` returns further sockets of servers on this host.

    Raises UsageError for an unsupported protocol, and for two ports of the same host.
    """
    clients_host = str(of_clients.get("host") or LOCALHOST)
    own_host = str(own.get("host") or "")
    host = own_host or clients_host
    protocol = own.get("protocol") or ("" if own.get("socket") else of_clients.get("protocol", ""))
    if protocol not in ("", TCP, SOCKET):
        raise UsageError(f"the protocol {protocol} is one of Windows", "use tcp or socket")
    if own.get("protocol") == SOCKET and not own.get("socket") and host != LOCALHOST:
        raise UsageError(f"the protocol is socket, and the host {host}", "a socket is on this host")
    port = str(own.get("port", of_clients.get("port", 0)))
    if port == "0":
        port = str(of_clients.get("default_port", Endpoint().port))
    elif "port" in own and (named := re.search(r"(?:^|,)\s*([^:,\s]+|\[[^]]*\]):\d+\s*(?:,|$)", own_host)):
        raise UsageError(f"there is --port, and a port in --host={named[0].strip(', ')}", "give one of them")
    chosen: dict[str, object] = {"host": host, "port": port, "socket": ""}
    if own_socket := own.get("socket"):
        if protocol == TCP:
            tell(f"--socket={own_socket} is not used: the protocol is tcp")
            return chosen
        if own_host not in ("", LOCALHOST):
            tell(f"--host={own_host} is not used: --socket takes precedence")
        elif not own_host and clients_host != LOCALHOST:
            tell(f"{clients_host} of the option files is not used: --socket takes precedence")
        return {**chosen, "socket": own_socket}
    if not own_host and "," in clients_host:
        first, *others = clients_host.split(",")
        chosen |= {"host": first, "failover": ",".join(others)}
    if host != LOCALHOST or protocol == TCP:
        return chosen
    if "port" in own and own.get("protocol") != SOCKET:
        if protocol == SOCKET:
            tell(f"protocol=socket of the option files is not used: there is --port={port}")
        return chosen
    clients_socket = of_clients.get("socket")
    chosen["socket"] = clients_socket or _default_socket(local_sockets(server_sockets), tell)
    if protocol == SOCKET and not chosen["socket"]:
        raise UsageError("the protocol is socket, and none was found", "give it with --socket=FILE")
    if not clients_socket and chosen["socket"] and port != str(Endpoint().port):
        tell(
            f"port {port} is not used: localhost is the socket {chosen['socket']}, as for the server's own "
            f"clients (--protocol=tcp, or --port={port})"
        )
    return chosen


def _default_socket(found: Sequence[str], tell: Callable[[str], None]) -> str:
    if len(found) > 1:
        tell(f"several servers listen on this host; this is --socket={found[0]}, not {', '.join(found[1:])}")
    return found[0] if found else ""


def local_sockets(server_sockets: Callable[[], Iterable[str]] = tuple) -> list[str]:
    """The sockets for `localhost`, one for each server.

    They are those of `DEFAULT_SOCKETS` and `server_sockets` at which a process listens; if that cannot be
    determined, those that exist.
    """
    found: dict[tuple[int, int], str] = {}
    for path in (*DEFAULT_SOCKETS, *server_sockets()):
        with contextlib.suppress(OSError):
            kind = os.stat(path)
            found.setdefault((kind.st_dev, kind.st_ino), path)
    # Sockets of other network namespaces, such as those of a container's host, are not listed.
    try:
        listening = {
            os.path.realpath(line.split()[-1]) for line in LISTENING_SOCKETS.read_text().splitlines()
        }
    except OSError:
        listening = set()
    return [path for path in found.values() if os.path.realpath(path) in listening] or list(found.values())
