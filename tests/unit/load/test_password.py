"""Who learns the password: every login plugin, with every mode of TLS, on both engines."""

import asyncio
from contextlib import suppress
from itertools import product
from pathlib import Path
from ssl import SSLContext
from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from psutil import CONN_ESTABLISHED, Process

from tests.integration.support import certificates
from tests.integration.support.certificates import Files
from tests.login_server import LoginServer, server_key_file
from tests.tables import for_each
from tests.unit.load.programs import COMMIT, begin
from tuibench.base import installation
from tuibench.base.errors import ExitCode, TuibenchError
from tuibench.load.asyncio_engine import AsyncioEngine
from tuibench.load.messages import StartLoad
from tuibench.load.native_engine import NativeEngine
from tuibench.load.worker import create_engine
from tuibench.model.server import SslMode, Target
from tuibench.mysql.connection import connect
from tuibench.mysql.login import FirstLogin, first_logins
from tuibench.workload.program import ProgramStep, Transaction

IS_NATIVE_HERE = installation.native_module() is not None
NEEDS_NATIVE = pytest.mark.skipif(not IS_NATIVE_HERE, reason="tuibench-native is not installed")
NOTHING = Transaction(
    name="nothing", weight=1, explicit=False, steps=(ProgramStep(repeat=1, let={}, statements=(COMMIT,)),)
)


class Account(NamedTuple):
    """How an account logs in, and what its plugin sends: a proof of the password, all of it where it is
    protected, or all of it in any case.
    """

    plugin: str
    needs: str
    is_cached: bool = False


PROOF, WHOLE, CLEAR = "a proof", "the whole password", "clear text"
ACCOUNTS = [
    Account("mysql_native_password", PROOF),
    Account("caching_sha2_password", PROOF, is_cached=True),
    Account("caching_sha2_password", WHOLE),
    Account("sha256_password", WHOLE),
    Account("client_ed25519", PROOF),
    Account("mysql_clear_password", CLEAR),
    Account("dialog", CLEAR),
    Account("parsec", PROOF),
]
OPT_INS: list[dict[str, Any]] = [
    {},
    {"get_server_public_key": True},
    {"server_public_key_path": "of the true server"},
    {"enable_cleartext_plugin": True},
]


def may_learn(account: Account, mode: SslMode, opted: dict[str, Any], *, has_tls: bool) -> bool:
    """Whether a server that pretends to be another gets the password. TLS without a look at the certificate
    protects from listeners only: preferred and required say so, as in the MySQL clients.
    """
    keeps_plain = Target().is_local and "server_public_key_path" in opted
    over_tls = has_tls and (mode == "required" or (mode == "preferred" and not keeps_plain))
    if account.needs == CLEAR:
        return over_tls and "enable_cleartext_plugin" in opted and account.plugin != "dialog"
    is_refused = mode.startswith("verify") or (mode == "required" and not has_tls)
    trusts_key = "get_server_public_key" in opted and not is_refused
    return account.needs == WHOLE and (over_tls or trusts_key)


@pytest.fixture(autouse=True)
def _no_trusted_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading those of this host takes 20 ms for each server, and none of them signs a test's certificate."""
    monkeypatch.setattr(SSLContext, "load_default_certs", lambda *_: None)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return certificates.make(tmp_path_factory.mktemp("tls"), "localhost")


@pytest.fixture(scope="module")
def true_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return server_key_file(tmp_path_factory.mktemp("key"))


PLACES_AND_ENGINES = [
    pytest.param("local", AsyncioEngine, id="local-asyncio"),
    pytest.param("local", NativeEngine, id="local-native", marks=[NEEDS_NATIVE, pytest.mark.whole]),
    pytest.param(
        "remote", AsyncioEngine, id="remote-asyncio", marks=[pytest.mark.whole] if IS_NATIVE_HERE else []
    ),
    pytest.param("remote", NativeEngine, id="remote-native", marks=NEEDS_NATIVE),
]
"""Each place and each engine; `make test-all` has each engine in each place."""


@pytest.fixture
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the server seems to be on this host."""
    monkeypatch.setattr(Target, "is_local", request.param == "local")


async def drive(kind: Any, target: Target) -> TuibenchError | None:
    """A load of one transaction; the error that ended it."""
    return await ended(kind(msgspec.structs.replace(begin(NOTHING, limit=1, prepared=False), target=target)))


async def ended(engine: Any) -> TuibenchError | None:
    """Runs one connection to its end; the error that ended it."""
    engine.set_connections([0])
    await asyncio.wait([task for _, task in engine._users.values()])
    await engine.stop(0)
    failure: TuibenchError | None = engine._context.failure
    return failure


@pytest.mark.parametrize(("place", "kind"), PLACES_AND_ENGINES, indirect=["place"])
@pytest.mark.usefixtures("place")
@for_each("mode", get_args(SslMode))
@for_each("account", ACCOUNTS)
async def test_only_a_user_gives_the_password_away(
    account: Account, mode: SslMode, kind: Any, files: Files, true_key: Path
) -> None:
    for opted, has_tls in product(OPT_INS, (True, False)):
        found = dict(opted)
        if "server_public_key_path" in found:
            found["server_public_key_path"] = str(true_key)
        with LoginServer(account.plugin, files if has_tls else None).listening() as server:
            server.is_cached = account.is_cached
            failure = await drive(kind, msgspec.structs.replace(server.target, ssl_mode=mode, **found))
        case = (opted, has_tls, server.heard, failure)
        assert server.knows_password() == may_learn(account, mode, opted, has_tls=has_tls), case
        assert not server.everybody_knows_password(), case
        if failure is None:
            assert server.logins, case
        else:
            assert failure.exit_code in (ExitCode.SERVER_UNAVAILABLE, ExitCode.RUN_FAILED), case


async def test_a_failed_login_over_tls_closes_its_socket_at_once(files: Files) -> None:
    """The server does not answer the message that closes TLS."""
    with LoginServer("mysql_clear_password", files).listening() as server:
        server.may_close.clear()
        with pytest.raises(TuibenchError, match="clear text"):
            await connect(msgspec.structs.replace(server.target, ssl_mode="required"))
        await asyncio.sleep(0)
        ours = [each for each in Process().net_connections("tcp") if each.raddr[1:] == (server.port,)]
        server.may_close.set()
    assert CONN_ESTABLISHED not in [each.status for each in ours]


@pytest.mark.parametrize("account", ACCOUNTS, ids=lambda each: f"{each.plugin}-{each.is_cached}")
async def test_a_plugin_in_the_greeting_gets_no_more(account: Account) -> None:
    with LoginServer(account.plugin).listening() as server:
        server.is_cached, server.is_default = account.is_cached, True
        with suppress(TuibenchError):
            connection = await connect(msgspec.structs.replace(server.target, ssl_mode="disabled"))
            await connection.close()
    assert server.heard
    assert not server.knows_password()


async def test_the_refusal_names_the_ways_out() -> None:
    with (
        LoginServer("caching_sha2_password").listening() as server,
        pytest.raises(TuibenchError, match="asks for the whole password of 'app'") as error,
    ):
        await connect(server.target)
    assert error.value.exit_code == ExitCode.SERVER_UNAVAILABLE
    for option in ("--get-server-public-key", "--server-public-key-path", "--ssl-mode=required"):
        assert option in error.value.hint


async def test_a_server_on_this_host_gets_the_password_over_tls_and_the_load_is_plain(files: Files) -> None:
    """What the server does not remember stays encrypted."""
    for plugin, logins in (("caching_sha2_password", [True, False]), ("sha256_password", [True])):
        with LoginServer(plugin, files).listening() as server:
            server.remembers = True
            connection = await connect(server.target)
        assert server.logins == logins
        assert connection.is_encrypted == logins[-1]
        assert not server.everybody_knows_password()
        connection.abort()


class Later(NamedTuple):
    """A server at the first login, what takes its place, and why that is refused."""

    mode: SslMode
    first: str
    then: str
    has_tls: tuple[bool, bool]
    reason: str


@pytest.mark.parametrize(
    "later",
    [
        Later(
            "preferred", "mysql_native_password", "mysql_native_password", (True, False), "no TLS any more"
        ),
        Later("disabled", "client_ed25519", "mysql_native_password", (False, False), "protects its password"),
        Later("required", "sha256_password", "mysql_clear_password", (True, True), "protects its password"),
        Later(
            "disabled", "caching_sha2_password", "caching_sha2_password", (False, False), "another RSA key"
        ),
    ],
    ids=lambda later: later.reason,
)
async def test_a_later_login_accepts_no_less(
    later: Later, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Target, "is_local", False)
    before, after = (files if has_tls else None for has_tls in later.has_tls)
    with LoginServer(later.first, before).listening() as server:
        target = msgspec.structs.replace(
            server.target, ssl_mode=later.mode, get_server_public_key=True, enable_cleartext_plugin=True
        )
        for _ in range(2):
            (await connect(target)).abort()
    with LoginServer(later.then, after).listening(target.port) as other:
        other.key = rsa.generate_private_key(65537, 2048)
        with pytest.raises(TuibenchError, match=later.reason) as error:
            await connect(target)
    assert error.value.exit_code == ExitCode.SERVER_UNAVAILABLE
    assert not other.knows_password()
    assert not other.logins


async def test_a_worker_begins_with_the_logins_of_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in another process, which the session's first login does not reach by itself."""
    monkeypatch.setattr(Target, "is_local", False)
    with LoginServer("mysql_native_password").listening() as server:
        login = FirstLogin(
            where=server.target.where,
            user="app",
            tls="TLSv1.3 TLS_AES_256_GCM_SHA384",
            plugin="mysql_native_password",
        )
        sent = msgspec.structs.replace(begin(NOTHING), target=server.target, first_logins=(login,))
        engine: Any = create_engine(
            msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=StartLoad), print
        )
        failure = await ended(engine)
    assert failure is not None
    assert first_logins().all() == (login,)
    assert "no TLS any more" in failure.message


@pytest.mark.parametrize("version", [b"", b"\xff\xfe\x80", b"x.1", b"9" * 9000 + b"x"])
async def test_a_version_without_a_number_is_named(version: bytes) -> None:
    with LoginServer("mysql_native_password").listening() as server:
        server.version = version
        with pytest.raises(TuibenchError, match="has no version that starts with a number: '") as error:
            await connect(server.target)
    assert len(error.value.message) < 700


async def test_a_long_name_of_a_plugin_is_cut() -> None:
    with (
        LoginServer("p" * 5000).listening() as server,
        pytest.raises(TuibenchError, match=r"'p{500} … \(5,000 characters\)', which is not") as error,
    ):
        await connect(server.target)
    assert len(error.value.message) < 700
