"""Connections for our own questions: what they set, and what becomes of refusals."""

import pytest

from tests.fakes import FakeServer
from tuibench.errors import ConnectionLostError, ServerUnavailableError, SQLError
from tuibench.model.target import Target
from tuibench.mysql.session_defaults import INIT_CONNECT_FAILED, SESSION_DEFAULTS, apply_session_defaults

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


async def test_a_connection_lost_on_the_way_is_no_reason_to_go_on() -> None:
    refusals = [SQLError(UNKNOWN_VARIABLE, "no"), ConnectionLostError(2013, "connection lost")]
    with pytest.raises(ServerUnavailableError):
        await settled(FakeServer(refusals))


def test_no_limit_is_a_number_that_signed_counters_hold() -> None:
    """go-mysql-server takes 2**64 - 1 for -1, and refuses every SELECT from then on."""
    assert int(SESSION_DEFAULTS["sql_select_limit"]) == 2**63 - 1
