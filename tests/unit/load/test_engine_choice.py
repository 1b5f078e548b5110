"""Which engine a load gets, and the reason if it is not the native one: by the servers' answers."""

import msgspec
import pytest

from tests.scripted_server import ScriptedServer
from tests.unit.load.programs import SINGLE
from tuibench.errors import UsageError
from tuibench.load import native_engine
from tuibench.model.plan import EngineChoice
from tuibench.model.server import Endpoint, SslMode, Target
from tuibench.mysql.login import FirstLogin, first_logins
from tuibench.workload.program import Program

PROGRAM = Program(profile="one", data_set="none", tables=(), options={}, transactions=(SINGLE,))
FAR = Target(host="db.example.com", user="app")
FURTHER = Endpoint(host="db2.example.com")


@pytest.fixture(autouse=True)
def supported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The native engine is installed, and supports every program."""
    monkeypatch.setattr(native_engine, "unsupported_reason", lambda program: "")


def seen(host: str, *, is_encrypted: bool) -> None:
    """There was a login at this host."""
    login = FirstLogin(
        where=f"{host}:3306", user="app", is_encrypted=is_encrypted, plugin="mysql_native_password"
    )
    first_logins().learn([login])


@pytest.mark.parametrize(
    ("first_encrypted", "second_encrypted", "name"),
    [(False, False, "native"), (True, False, "asyncio"), (False, True, "asyncio")],
)
async def test_a_load_with_tls_on_any_server_runs_on_asyncio(
    first_encrypted: bool, second_encrypted: bool, name: str
) -> None:
    seen(FAR.host, is_encrypted=first_encrypted)
    seen(FURTHER.host, is_encrypted=second_encrypted)
    chosen = await native_engine.choose(
        EngineChoice.AUTO, PROGRAM, msgspec.structs.replace(FAR, further=(FURTHER,))
    )
    assert chosen.name == name
    assert chosen.reason.startswith(native_engine.TLS_REASON) == (name == "asyncio")


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
    seen(FAR.host, is_encrypted=True)
    with pytest.raises(UsageError, match="cannot run this load: connections use TLS"):
        await native_engine.choose(EngineChoice.NATIVE, PROGRAM, FAR)


async def test_asyncio_on_request_needs_no_reason_and_no_login() -> None:
    assert await native_engine.choose(EngineChoice.ASYNCIO, PROGRAM, FAR) == native_engine.Chosen(False)
