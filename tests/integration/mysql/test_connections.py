"""Ways into a real server: TLS on both event loops, login plugins, changing passwords, what is refused."""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop

from tests.integration.support import certificates, sbtest
from tests.integration.support.certificates import Files
from tests.integration.support.commands import DEADLINE_SECONDS, reach, tuibench
from tests.integration.support.shared import Starter, Templates
from tuibench.base import installation
from tuibench.base.errors import ServerUnavailableError, SQLError
from tuibench.model.server import Flavour, SslMode, Target
from tuibench.mysql.connection import Connection, TextStatement, connect
from tuibench.mysql.errors import AccessDeniedError, PlainPasswordError, TLSError
from tuibench.mysql.transport import RecordTransport
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer

Run = Callable[[Coroutine[Any, Any, Any]], Any]
ODD = "p'ä ss"
"""A password with a quote, a blank, and a letter of two bytes."""

LARGE = 3_000_000
"""Characters of a result that needs many TLS records."""


@pytest.fixture(scope="module")
def files() -> Iterator[Files]:
    folder = Path(tempfile.mkdtemp(prefix="tb-", dir="/var/tmp"))
    yield certificates.make(folder, "localhost")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def secure(binary: Binary, files: Files, templates: Templates) -> Iterator[PrivateServer]:
    """A server whose certificate is made out to localhost, and to no address."""
    server = asyncio.run(Starter(templates)(binary, options=files.server_options))
    yield server
    asyncio.run(server.stop())


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Both event loops that tuibench runs on: they do TLS differently."""
    return request.param  # type: ignore[no-any-return]


def over_tcp(server: PrivateServer, **changes: Any) -> Target:
    return sbtest.over_tcp(server.target, **changes)


async def cipher(target: Target) -> str:
    """The cipher of a new connection that has done all kinds of work; empty without TLS."""
    async with sbtest.connected(target) as connection:
        statement = await connection.prepare("SELECT ?")
        assert [await sbtest.run(connection, statement, (number,)) for number in range(3)] == [1, 1, 1]
        large = await connection.query(f"SELECT REPEAT('x', {LARGE})")
        assert len(large[0][0]) == LARGE
        return str((await connection.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'"))[0][1])


@pytest.mark.one_flavour
async def test_a_login_that_is_cancelled_at_any_moment_leaves_no_socket(server: PrivateServer) -> None:
    moments, before = range(100), len(os.listdir("/proc/self/fd"))
    for moment in moments:
        logging_in = asyncio.create_task(connect(server.target, use_database=False))
        for _ in range(moment):
            await asyncio.sleep(0)
        logging_in.cancel()
        (made,) = await asyncio.gather(logging_in, return_exceptions=True)
        if isinstance(made, Connection):
            await made.close()
    await asyncio.sleep(0)
    assert len(os.listdir("/proc/self/fd")) == before


# TLS


@pytest.mark.parametrize(
    ("mode", "host", "encrypted"),
    [
        ("disabled", "localhost", False),
        ("preferred", "127.0.0.1", False),
        ("required", "127.0.0.1", True),
        ("verify-ca", "127.0.0.1", True),
        ("verify-identity", "localhost", True),
    ],
)
def test_tls_modes(
    secure: PrivateServer, files: Files, run: Run, mode: str, host: str, encrypted: bool
) -> None:
    target = over_tcp(secure, host=host, ssl_mode=mode, ssl_ca=str(files.ca), get_server_public_key=True)
    assert bool(run(cipher(target))) == encrypted


def test_tls_over_the_unix_socket(secure: PrivateServer, run: Run) -> None:
    assert run(cipher(msgspec.structs.replace(secure.target, ssl_mode="required")))


def test_preferred_encrypts_what_leaves_this_host(
    secure: PrivateServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Target, "is_local", False)
    assert run(cipher(over_tcp(secure)))


def test_an_untrusted_certificate_is_refused(secure: PrivateServer, run: Run) -> None:
    with pytest.raises(TLSError, match="not trusted") as error:
        run(cipher(over_tcp(secure, ssl_mode="verify-ca")))
    assert "--ssl-ca" in error.value.hint


def test_a_certificate_of_another_name(secure: PrivateServer, files: Files, run: Run) -> None:
    with pytest.raises(TLSError, match=r"is not for '127\.0\.0\.1'") as error:
        run(cipher(over_tcp(secure, ssl_mode="verify-identity", ssl_ca=str(files.ca))))
    assert "--ssl-mode=verify-ca" in error.value.hint


@pytest.mark.parametrize("is_native", [False, True], ids=["asyncio engine", "native engine"])
def test_a_later_login_resumes_the_session_of_the_first(
    secure: PrivateServer, files: Files, run: Run, is_native: bool
) -> None:
    native = installation.native_module()
    if is_native and native is None:
        pytest.skip("tuibench-native is not installed")
    target = over_tcp(secure, ssl_mode="verify-identity", host="localhost", ssl_ca=str(files.ca))

    async def logins() -> tuple[list[bool], list[int]]:
        """Whether each of three resumes, and MySQL's count of resumed sessions; MariaDB's stays 0."""
        resumed, counted = [], []
        for _ in range(3):
            connection = await connect(target, records=native.TlsRecords if is_native else None)
            transport = connection.raw.transport
            handed_over = isinstance(transport, RecordTransport)
            found = transport if handed_over else transport.get_extra_info("ssl_object")
            resumed.append(found.is_resumed if handed_over else found.session_reused)
            hits = await connection.query("SHOW GLOBAL STATUS LIKE 'Ssl_session_cache_hits'")
            counted.append(int(hits[0][1]))
            await connection.close()
        return resumed, counted

    resumed, (first, second, third) = run(logins())
    assert resumed[1:] == [True, True]
    assert secure.binary.flavour is Flavour.MARIADB or first < second < third


async def test_an_account_that_demands_tls_and_a_client_certificate(
    secure: PrivateServer, files: Files
) -> None:
    async with account(secure, "REQUIRE X509", "x509") as target:
        with pytest.raises(AccessDeniedError):
            await cipher(msgspec.structs.replace(target, ssl_mode="required"))
        shown = msgspec.structs.replace(
            target, ssl_mode="required", ssl_cert=str(files.cert), ssl_key=str(files.key)
        )
        assert await cipher(shown)
        assert await cipher(shown), "in the resumed session, the server knows the certificate"


COMPRESSION = "SHOW SESSION STATUS LIKE 'Compression'"


@pytest.mark.parametrize("mode", ["disabled", "required"])
async def test_a_compressed_connection(secure: PrivateServer, mode: SslMode) -> None:
    """Results of many frames, and long statements."""
    target = over_tcp(secure, ssl_mode=mode, compress=True, get_server_public_key=True)
    assert bool(await cipher(target)) == (mode == "required")
    long = "y" * 3_000_000
    async with sbtest.connected(target) as one:
        assert one.is_compressed
        assert (await one.query(COMPRESSION))[0][1] == "ON"
        assert (await one.query(f"SELECT '{long}'"))[0][0] == long
    async with sbtest.connected(over_tcp(secure, get_server_public_key=True)) as plain:
        assert (await plain.query(COMPRESSION))[0][1] == "OFF"


@pytest.mark.one_flavour
@pytest.mark.parametrize("mode", ["disabled", "required"])
@pytest.mark.parametrize("engine", ["asyncio", "native"])
async def test_a_load_over_compressed_connections(secure: PrivateServer, engine: str, mode: str) -> None:
    if engine == "native" and installation.native_module() is None:
        pytest.skip("tuibench-native is not installed")
    async with sbtest.empty_database(over_tcp(secure, get_server_public_key=True), "compressed") as target:
        way = [*reach(target), f"--ssl-mode={mode}", "--get-server-public-key", "--compress"]
        tables = ["oltp_read_write", "--tables=2", "--table-size=500"]
        prepared = tuibench("prepare", *tables, *way, target=target)
        assert prepared.code == 0, prepared.err
        options = ["--threads=3", "--events=90", f"--engine={engine}", "--format=json"]
        ran = tuibench("run", *tables, *options, *way, target=target)
    assert ran.code == 0, ran.err
    summary = json.loads(ran.out)
    assert summary["transactions"]["total"] == 90
    assert (summary["client"]["engine"], summary["client"]["is_compressed"]) == (engine, True)
    assert bool(summary["client"]["tls"]) == (mode == "required")
    assert summary["reconciliation"]["foreign"] == 0


async def test_many_encrypted_connections_at_once(secure: PrivateServer) -> None:
    target = over_tcp(secure, ssl_mode="required")
    connections = await asyncio.gather(*(connect(target) for _ in range(50)))
    answers = await asyncio.gather(*(connection.query("SELECT 1") for connection in connections))
    assert [list(rows) for rows in answers] == [[(1,)]] * 50
    for connection in connections[:25]:
        connection.abort()
    await asyncio.gather(*(connection.close() for connection in connections[25:]))


@pytest.mark.one_flavour
async def test_a_server_without_tls(binary: Binary, start: Starter) -> None:
    options = ["--tls-version="] if binary.flavour is Flavour.MYSQL else ["--skip-ssl"]
    async with await start(binary, options=options) as server:
        with pytest.raises(TLSError, match="offers no TLS, and --ssl-mode=required requires it"):
            await cipher(over_tcp(server, ssl_mode="required"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Target, "is_local", False)
            assert await cipher(over_tcp(server, get_server_public_key=True)) == ""


async def test_a_server_that_takes_encrypted_connections_only(secure: PrivateServer) -> None:
    async with sbtest.connected(secure.target) as connection:
        await connection.execute("SET GLOBAL require_secure_transport=ON")
        try:
            with pytest.raises(ServerUnavailableError) as error:
                await connect(over_tcp(secure, ssl_mode="disabled"))
            assert "--ssl-mode=required" in error.value.hint
            assert await cipher(over_tcp(secure, ssl_mode="required"))
        finally:
            await connection.execute("SET GLOBAL require_secure_transport=OFF")


# Login plugins


class account:  # noqa: N801 (used as a function)
    """An account identified by a plugin, for one test; yields a target over TCP that logs in with it."""

    def __init__(self, server: PrivateServer, clause: str, name: str, password: str = ODD) -> None:
        self._server = server
        self._clause = clause
        self._name = name
        self._password = password
        self._connection: Connection

    async def __aenter__(self) -> Target:
        self._connection = await connect(self._server.target)
        ask = self._connection
        quoted = ask.quote(self._password)
        clause = self._clause.format(password=quoted)
        identified = clause if clause.startswith("IDENTIFIED") else f"IDENTIFIED BY {quoted} {clause}"
        await ask.execute(f"CREATE USER {self._name}@'%' {identified}")
        await ask.execute(f"GRANT ALL ON *.* TO {self._name}@'%'")
        return over_tcp(self._server, user=self._name, password=self._password)

    async def __aexit__(self, *_: object) -> None:
        await self._connection.execute(f"DROP USER {self._name}@'%'")
        await self._connection.close()


async def plugins(server: PrivateServer) -> set[str]:
    async with sbtest.connected(server.target) as connection:
        rows = await connection.query(
            "SELECT plugin_name FROM information_schema.plugins WHERE plugin_type = 'AUTHENTICATION'"
        )
        return {str(row[0]) for row in rows}


@pytest.mark.parametrize("mode", ["disabled", "required"])
@pytest.mark.parametrize(
    "plugin", ["caching_sha2_password", "sha256_password", "mysql_native_password", "ed25519"]
)
async def test_login_plugins(secure: PrivateServer, plugin: str, mode: str) -> None:
    """Twice: the first login by caching_sha2_password exchanges a key, the second finds it cached."""
    if plugin not in await plugins(secure):
        pytest.skip(f"this {secure.binary.flavour} {secure.binary.version} has no {plugin}")
    if secure.binary.flavour is Flavour.MARIADB:
        clause = f"IDENTIFIED VIA {plugin} USING PASSWORD({{password}})"
    else:
        clause = f"IDENTIFIED WITH {plugin} BY {{password}}"
    async with account(secure, clause, "plugged") as target:
        way = msgspec.structs.replace(target, ssl_mode=mode)
        if mode == "disabled" and "sha" in plugin:
            with pytest.raises(PlainPasswordError, match=f"the whole password of 'plugged' \\({plugin}\\)"):
                await connect(way)
            way = msgspec.structs.replace(way, get_server_public_key=True)
        for _ in range(2):
            assert bool(await cipher(way)) == (mode == "required")
        with pytest.raises(AccessDeniedError):
            await connect(msgspec.structs.replace(way, password="wrong"))


@pytest.mark.parametrize(
    ("plugin", "is_encrypted"), [("caching_sha2_password", False), ("sha256_password", True)]
)
async def test_the_first_login_on_this_host_needs_no_options(
    secure: PrivateServer, plugin: str, is_encrypted: bool
) -> None:
    """The server gets the password over TLS; what it remembers is not encrypted again, also at later logins
    that find it forgotten.
    """
    if plugin not in await plugins(secure):
        pytest.skip(f"this {secure.binary.flavour} {secure.binary.version} has no {plugin}")
    async with (
        account(secure, f"IDENTIFIED WITH {plugin} BY {{password}}", "local") as target,
        sbtest.connected(secure.target, use_database=False) as admin,
    ):
        for _ in range(3):
            await admin.execute("FLUSH PRIVILEGES")
            assert bool(await cipher(target)) == is_encrypted


async def test_what_listens_there_may_be_something_else() -> None:
    left = asyncio.Event()

    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2p1\r\n")
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.set()

    server = await asyncio.start_server(other, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ServerUnavailableError):
            await connect(Target(host="127.0.0.1", port=port, user="ann"), timeout_seconds=2)
        async with asyncio.timeout(DEADLINE_SECONDS):
            await left.wait()


# Passwords that change


async def test_a_rotated_token_is_fetched_again(server: PrivateServer, tmp_path: Path) -> None:
    """The first login finds an old token; its successor is in the file, and the command prints it."""
    token = tmp_path / "token"
    token.write_text("first\n")
    async with account(server, "", "rotating", "first") as known, sbtest.connected(server.target) as root:
        target = msgspec.structs.replace(known, password="", password_command=f"cat {token}")
        await (await connect(target)).close()
        await root.execute("ALTER USER rotating@'%' IDENTIFIED BY 'second'")
        with pytest.raises(AccessDeniedError):
            await connect(target)
        token.write_text("second\n")
        await (await connect(target)).close()


def test_the_password_command_on_the_command_line(any_server: PrivateServer, tmp_path: Path) -> None:
    target = any_server.target
    password = tmp_path / "password"
    password.write_text(target.password)
    place = (f"--socket={target.socket}", f"--user={target.user}")
    made = tuibench("cleanup", "oltp_read_write", *place, f"--password-command=cat {password}")
    assert made.code == 0, made.err
    failed = tuibench("cleanup", "oltp_read_write", *place, "--password-command=echo s3cret; exit 7")
    assert (failed.code, failed.err.count("\n")) == (3, 1)
    assert "the password command ended with 7" in failed.err
    assert "s3cret" not in failed.err + failed.out


# Room for prepared statements


async def test_a_server_with_little_room_for_prepared_statements(server: PrivateServer) -> None:
    async with (
        sbtest.connected(server.target) as connection,
        sbtest.set_global(connection, "max_prepared_stmt_count", "1"),
    ):
        assert await in_use(connection) == 0
        await connection.prepare("SELECT ?")
        assert await in_use(connection) == 1
        with pytest.raises(SQLError) as refused:
            await connection.prepare("SELECT ? + 1")
        assert refused.value.code == 1461
        assert await sbtest.run(connection, TextStatement(connection, "SELECT ? + 1"), (1,)) == 1


async def in_use(connection: Connection) -> int:
    """How many prepared statements the server counts."""
    rows = await connection.query("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")
    return int(rows[0][1])


async def test_a_run_beyond_that_room_goes_on_in_text(tables: PrivateServer) -> None:
    options = ("--tables=2", "--table-size=500", "--threads=4", "--time=1", "--client-delay=2ms")
    async with (
        sbtest.connected(tables.target) as connection,
        sbtest.set_global(connection, "max_prepared_stmt_count", "5"),
    ):
        done = await asyncio.to_thread(tuibench, "run", "oltp_read_write", *options, target=tables.target)
    assert done.code == 0, done.err
    assert "transactions:" in done.out
