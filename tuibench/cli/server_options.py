"""Where the server is and how to log in: options first, then the environment, then option files."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from getpass import getuser
from typing import Annotated, ClassVar

import msgspec
import typer

from tuibench.cli import endpoints
from tuibench.cli.arguments import inherited_password
from tuibench.cli.password import asked_password
from tuibench.errors import UsageError
from tuibench.model.target import Target
from tuibench.mysql.optionfile import read_options

DEFAULT_SOCKETS = ("/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "/tmp/mysql.sock")  # noqa: S108
"""Where packagers put the socket that `localhost` means."""

PLACE = ("host", "port", "socket")
"""Together they say where the server is: whoever names a host does not mean the socket of a file."""

ON, OFF = ("on", "1", "true", "yes"), ("off", "0", "false", "no")


def _option(*names: str, help: str, hidden: bool = False) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(*names, help=help, show_default=False, hidden=hidden)
    return option


@dataclass(frozen=True)
class ServerOptions:
    """The options in the MySQL clients' spelling and sysbench's."""

    SECTION: ClassVar = "Server"

    host: Annotated[
        str | None,
        _option("-h", "--host", "--mysql-host", help="Server's host, or several: a,b [localhost]."),
    ] = None
    port: Annotated[
        str | None, _option("-P", "--port", "--mysql-port", help="TCP port, or several: 3306,3307 [3306].")
    ] = None
    user: Annotated[str | None, _option("-u", "--user", "--mysql-user", help="User to log in as.")] = None
    ask_password: Annotated[bool, _option("-p", help="Ask for the password.")] = False
    password: Annotated[
        str | None, _option("--password", "--mysql-password", help="Password; visible to others, prefer -p.")
    ] = None
    password_command: Annotated[
        str | None,
        _option("--password-command", help="Shell command that prints the password, run for new logins."),
    ] = None
    socket: Annotated[
        str | None, _option("-S", "--socket", "--mysql-socket", help="Unix socket; wins over host and port.")
    ] = None
    database: Annotated[
        str | None, _option("-D", "--database", "--mysql-db", help="Database of the tables [sbtest].")
    ] = None
    defaults_file: Annotated[
        str | None, _option("--defaults-file", help="Read this option file instead of the usual ones.")
    ] = None
    defaults_group_suffix: Annotated[
        str, _option("--defaults-group-suffix", help="Read the groups with this suffix, too.")
    ] = ""
    ssl_mode: Annotated[
        str | None,
        _option(
            "--ssl-mode", help="disabled, preferred, required, verify-ca or verify-identity [preferred]."
        ),
    ] = None
    ssl_ca: Annotated[str | None, _option("--ssl-ca", help="Certificates to trust.")] = None
    ssl_cert: Annotated[str | None, _option("--ssl-cert", help="Client certificate.")] = None
    ssl_key: Annotated[str | None, _option("--ssl-key", help="Key of the client certificate.")] = None
    compress: Annotated[bool, _option("--compress", help="Refused.", hidden=True)] = False
    mysql_compression: Annotated[
        str | None, _option("--mysql-compression", help="Only off is taken.", hidden=True)
    ] = None

    def target(self) -> Target:
        """The server meant. Raises UsageError for what cannot be."""
        self._refuse_compression()
        found: dict[str, object] = {}
        files = read_options(self.defaults_file, self.defaults_group_suffix)
        for layer in (dict(files), _environment(), self.given()):
            _lay_over(found, layer)
        if self.ask_password:
            found.pop("password_command", None)
            found["password"] = asked_password()
        found.setdefault("user", getuser())
        if isinstance(mode := found.get("ssl_mode"), str):
            found["ssl_mode"] = mode.lower().replace("_", "-")
        if not found.get("socket") and "port" not in found and found.get("host", "localhost") == "localhost":
            found["socket"] = next((path for path in DEFAULT_SOCKETS if os.path.exists(path)), "")
        try:
            return msgspec.convert({**found, **endpoints.fields(found)}, Target)
        except msgspec.ValidationError as error:
            raise UsageError(f"the server options do not fit: {error}") from error

    def given(self) -> dict[str, object]:
        """What the options themselves say, by the fields of a Target."""
        names = (*PLACE, "user", "password_command", "database", "ssl_mode", "ssl_ca", "ssl_cert", "ssl_key")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        password = inherited_password() if self.password is None else self.password
        return given if password is None else {**given, "password": password}

    def over(self, known: Target, login: Target) -> Target:
        """A server that is known from a record, with all that the options themselves say.

        Passwords are in no record; they are those of `login`, which is what the options mean by themselves.
        """
        found = {**msgspec.structs.asdict(known), "password": login.password}
        found["password_command"] = login.password_command
        _lay_over(found, self.given())
        try:
            return msgspec.convert({**found, **endpoints.fields(found)}, Target)
        except msgspec.ValidationError as error:
            raise UsageError(f"the server options do not fit: {error}") from error

    def _refuse_compression(self) -> None:
        wanted = (self.mysql_compression or "off").lower()
        if wanted not in ON + OFF:
            raise UsageError(f"--mysql-compression is on or off, not '{self.mysql_compression}'")
        if self.compress or wanted in ON:
            raise UsageError(
                f"{'--compress' if self.compress else '--mysql-compression'}: "
                "connections cannot be compressed here, the driver does not speak that protocol",
                "leave it out; between hosts, an ssh -C tunnel compresses",
            )


def _lay_over(found: dict[str, object], layer: Mapping[str, object]) -> None:
    """Puts a stronger layer over what was found. A place or a password of its own hides the weaker ones'."""
    if "port" in layer or layer.get("host", "localhost") != "localhost":
        found.pop("socket", None)
    if "password" in layer or "password_command" in layer:
        found.pop("password", None)
        found.pop("password_command", None)
    found.update(layer)


def _environment() -> dict[str, str]:
    """TUIBENCH_HOST, TUIBENCH_PORT, … and MYSQL_PWD."""
    fields = (*PLACE, "user", "database", "password_command")
    names = {name: f"TUIBENCH_{name.upper()}" for name in fields}
    found = {name: os.environ[variable] for name, variable in names.items() if variable in os.environ}
    if "MYSQL_PWD" in os.environ:
        found["password"] = os.environ["MYSQL_PWD"]
    return found
