"""Server address and login: from options, then the environment, then option files; its replicas.

Hosts, ports and sockets may be lists, as in sysbench: every host with every port, or every socket.

`-p` reads the password from the terminal, or from stdin without one.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from getpass import getuser
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
from msgspec.structs import replace

from tuibench import credentials
from tuibench.cli import output
from tuibench.errors import UsageError
from tuibench.model.option import Option
from tuibench.model.server import (
    LONGEST_TIMEOUT_SECONDS,
    SHORTEST_TIMEOUT_SECONDS,
    VERIFYING,
    Endpoint,
    Target,
)

if TYPE_CHECKING:
    from tuibench.model.message import ReplicaChoice

MAX_PORT = 65535


def parse_endpoints(found: Mapping[str, object]) -> tuple[Endpoint, ...]:
    """Endpoints from the lists in `host`, `port` and `socket`; sockets take precedence. Raises UsageError."""
    hosts = _split_list(found, "host", Endpoint().host)
    ports = [_parse_port(text) for text in _split_list(found, "port", str(Endpoint().port))]
    if not hosts or not ports:
        raise UsageError(f"{'--port' if hosts else '--host'} is empty", "a list looks like this: db1,db2")
    if sockets := _split_list(found, "socket", ""):
        return tuple(Endpoint(host=hosts[0], port=ports[0], socket=socket) for socket in sockets)
    return tuple(Endpoint(host=host, port=port) for host, port in product(hosts, ports))


def endpoint_fields(found: Mapping[str, object]) -> dict[str, Any]:
    """The same as fields of a Target: the first endpoint is the target's own."""
    first, *further = parse_endpoints(found)
    own = {"host": first.host, "port": first.port, "socket": first.socket}
    failover = found.get("failover", ())
    if isinstance(failover, str):
        texts = _split_list(found, "failover", "")
        failover = tuple(_failover_endpoint(text, first.port) for text in texts)
    if failover and further:
        raise UsageError("--failover is for one server; --host and --port name several", "name one of them")
    return {**own, "further": tuple(further), "failover": failover}


def _failover_endpoint(text: str, port: int) -> Endpoint:
    """Another address of the server, on the same port by default. Raises UsageError."""
    if text.startswith("/"):
        return Endpoint(socket=text)
    match = _REPLICA.fullmatch(text)
    if match is None or match[1] or not 0 < int(match[3] or port) <= MAX_PORT:
        raise UsageError(
            f"--failover takes HOST[:PORT] or a socket's path, not '{text}'",
            "user, password and TLS are those of the server: --failover=db2:3306",
        )
    return Endpoint(host=match[2].strip("[]"), port=int(match[3] or port))


def _split_list(found: Mapping[str, object], name: str, default: str) -> list[str]:
    return [part for part in (text.strip() for text in str(found.get(name, default)).split(",")) if part]


def _parse_port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MAX_PORT:
        raise UsageError(f"--port must be between 1 and {MAX_PORT}, not {text}")
    return int(text)


TERMINAL = "/dev/tty"


def prompt_password() -> str:
    """Read the password without echo; without a terminal, a line of stdin. Raises UsageError without one."""
    if _has_terminal():
        return output.ask_password()
    line = sys.stdin.readline()
    if not line:
        raise UsageError(
            "-p asks for the password, but there is no terminal",
            "use --password-command, MYSQL_PWD or an option file",
        )
    return line.rstrip("\r\n")


def _has_terminal() -> bool:
    """True if the process has a terminal for questions, even if its standard streams are redirected."""
    if sys.stdin.isatty():
        return True
    try:
        os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


DEFAULT_SOCKETS = ("/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "/tmp/mysql.sock")  # noqa: S108
"""Packagers' paths of the socket for `localhost`."""

ADDRESS_FIELDS = ("host", "port", "socket")
"""Fields that locate the server; as one group, so that a host option overrides a socket of an option file."""

CERTIFICATES = ("ssl_ca", "ssl_cert", "ssl_key", "ssl_server_name")

PASSWORD_EXCHANGE = ("server_public_key_path", "get_server_public_key", "enable_cleartext_plugin")
"""Fields that allow other ways for a password than TLS."""

TIMEOUTS = ("connect_timeout", "query_timeout", "net_timeout")

ON_WORDS, OFF_WORDS = ("on", "1", "true", "yes"), ("off", "0", "false", "no")


@dataclass(frozen=True)
class ServerOptions:
    """Server options, in the spelling of the MySQL clients and of sysbench."""

    SECTION: ClassVar = "Server"

    host: Annotated[
        str | None,
        Option(
            "-h", "--host", "--mysql-host", metavar="HOST", help="Server's host, or several: a,b [localhost]."
        ),
    ] = None
    port: Annotated[
        str | None,
        Option(
            "-P", "--port", "--mysql-port", metavar="PORT", help="TCP port, or several: 3306,3307 [3306]."
        ),
    ] = None
    user: Annotated[
        str | None, Option("-u", "--user", "--mysql-user", metavar="USER", help="User to log in as.")
    ] = None
    ask_password: Annotated[bool, Option("-p", help="Ask for the password.")] = False
    password: Annotated[
        str | None,
        Option(
            "--password",
            "--mysql-password",
            metavar="TEXT",
            help="Password; visible to other users, prefer -p.",
        ),
    ] = None
    password_command: Annotated[
        str | None,
        Option(metavar="COMMAND", help="Shell command that prints the password, run for new logins."),
    ] = None
    socket: Annotated[
        str | None,
        Option(
            "-S",
            "--socket",
            "--mysql-socket",
            metavar="FILE",
            help="Unix socket; takes precedence over host and port.",
        ),
    ] = None
    failover: Annotated[
        str | None,
        Option(
            metavar="HOST[:PORT]",
            help="Another address of the server, or several: tried in turn where a login fails.",
        ),
    ] = None
    database: Annotated[
        str | None,
        Option("-D", "--database", "--mysql-db", metavar="NAME", help="Database of the tables [sbtest]."),
    ] = None
    defaults_file: Annotated[
        str | None, Option(metavar="FILE", help="Read this option file instead of the default ones.")
    ] = None
    no_defaults: Annotated[bool, Option(help="Read no option files.")] = False
    protocol: Annotated[str | None, Option(help="tcp or socket; tcp also for localhost.", hidden=True)] = None
    defaults_group_suffix: Annotated[
        str, Option(metavar="TEXT", help="Also read the groups with this suffix.")
    ] = ""
    ssl_mode: Annotated[
        str | None,
        Option(
            metavar="MODE", help="disabled, preferred, required, verify-ca or verify-identity [preferred]."
        ),
    ] = None
    ssl_ca: Annotated[
        str | None, Option(metavar="FILE", help="Certificates to trust; without --ssl-mode, verify-ca.")
    ] = None
    ssl_cert: Annotated[str | None, Option(metavar="FILE", help="Client certificate.")] = None
    ssl_key: Annotated[str | None, Option(metavar="FILE", help="Key of the client certificate.")] = None
    ssl_server_name: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Name in the server's certificate, behind a tunnel; without --ssl-mode, verify-identity.",
        ),
    ] = None
    compress: Annotated[bool, Option(help="Compress what is sent and received (zlib), for a slow link.")] = (
        False
    )
    server_public_key_path: Annotated[
        str | None, Option(metavar="FILE", help="Server's RSA key, for a password without TLS.")
    ] = None
    get_server_public_key: Annotated[bool, Option(help="Trust the RSA key that the server sends.")] = False
    enable_cleartext_plugin: Annotated[
        bool, Option(help="Allow plugins (PAM, LDAP) that send the password itself.")
    ] = False
    connect_timeout: Annotated[float | None, Option(help="Time limit of a login in seconds [10].")] = None
    query_timeout: Annotated[
        float | None, Option(help="Time limit of tuibench's own queries in seconds [15].")
    ] = None
    net_timeout: Annotated[
        float | None, Option(help="Seconds until connections to an unreachable host are replaced [30].")
    ] = None
    mysql_compression: Annotated[str | None, Option(help="on is --compress.", hidden=True)] = None
    compression_algorithms: Annotated[str | None, Option(help="zlib is --compress.", hidden=True)] = None

    def target(self, tell: Callable[[str], None] = output.warning) -> Target:
        """The target; `tell` gets a warning about certificates that are not verified.

        Raises UsageError for invalid options.
        """
        from tuibench.mysql.option_files import read_options

        found: dict[str, object] = {}
        files = () if self.no_defaults else read_options(self.defaults_file, self.defaults_group_suffix)
        for layer in (dict(files), _from_environment(), self.given()):
            _override(found, layer)
        if self.ask_password:
            found.pop("password_command", None)
            found["password"] = prompt_password()
        found.setdefault("user", getuser())
        _settle_ssl_mode(found, tell)
        if self.protocol not in (None, "tcp", "TCP", "socket", "SOCKET"):
            raise UsageError(f"--protocol is tcp or socket, not '{self.protocol}'")
        if (self.protocol or "").lower() == "tcp":
            found.pop("socket", None)
        elif (
            not found.get("socket") and "port" not in found and found.get("host", "localhost") == "localhost"
        ):
            found["socket"] = next((path for path in DEFAULT_SOCKETS if os.path.exists(path)), "")
        # Options that give the password again: the option file, or the question for it.
        words = [f"--defaults-file={self.defaults_file}"] * bool(self.defaults_file)
        words += ["--no-defaults"] * self.no_defaults
        words += [f"--defaults-group-suffix={self.defaults_group_suffix}"] * bool(self.defaults_group_suffix)
        found["login"] = (
            *words,
            *["-p"] * (self.ask_password or not {"password", "password_command"}.isdisjoint(self.given())),
        )
        try:
            return msgspec.convert({**found, **endpoint_fields(found)}, Target)
        except msgspec.ValidationError as error:
            raise UsageError(f"invalid server options: {error}") from error

    def given(self) -> dict[str, object]:
        """Values of the given options, by field of a Target."""
        for name in TIMEOUTS:
            seconds = getattr(self, name)
            if seconds is not None and not SHORTEST_TIMEOUT_SECONDS <= seconds <= LONGEST_TIMEOUT_SECONDS:
                raise UsageError(
                    f"--{name.replace('_', '-')} must be between {SHORTEST_TIMEOUT_SECONDS:g} and "
                    f"{LONGEST_TIMEOUT_SECONDS:,.0f} seconds, not {seconds:g}"
                )
        login = ("failover", "user", "password_command", "database", "ssl_mode", "compress")
        names = (*ADDRESS_FIELDS, *login, *CERTIFICATES, *PASSWORD_EXCHANGE, *TIMEOUTS)
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        given |= {
            "compress": self.compress or self._compresses_as_sysbench() or self._compresses_as_clients()
        }
        given = {name: value for name, value in given.items() if value is not False}
        password = _inherited_password() if self.password is None else self.password
        return given if password is None else {**given, "password": password}

    def over(self, known: Target, login: Target) -> Target:
        """A recorded server, overridden by the given options.

        Passwords are never recorded; they come from `login`, the target of the options alone.
        """
        found = {**msgspec.structs.asdict(known), "password": login.password, "login": login.login}
        found["password_command"] = login.password_command
        given = self.given()
        mode = _verifying_mode(given)
        if mode and (known.ssl_mode not in VERIFYING or mode == "verify-identity"):
            given.setdefault("ssl_mode", mode)
        _override(found, given)
        try:
            return msgspec.convert({**found, **endpoint_fields(found)}, Target)
        except msgspec.ValidationError as error:
            raise UsageError(f"invalid server options: {error}") from error

    def _compresses_as_sysbench(self) -> bool:
        wanted = (self.mysql_compression or "off").lower()
        if wanted not in ON_WORDS + OFF_WORDS:
            raise UsageError(f"--mysql-compression is on or off, not '{self.mysql_compression}'")
        return wanted in ON_WORDS

    def _compresses_as_clients(self) -> bool:
        wanted = (self.compression_algorithms or "uncompressed").lower()
        if wanted not in ("zlib", "uncompressed"):
            raise UsageError(
                f"--compression-algorithms is zlib or uncompressed, not '{self.compression_algorithms}'",
                "a server that offers zstd offers zlib, too, unless it is configured otherwise",
            )
        return wanted == "zlib"


def _settle_ssl_mode(found: dict[str, object], tell: Callable[[str], None]) -> None:
    """As in the MySQL clients, a CA means verify-ca, unless a mode is given; a name in its certificate means
    verify-identity.
    """
    if isinstance(mode := found.get("ssl_mode"), str):
        found["ssl_mode"] = mode.lower().replace("_", "-")
    if not (verifying := _verifying_mode(found)):
        return
    chosen = found.setdefault("ssl_mode", verifying)
    if found.get("ssl_server_name") and chosen != "verify-identity":
        tell(f"--ssl-mode={chosen} does not verify the server's name: --ssl-server-name has no effect")
    if found.get("ssl_ca") and chosen not in VERIFYING:
        tell(f"--ssl-mode={chosen} does not verify the server's certificate: --ssl-ca has no effect")


def _verifying_mode(found: Mapping[str, object]) -> str:
    """The mode that the options mean if none is given."""
    if found.get("ssl_server_name"):
        return "verify-identity"
    return "verify-ca" if found.get("ssl_ca") else ""


def _override(found: dict[str, object], layer: Mapping[str, object]) -> None:
    """Override values with a layer of higher precedence. Its address or password hides earlier ones."""
    if "port" in layer or layer.get("host", "localhost") != "localhost":
        found.pop("socket", None)
    if "password" in layer or "password_command" in layer:
        found.pop("password", None)
        found.pop("password_command", None)
    found.update(layer)


def _inherited_password() -> str | None:
    """Password of the command line. Raises UsageError if it is not valid UTF-8."""
    try:
        return credentials.inherited_password()
    except UnicodeDecodeError:
        raise UsageError("the password is not valid UTF-8", "is the terminal set to UTF-8?") from None


def _from_environment() -> dict[str, object]:
    """Values of TUIBENCH_HOST, TUIBENCH_PORT, … and MYSQL_PWD."""
    from tuibench.mysql.option_files import parse_option

    fields = (*ADDRESS_FIELDS, "user", "database", "password_command")
    names = {name: f"TUIBENCH_{name.upper()}" for name in (*fields, *PASSWORD_EXCHANGE)}
    found: dict[str, object] = {
        name: os.environ[variable] for name, variable in names.items() if variable in os.environ
    }
    for name in found.keys() & set(PASSWORD_EXCHANGE):
        if parsed := parse_option(name.replace("_", "-"), str(found[name]), names[name]):
            found[name] = parsed[1]
    if (password := credentials.environment_password()) is not None:
        found["password"] = password
    return found


AUTO = "auto"
_REPLICA = re.compile(r"(?:([^@/\s]+)@)?(\[[0-9A-Fa-f:.%]+\]|[^@:/\s\[\]]+)(?::(\d+))?")


def replica_choice(texts: Sequence[str], target: Target) -> "ReplicaChoice":
    """The replicas, with the login of `target`. Raises UsageError for an invalid address."""
    from tuibench.model.message import ReplicaChoice

    named = [text for text in texts if text != AUTO]
    return ReplicaChoice(
        targets=tuple(replica_target(text, target) for text in named), find=len(named) < len(texts)
    )


def replica_target(text: str, target: Target) -> Target:
    if text.startswith("/"):
        return replace(target, socket=text, further=(), failover=())
    match = _REPLICA.fullmatch(text)
    if match is None or ":" in (match[1] or "") or not 0 < int(match[3] or 3306) <= MAX_PORT:
        raise UsageError(
            f"--replica takes [USER@]HOST[:PORT], a socket's path, or auto, not '{text}'",
            "password and TLS are those of the server: --replica=db2:3306",
        )
    return replace(
        target,
        user=match[1] or target.user,
        host=match[2].strip("[]"),
        port=int(match[3] or 3306),
        socket="",
        further=(),
        failover=(),
    )
