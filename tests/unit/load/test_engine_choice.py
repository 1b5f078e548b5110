"""Which engine a load gets, and the reason if it is not the native one: by the servers' answers."""

import msgspec
import pytest

from tests.scripted_server import ScriptedServer
from tests.unit.load.programs import SINGLE
from tuibench.base.errors import UsageError
from tuibench.load import native_engine
from tuibench.model.plan import EngineChoice
from tuibench.model.server import Endpoint, SslMode, Target
from tuibench.mysql.login import FirstLogin, first_logins
from tuibench.mysql.transport import LoggingContext
from tuibench.workload.program import Program

PROGRAM = Program(profile="one", data_set="none", tables=(), options={}, transactions=(SINGLE,))
FAR = Target(host="db.example.com", user="app")
FURTHER = Endpoint(host="db2.example.com")


@pytest.fixture(autouse=True)
def supported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The native engine is installed, and supports every program."""
    monkeypatch.setattr(native_engine, "unsupported_reason", lambda program: "")


GCM = "TLSv1.3 TLS_AES_256_GCM_SHA384"
CBC = "TLSv1.2 ECDHE-RSA-AES256-SHA384"


def seen(host: str, tls: str) -> None:
    """There was a login at this host."""
    login = FirstLogin(where=f"{host}:3306", user="app", tls=tls, plugin="mysql_native_password")
    first_logins().learn([login])


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("", "", "native"),
        (GCM, "", "native"),
        ("", "TLSv1.2 ECDHE-ECDSA-CHACHA20-POLY1305", "native"),
        (CBC, "", "asyncio"),
        (GCM, CBC, "asyncio"),
    ],
)
async def test_a_cipher_without_aead_on_any_server_runs_on_asyncio(
    first: str, second: str, name: str
) -> None:
    seen(FAR.host, first)
    seen(FURTHER.host, second)
    chosen = await native_engine.choose(
        EngineChoice.AUTO, PROGRAM, msgspec.structs.replace(FAR, further=(FURTHER,))
    )
    assert chosen.name == name
    assert chosen.reason.startswith(f"connections use {CBC}: ") == (name == "asyncio")


async def test_tls_whose_secrets_cannot_be_logged_runs_on_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: LoggingContext) -> None:
        raise FileNotFoundError(2, "No such file or directory", "/dev/fd/7")

    monkeypatch.setattr(LoggingContext, "log_secrets", refuse)
    seen(FAR.host, GCM)
    target = msgspec.structs.replace(FAR, ssl_mode="required")
    chosen = await native_engine.choose(EngineChoice.AUTO, PROGRAM, target)
    assert chosen.reason.startswith("connections with TLS cannot be handed to the native engine: ")


@pytest.mark.parametrize("mode", ["disabled", "preferred"])
async def test_a_server_without_tls_gets_the_native_engine_under_any_name(
    mode: SslMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Target, "is_local", False)
    async with ScriptedServer().listening() as server:
        target = msgspec.structs.replace(server.target, ssl_mode=mode)
        assert await native_engine.choose(EngineChoice.AUTO, PROGRAM, target) == native_engine.Chosen(True)
        assert server.logins == 1


async def test_tls_is_not_named_where_the_server_was_not_seen() -> None:
    async with ScriptedServer().listening() as server:
        target = server.target
    chosen = await native_engine.choose(EngineChoice.AUTO, PROGRAM, target)
    assert chosen.reason.startswith("a server may use TLS: cannot reach")


async def test_the_native_engine_can_be_required() -> None:
    seen(FAR.host, CBC)
    with pytest.raises(UsageError, match="cannot run this load: connections use TLSv"):
        await native_engine.choose(EngineChoice.NATIVE, PROGRAM, FAR)


async def test_asyncio_on_request_needs_no_reason_and_no_login() -> None:
    assert await native_engine.choose(EngineChoice.ASYNCIO, PROGRAM, FAR) == native_engine.Chosen(False)
