"""Address and login of the server, in descending precedence from options, environment and option files; the
addresses of its replicas.
"""

import contextlib
import os
import pwd
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, get_args

import msgspec
import typer
from msgspec.structs import replace

from tuibench.base import credentials
from tuibench.base.errors import UsageError
from tuibench.cli import candidates, output
from tuibench.cli.server_address import (
    choose_address,
    client_environment,
    endpoint_fields,
    parse_place,
)
from tuibench.model.server import (
    LONGEST_TIMEOUT_SECONDS,
    SHORTEST_TIMEOUT_SECONDS,
    VERIFYING,
    SslMode,
    Target,
)

if TYPE_CHECKING:
    from tuibench.model.message import ReplicaChoice

TERMINAL = "/dev/tty"


def prompt_password() -> str:
    """Read the password from the terminal without echo, or a line of stdin if there is no terminal.

    Raises UsageError if stdin has no line.
    """
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
    """True if the process has a controlling terminal, even if its standard streams are redirected."""
    if sys.stdin.isatty():
        return True
    try:
        os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


ADDRESS_FIELDS = ("host", "port", "socket")
"""Fields of the address. They are overridden together: a host option also overrides an option file's
socket.
"""

CERTIFICATES = ("ssl_ca", "ssl_cert", "ssl_key", "ssl_server_name")

PASSWORD_EXCHANGE = ("server_public_key_path", "get_server_public_key", "enable_cleartext_plugin")
"""Fields that allow sending a password without TLS."""

TIMEOUTS = ("connect_timeout", "query_timeout", "net_timeout")

ON_WORDS, OFF_WORDS = ("on", "1", "true", "yes"), ("off", "0", "false", "no")


class ServerOptions(msgspec.Struct, frozen=True):
    """Server options, in the spelling of the MySQL clients and of sysbench."""

    SECTION: ClassVar = "Server"

    host: Annotated[
        str | None,
        typer.Option(
            "-h", "--host", "--mysql-host", metavar="HOST", help="Server's host, or several: a,b [localhost]."
        ),
    ] = None
    port: Annotated[
        str | None,
        typer.Option(
            "-P", "--port", "--mysql-port", metavar="PORT", help="TCP port, or several: 3306,3307 [3306]."
        ),
    ] = None
    user: Annotated[
        str | None, typer.Option("-u", "--user", "--mysql-user", metavar="USER", help="User to log in as.")
    ] = None
    ask_password: Annotated[bool, typer.Option("-p", help="Ask for the password.")] = False
    password: Annotated[
        str | None,
        typer.Option(
            "--password",
            "--mysql-password",
            metavar="TEXT",
            help="Password; visible to other users, prefer -p.",
        ),
    ] = None
    password_command: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="Shell command that prints the password, run for new logins."),
    ] = None
    socket: Annotated[
        str | None,
        typer.Option(
            "-S",
            "--socket",
            "--mysql-socket",
            metavar="FILE",
            help="Unix socket; takes precedence over host and port.",
        ),
    ] = None
    failover: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="Another address of the server, or several: tried in turn where a login fails.",
        ),
    ] = None
    database: Annotated[
        str | None,
        typer.Option(
            "-D", "--database", "--mysql-db", metavar="NAME", help="Database of the tables [sbtest]."
        ),
    ] = None
    defaults_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Read this option file instead of the default ones.")
    ] = None
    defaults_extra_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Read this option file, too, before that of the user.")
    ] = None
    no_defaults: Annotated[bool, typer.Option("--no-defaults", help="Read no option files.")] = False
    protocol: Annotated[
        str | None, typer.Option(metavar="WORD", help="tcp or socket; tcp also for localhost.")
    ] = None
    defaults_group_suffix: Annotated[
        str, typer.Option(metavar="TEXT", help="Also read the groups with this suffix.")
    ] = ""
    login_path: Annotated[
        str, typer.Option(metavar="NAME", help="Also read this login path of mysql_config_editor.")
    ] = ""
    no_login_paths: Annotated[
        bool,
        typer.Option("--no-login-paths", help="Do not read the file of mysql_config_editor.", hidden=True),
    ] = False
    ssl_mode: Annotated[
        str | None,
        typer.Option(
            autocompletion=candidates.words(*get_args(SslMode)),
            metavar="MODE",
            help="disabled, preferred, required, verify-ca or verify-identity [preferred].",
        ),
    ] = None
    ssl_ca: Annotated[
        str | None, typer.Option(metavar="FILE", help="Certificates to trust; without --ssl-mode, verify-ca.")
    ] = None
    ssl_cert: Annotated[str | None, typer.Option(metavar="FILE", help="Client certificate.")] = None
    ssl_key: Annotated[str | None, typer.Option(metavar="FILE", help="Key of the client certificate.")] = None
    ssl_server_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name in the server's certificate, behind a tunnel; without --ssl-mode, verify-identity.",
        ),
    ] = None
    compress: Annotated[
        bool, typer.Option("--compress", help="Compress what is sent and received (zlib), for a slow link.")
    ] = False
    server_public_key_path: Annotated[
        str | None, typer.Option(metavar="FILE", help="Server's RSA key, for a password without TLS.")
    ] = None
    get_server_public_key: Annotated[
        bool, typer.Option("--get-server-public-key", help="Trust the RSA key that the server sends.")
    ] = False
    enable_cleartext_plugin: Annotated[
        bool,
        typer.Option(
            "--enable-cleartext-plugin", help="Allow plugins (PAM, LDAP) that send the password itself."
        ),
    ] = False
    connect_timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time limit of a login in seconds [10].")
    ] = None
    query_timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time limit of tuibench's own queries in seconds [15]."),
    ] = None
    net_timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Seconds until an unreachable host, or half a response, ends a connection [30].",
        ),
    ] = None
    mysql_compression: Annotated[str | None, typer.Option(help="on is --compress.", hidden=True)] = None
    compression_algorithms: Annotated[
        str | None,
        typer.Option(
            "--compression-algorithms",
            "--mysql-compression-algorithms",
            help="zlib is --compress.",
            hidden=True,
        ),
    ] = None

    def target(self, tell: Callable[[str], None] = output.warning) -> Target:
        """The target; `tell` is called with a warning if certificates are not verified.

        Raises UsageError for invalid options.
        """
        from tuibench.mysql.option_files import OptionFiles, read_options, server_sockets

        chosen = OptionFiles(
            self.defaults_file,
            self.defaults_extra_file,
            self.no_defaults,
            self.defaults_group_suffix,
            self.login_path,
            self.no_login_paths,
        )
        of_clients = {**client_environment(), **read_options(chosen, tell)}
        own: dict[str, object] = {}
        for layer in (_from_environment(), self.given()):
            _override(own, layer)
        if protocol := self._protocol():
            own["protocol"] = protocol
        found = dict(of_clients)
        _override(found, own)
        found |= choose_address(of_clients, own, tell, lambda: server_sockets(chosen))
        if self.ask_password:
            found.pop("password_command", None)
            found["password"] = prompt_password()
        if "user" not in found:
            found["user"] = system_user()
        _settle_ssl_mode(found, tell)
        # Record the options by which a repeated command gets the password: an option file, or a prompt.
        words = [
            f"--{name.replace('_', '-')}={value}"
            for name in ("defaults_file", "defaults_extra_file", "defaults_group_suffix", "login_path")
            if (value := getattr(self, name))
        ]
        words += ["--no-defaults"] * self.no_defaults + ["--no-login-paths"] * self.no_login_paths
        found["login"] = (
            *words,
            *["-p"] * (self.ask_password or not {"password", "password_command"}.isdisjoint(self.given())),
        )
        try:
            return msgspec.convert({**found, **endpoint_fields(found)}, Target)
        except msgspec.ValidationError as error:
            raise UsageError(f"invalid server options: {error}") from error

    @property
    def names_server(self) -> bool:
        """True if an option names a server or a login, for commands that need none."""
        return bool(self.given() or self.ask_password or self.defaults_file)

    def given(self) -> dict[str, object]:
        """The values of the given options, by field of a `Target`."""
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
        """A recorded target, overridden by the given options.

        Passwords are not recorded: they are taken from `login`, the target of the given options.
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
        from tuibench.mysql.option_files import is_compression

        try:
            return is_compression(self.compression_algorithms or "uncompressed")
        except ValueError:
            raise UsageError(
                f"--compression-algorithms is zlib or uncompressed, not '{self.compression_algorithms}'",
                "a server that offers zstd offers zlib, too, unless it is configured otherwise",
            ) from None

    def _protocol(self) -> str:
        from tuibench.mysql.option_files import parse_protocol

        try:
            return parse_protocol(self.protocol) if self.protocol else ""
        except ValueError:
            raise UsageError(f"--protocol is tcp or socket, not '{self.protocol}'") from None


def _settle_ssl_mode(found: dict[str, object], tell: Callable[[str], None]) -> None:
    """Set the mode of TLS if none is given, as in the MySQL clients: verify-ca with a CA, verify-identity
    with a server name.
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
    """The mode of TLS that the other options imply; empty if they imply none."""
    if found.get("ssl_server_name"):
        return "verify-identity"
    return "verify-ca" if found.get("ssl_ca") else ""


def _override(found: dict[str, object], layer: Mapping[str, object]) -> None:
    """Override values by those of higher precedence. A new address or password replaces all of the old
    one.
    """
    if "port" in layer or layer.get("host", "localhost") != "localhost":
        found.pop("socket", None)
    if "password" in layer or "password_command" in layer:
        found.pop("password", None)
        found.pop("password_command", None)
    found.update(layer)


def _inherited_password() -> str | None:
    """The password on the command line, if any. Raises UsageError if it is not valid UTF-8."""
    try:
        return credentials.inherited_password()
    except UnicodeDecodeError:
        raise UsageError("the password is not valid UTF-8", "is the terminal set to UTF-8?") from None


def _from_environment() -> dict[str, object]:
    """The values of TUIBENCH_HOST, TUIBENCH_PORT and so on, and of MYSQL_PWD, by field of a `Target`."""
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


def replica_choice(texts: Sequence[str], target: Target) -> "ReplicaChoice":
    """The replicas, with the login of `target`. Raises UsageError for an invalid address."""
    from tuibench.model.message import ReplicaChoice

    named = [text for text in texts if text != AUTO]
    return ReplicaChoice(
        targets=tuple(replica_target(text, target) for text in named), find=len(named) < len(texts)
    )


def replica_target(text: str, target: Target) -> Target:
    """The target of a replica, by default on port 3306. Raises UsageError for an invalid address."""
    if text.startswith("/"):
        return replace(target, socket=text, further=(), failover=())
    place = parse_place(text, "--replica", "[USER@]HOST[:PORT], a socket's path, or auto")
    return replace(
        target,
        user=place.user or target.user,
        host=place.host,
        port=place.port or Target().port,
        socket="",
        further=(),
        failover=(),
    )


def system_user() -> str:
    """The user of the system, the default of the MySQL clients' --user. Raises UsageError if it has no
    name.
    """
    if os.geteuid() == 0:
        return "root"
    with contextlib.suppress(OSError):
        return os.getlogin()
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    for variable in ("USER", "LOGNAME", "LOGIN"):
        if name := os.environ.get(variable):
            return name
    raise UsageError(
        f"the user id {os.geteuid()} of this process has no name", "give the server's with --user"
    )
