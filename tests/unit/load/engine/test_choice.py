"""Which engine a load gets, and the reason if it is not the native one."""

import msgspec
import pytest

from tests.unit.load.programs import SINGLE
from tuibench.errors import UsageError
from tuibench.load.engine import choice
from tuibench.model.plan import EngineChoice
from tuibench.model.target import Endpoint, SslMode, Target
from tuibench.workload.program.program import Program

PROGRAM = Program(profile="one", data_set="none", tables=(), options={}, transactions=(SINGLE,))
LOCAL = Target(socket="/run/mysqld.sock")
REMOTE = Endpoint(host="db.example.com")


@pytest.fixture(autouse=True)
def supported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The native engine is installed, and supports every program."""
    monkeypatch.setattr(choice, "unsupported_reason", lambda program: "")


@pytest.mark.parametrize(
    ("mode", "further", "name"),
    [
        ("preferred", (), "native"),
        ("disabled", (REMOTE,), "native"),
        ("preferred", (REMOTE,), "asyncio"),
        ("required", (), "asyncio"),
    ],
)
def test_a_load_with_tls_on_any_server_runs_on_asyncio(
    mode: SslMode, further: tuple[Endpoint, ...], name: str
) -> None:
    target = msgspec.structs.replace(LOCAL, ssl_mode=mode, further=further)
    chosen = choice.choose(EngineChoice.AUTO, PROGRAM, target)
    assert chosen.name == name
    assert bool(chosen.reason) == (name == "asyncio")


def test_the_native_engine_can_be_required() -> None:
    with pytest.raises(UsageError, match="cannot run this load: connections with TLS"):
        choice.choose(EngineChoice.NATIVE, PROGRAM, msgspec.structs.replace(LOCAL, ssl_mode="required"))


def test_asyncio_on_request_needs_no_reason() -> None:
    assert choice.choose(EngineChoice.ASYNCIO, PROGRAM, LOCAL) == choice.Chosen(False)
