"""The driver, sessions, errors, and what a server says of itself."""

import ast
import asyncio
import re
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import asyncmy
import msgspec
import pytest
from asyncmy import errors as driver_errors

import tuibench.mysql
from tests import examples
from tests.fakes import FakeServer
from tests.login_server import LoginServer
from tests.paths import ROOT
from tests.private_names import is_private, private_names
from tests.scripted_server import tls_of_server
from tests.tables import for_each
from tuibench.base.errors import ConnectionLostError, DeniedError, ExitCode, ServerUnavailableError, SQLError
from tuibench.model.server import Flavour, Target
from tuibench.mysql import driver, errors
from tuibench.mysql.connection import connect
from tuibench.mysql.driver import RELEASE, DriverConnection
from tuibench.mysql.info import (
    INIT_CONNECT_FAILED,
    SESSION_DEFAULTS,
    apply_session_defaults,
    build_server_info,
    detect_flavour,
    instance_identity,
    is_on_this_host,
    read_only_bypass_privileges,
    server_info,
)

# The driver's private names: in one file, all of them there, in the release that was read.


PACKAGE = Path(tuibench.mysql.__file__).parent
INTERNALS = Path(driver.__file__)
OTHER_FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != INTERNALS]
OWN_NAMES = {"_readable_bytes", "_max_bytes", "_too_much"}
USED = sorted(
    {
        node.attr
        for node in ast.walk(ast.parse(INTERNALS.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and is_private(node.attr)
    }
    - OWN_NAMES
)
DRIVER_SOURCE = (Path(asyncmy.__file__).parent / "connection.pyx").read_text(encoding="utf-8")


def test_the_driver_is_the_release_that_was_read() -> None:
    assert version("asyncmy") == RELEASE
    assert f'"asyncmy=={RELEASE}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@for_each("path", OTHER_FILES)
def test_no_other_file_uses_private_names(path: Path) -> None:
    assert not list(private_names(ast.parse(path.read_text(encoding="utf-8"))))


@for_each("name", USED)
def test_the_driver_has_the_name(name: str) -> None:
    assert re.search(rf"\bself\.{name}\b|\bdef {name}\b", DRIVER_SOURCE)


PUBLIC_PARTS = {name: part for name, part in vars(DriverConnection).items() if not name.startswith("_")}
EXTENDED = ["close"]
"""Methods of the driver that do more here."""


async def test_no_public_name_hides_one_of_the_driver_by_chance() -> None:
    driver: Any = asyncmy
    connection = driver.Connection()
    assert [name for name in PUBLIC_PARTS if hasattr(connection, name)] == EXTENDED


def test_every_part_says_why_it_is_needed() -> None:
    assert not [name for name, part in PUBLIC_PARTS.items() if name != "login_steps" and not part.__doc__]


# The driver is imported without what a login needs, which is there when a login needs it.


IMPORT = "import sys; import tuibench.mysql.connection; from asyncmy import auth; "


def printed(code: str) -> str:
    command = [sys.executable, "-c", IMPORT + code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()


def test_no_process_pays_for_what_only_a_login_needs() -> None:
    loaded = set(printed("print(*sys.modules)").split())
    assert "asyncmy.connection" in loaded
    assert not loaded & {
        "asyncmy.version",
        "cryptography.hazmat.primitives.hashes",
        "cryptography.hazmat.primitives.serialization",
        "email",
        "importlib.metadata",
        "zipfile",
    }


def test_a_login_has_it() -> None:
    """What the driver does to encrypt a password for a server without TLS."""
    code = (
        "from cryptography.hazmat.primitives.asymmetric import rsa; "
        "from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat; "
        "key = rsa.generate_private_key(65537, 2048).public_key(); "
        "pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo); "
        "print(len(auth.sha2_rsa_encrypt(b'secret', b'x' * 20, pem)))"
    )
    assert printed(code) == "256"


def test_others_import_the_modules_themselves() -> None:
    code = (
        "from cryptography.hazmat.primitives import hashes; "
        "import asyncmy.version as version; print(version.__file__, hashes.__file__)"
    )
    assert printed(code).count(".py") == 2


# Connections for our own questions: what they set, and what becomes of refusals.


TARGET = Target(socket="/run/mysql.sock", user="app")
UNKNOWN_VARIABLE = 1193


async def settled(server: FakeServer, version: str = "11.4.2-MariaDB") -> list[str]:
    """What a connection to a server of this version hears."""
    server.version = version
    await apply_session_defaults(await server.connect(TARGET))
    return server.heard_by(0)


@pytest.mark.parametrize(
    ("version", "limit"),
    [("11.4.2-MariaDB", "max_statement_time"), ("9.7.0", "max_execution_time")],
)
async def test_one_statement_sets_all(version: str, limit: str) -> None:
    (heard,) = await settled(FakeServer(), version)
    assert heard.startswith("SET SESSION sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', SESSION ")
    assert heard.endswith(f", SESSION {limit}=0")
    assert all(f"SESSION {name}={value}" in heard for name, value in SESSION_DEFAULTS.items())


async def test_what_may_not_be_set_is_left_and_the_rest_is_set() -> None:
    unknown = SQLError(UNKNOWN_VARIABLE, "Unknown system variable")
    first, *each = await settled(FakeServer([unknown, 1, unknown]))
    assert len(each) == len(SESSION_DEFAULTS) + 2
    assert first == "SET " + ", ".join(one.removeprefix("SET ") for one in each)


@pytest.mark.parametrize(
    "refusal",
    [
        ConnectionLostError(2013, "connection lost: Broken pipe"),
        SQLError(INIT_CONNECT_FAILED, "Aborted connection 7 (init_connect command failed)"),
    ],
)
async def test_a_server_that_disconnects_at_once_is_reported_with_the_likely_cause(refusal: SQLError) -> None:
    server = FakeServer([refusal])
    with pytest.raises(ServerUnavailableError) as caught:
        await settled(server)
    assert "accepts user 'app' and closes the connection at once: " + refusal.message in str(caught.value)
    assert "init_connect" in caught.value.hint
    assert not server.open_connections


async def test_an_expired_password_is_a_login_that_is_refused() -> None:
    server = FakeServer([SQLError(1820, "You must SET PASSWORD before executing this statement")])
    with pytest.raises(ServerUnavailableError) as caught:
        await settled(server)
    assert caught.value.message == (
        "the password of user 'app' at socket /run/mysql.sock has expired (error 1820)"
    )
    assert "ALTER USER" in caught.value.hint
    assert not server.open_connections


async def test_a_goodbye_that_is_not_waited_for_leaves_no_socket() -> None:
    """Over TLS, a server may never answer it."""
    served = LoginServer("mysql_native_password")
    served.context = tls_of_server()
    served.may_close.clear()
    with served.listening():
        connection = await connect(msgspec.structs.replace(served.target, ssl_mode="required"))
        end = connection.raw.transport.get_extra_info("socket")
        goodbye = asyncio.create_task(connection.close())
        await asyncio.sleep(0)
        goodbye.cancel()
        await asyncio.wait([goodbye])
        await asyncio.sleep(0)
        assert (goodbye.cancelled(), end.fileno()) == (True, -1)
        served.may_close.set()


async def test_a_connection_lost_on_the_way_is_no_reason_to_go_on() -> None:
    refusals = [SQLError(UNKNOWN_VARIABLE, "no"), ConnectionLostError(2013, "connection lost")]
    with pytest.raises(ServerUnavailableError):
        await settled(FakeServer(refusals))


def test_no_limit_is_a_number_that_signed_counters_hold() -> None:
    """go-mysql-server takes 2**64 - 1 for -1, and refuses every SELECT from then on."""
    assert int(SESSION_DEFAULTS["sql_select_limit"]) == 2**63 - 1


# What the server's error numbers mean to a user: which class, which exit code, which remedy.


READ_ONLY_OPTION = "The MySQL server is running with the --{} option so it cannot execute this statement"


@pytest.mark.parametrize(
    ("code", "text", "remedy"),
    [
        (1142, "INSERT command denied to user 'app'", "grant the privilege"),
        (1820, "You must SET PASSWORD", "ALTER USER"),
        (1290, READ_ONLY_OPTION.format("read-only"), "SET GLOBAL read_only = OFF"),
        (1290, READ_ONLY_OPTION.format("super-read-only"), "SET GLOBAL read_only = OFF"),
        (1792, "Cannot execute statement in a READ ONLY transaction", "transaction_read_only = OFF"),
        (1836, "Running in read-only mode", "without innodb_read_only"),
        (1874, "InnoDB is in read only mode.", "without innodb_read_only"),
        (3989, "Schema 'sbtest' is in read only mode.", "READ ONLY = 0"),
    ],
)
def test_a_server_that_refuses_says_how_to_mend_it(code: int, text: str, remedy: str) -> None:
    error = errors.error_for_code(code, text)
    assert isinstance(error, DeniedError)
    assert error.exit_code is ExitCode.SERVER_UNAVAILABLE
    assert (error.code, error.message) == (code, text)
    assert remedy in error.hint


def test_an_option_that_is_not_read_only_has_no_such_remedy() -> None:
    assert "read_only" not in errors.error_for_code(1290, READ_ONLY_OPTION.format("secure-file-priv")).hint


@pytest.mark.parametrize(
    ("code", "text", "remedy"),
    [
        (9001, "Max connect timeout reached while reaching hostgroup 10", "runtime_mysql_servers"),
        (9006, "ProxySQL Error: connection is locked to hostgroup 10", "mysql-set_query_lock_on_hostgroup"),
        (1047, "Unknown command", "log in at the server behind it"),
        (1047, "WSREP has not yet prepared node for application use", "wsrep_ready"),
        (1105, "prepared statements are not supported", "--db-ps-mode=disable"),
        (1105, "Percona-XtraDB-Cluster prohibits use of DML on a table without a primary key", "--force-pk"),
        (1105, "Percona-XtraDB-Cluster prohibits use of LOCK TABLE", "pxc_strict_mode"),
        (1243, "Unknown prepared statement handler (1) given to mysql_stmt_execute", "--db-ps-mode=disable"),
        (3098, "The table does not comply with the requirements by an external plugin.", "--force-pk"),
        (3750, "Unable to create or change a table without a primary key", "--force-pk"),
    ],
)
def test_errors_of_proxies_and_clusters_say_what_helps(code: int, text: str, remedy: str) -> None:
    error = errors.error_for_code(code, text)
    assert (error.code, error.message) == (code, text)
    assert remedy in error.hint


@pytest.mark.parametrize(
    ("code", "text", "remedy"),
    [
        (1040, "Too many connections", "max_connections"),
        (1203, "User app already has more than 'max_user_connections' active connections", "each account"),
        (1226, "User 'app' has exceeded the 'max_user_connections' resource", "WITH MAX_USER_CONNECTIONS"),
        (1226, "User 'app' has exceeded the 'max_connections_per_hour' resource", "MAX_CONNECTIONS_PER_HOUR"),
    ],
)
def test_a_server_that_is_full_says_what_gives_room(code: int, text: str, remedy: str) -> None:
    error = errors.connect_error(driver_errors.OperationalError(code, text), Target(host="db1"))
    assert isinstance(error, SQLError)
    assert (error.code, error.message) == (
        code,
        f"the server at db1:3306 accepts no more connections: {text}",
    )
    assert remedy in error.hint


def test_a_lost_connection_differs_from_other_errors() -> None:
    assert isinstance(errors.error_for_code(2013, "gone"), ConnectionLostError)
    assert errors.error_for_code(1213, "Deadlock found").exit_code is ExitCode.RUN_FAILED


@pytest.mark.parametrize("code", [1064, 1045, 1040, 1142, 2013, 9999])
def test_a_servers_megabytes_are_cut(code: int) -> None:
    text = "x" * 16_000_000
    raised = driver_errors.OperationalError(code, text)
    for error in (
        errors.error_for_code(code, text),
        errors.statement_error(raised),
        errors.connect_error(raised, Target()),
    ):
        assert f"{'x' * 500} … (16,000,000 characters)" in error.message
        assert len(error.message) < 700
    assert len(errors.statement_error(ValueError(text)).message) < 700


# Which logins a server that is read only lets write.


@pytest.mark.parametrize(
    ("flavour", "version", "above"),
    [
        (Flavour.MARIADB, "10.11.2", {"READ_ONLY ADMIN"}),
        (Flavour.MARIADB, "11.4.1", {"READ_ONLY ADMIN"}),
        (Flavour.MARIADB, "10.6.18", {"READ_ONLY ADMIN", "SUPER"}),
        (Flavour.MYSQL, "8.4.0", {"CONNECTION_ADMIN", "SUPER"}),
    ],
)
def test_super_is_above_it_on_some_servers_only(flavour: Flavour, version: str, above: set[str]) -> None:
    server = msgspec.structs.replace(examples.SERVER, flavour=flavour, version=version)
    assert set(read_only_bypass_privileges(server)) == above


# Who a server is, from what its variables say.


MARIADB = {
    "version": "10.11.19-MariaDB-0+deb12u1-log",
    "version_comment": "Debian 12",
    "hostname": "db1",
    "port": "3306",
    "datadir": "/var/lib/mysql/",
    "pid_file": "db1.pid",
    "socket": "./mysql.sock",
}


def test_a_mariadb() -> None:
    info = build_server_info(Target(), MARIADB, 12, is_local=True)
    assert (info.flavour, info.version, info.version_tuple) == (Flavour.MARIADB, "10.11.19", (10, 11, 19))
    assert info.version_text == "10.11.19-MariaDB-0+deb12u1-log"
    assert (info.port, info.uptime_seconds, info.is_local) == (3306, 12, True)


def test_relative_paths_are_in_the_data_directory() -> None:
    info = build_server_info(Target(), MARIADB, 0, is_local=True)
    assert (info.pid_file, info.socket) == ("/var/lib/mysql/db1.pid", "/var/lib/mysql/mysql.sock")


def test_absolute_paths_stay() -> None:
    info = build_server_info(Target(), MARIADB | {"pid_file": "/run/db.pid"}, 0, is_local=True)
    assert info.pid_file == "/run/db.pid"


def test_a_server_that_tells_nothing_is_known_by_its_place() -> None:
    info = build_server_info(
        Target(host="db", port=3310), {"version": "5.5.5-11.4.2-MariaDB"}, 0, is_local=False
    )
    assert (info.version, info.identity, info.port) == ("11.4.2", "db:3310", 3310)
    assert (info.datadir, info.pid_file, info.socket) == ("", "", "")


def test_a_version_without_numbers_is_zero() -> None:
    assert build_server_info(Target(), {"version": "unknown"}, 0, is_local=False).version_tuple == (0,)


@pytest.mark.parametrize(
    ("version", "comment", "expected"),
    [
        ("10.11.19-MariaDB-log", "Debian 12", Flavour.MARIADB),
        ("11.4.2", "mariadb.org binary distribution", Flavour.MARIADB),
        ("9.7.4-2", "(Debian)", Flavour.MYSQL),
        ("8.0.36-28", "Percona Server (GPL), Release 28", Flavour.MYSQL),
    ],
)
def test_flavour(version: str, comment: str, expected: Flavour) -> None:
    assert detect_flavour(version, comment) == expected


def test_two_instances_on_one_host_are_distinguished() -> None:
    assert instance_identity(MARIADB) == "db1:3306:/var/lib/mysql/"
    assert instance_identity(MARIADB) != instance_identity(MARIADB | {"port": "3307"})
    assert instance_identity({}) == ""


async def test_a_server_that_first_wants_a_new_password_is_none_to_describe() -> None:
    server = FakeServer([SQLError(1820, "You must SET PASSWORD before executing this statement")])
    connection = await server.connect(Target(user="app"))
    with pytest.raises(ServerUnavailableError, match=r"password of user 'app' .* has expired"):
        await server_info(connection)


async def test_an_address_of_this_host_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        address = {"me": "127.0.0.1", "you": "192.0.2.1"}[host]
        return [(socket.AF_INET, socket.SOCK_DGRAM, 17, "", (address, 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    assert await is_on_this_host(Target(host="me"))
    assert not await is_on_this_host(Target(host="you"))
    assert await is_on_this_host(Target(host="you", socket="/run/db.sock"))


async def test_a_name_that_does_not_resolve_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
        raise socket.gaierror("unknown")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    assert not await is_on_this_host(Target(host="nowhere"))
