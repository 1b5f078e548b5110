"""The runs of `slap`."""

import asyncio
from functools import partial
from typing import NamedTuple

import pytest

from tests.fakes import NO_RESPONSE, FakeServer
from tests.virtual import VirtualClock, in_no_time
from tuibench.base.errors import (
    ConnectionLostError,
    DeniedError,
    ExitCode,
    ServerUnreachableError,
    TuibenchError,
    UsageError,
)
from tuibench.features.slap import runner
from tuibench.features.slap.runner import (
    CLEANUP_TIMEOUT_SECONDS,
    ConnectionLostInTestError,
    SchemaCleanup,
    SlapRunner,
    SlapSchema,
    SlapSpec,
    check_no_connection_lost,
    raise_as_lost,
)
from tuibench.features.slap.sql import SlapQuery, SlapScript
from tuibench.model.server import Flavour, Target
from tuibench.mysql.connection import Connection

# What a slap's clients speak.


@pytest.mark.parametrize(
    ("sql", "init_sql", "flavour", "charset"),
    [
        ("SELECT 1", "", Flavour.MARIADB, "latin1"),
        ("SELECT 1", "", Flavour.MYSQL, "utf8mb4"),
        ("SELECT 'é'", "", Flavour.MARIADB, "utf8mb4"),
        ("SELECT 1", "SET @name = 'é'", Flavour.MARIADB, "utf8mb4"),
    ],
)
def test_clients_speak_as_mysqlslaps_do_if_that_loses_nothing(
    sql: str, init_sql: str, flavour: Flavour, charset: str
) -> None:
    script = SlapScript(queries=(SlapQuery("SELECT 1"), SlapQuery(sql)))
    spec = SlapSpec(target=Target(), script=script, init_sql=init_sql)
    assert spec.charset(flavour) == charset


# The end of a slap: which schema goes, over which connection, and what is said of one that stays.


TARGET = Target(host="db1")
DROP = "DROP SCHEMA IF EXISTS `mysqlslap`"
LOST = ConnectionLostError(2013, "connection lost: who knows")
AWAY = ServerUnreachableError("cannot reach a server at db1:3306: refused")
STAYS = "the schema `mysqlslap` was not removed at db1:3306; to remove it: DROP SCHEMA `mysqlslap`"


class Ended(NamedTuple):
    """How a test ended: what it raised, what was said, how many seconds its end took."""

    error: BaseException | None
    said: list[str]
    seconds: float


def ended(server: FakeServer, failure: BaseException | None = None, *, is_ours: bool = True) -> Ended:
    """Lets a test with a schema of its own end in failure, or without."""

    async def scenario(clock: VirtualClock) -> Ended:
        said: list[str] = []
        error: BaseException | None = None
        connection = await server.connect(TARGET)
        ending = SchemaCleanup(connection, lambda: server.connect(TARGET), said.append, clock)
        try:
            async with ending:
                ending.schema = SlapSchema(connection, "mysqlslap")
                ending.schema.is_ours = is_ours
                if failure is not None:
                    raise failure
        except (TuibenchError, asyncio.CancelledError) as raised:
            error = raised
        assert server.open_connections == 0
        return Ended(error, said, clock.time())

    return in_no_time(scenario)


@pytest.mark.parametrize("failure", [None, UsageError("whatever"), asyncio.CancelledError()])
def test_our_schema_goes_over_the_connection_that_made_it(failure: BaseException | None) -> None:
    server = FakeServer()
    assert ended(server, failure) == (failure, [], 0)
    assert server.heard == [(0, DROP)]
    server = FakeServer()
    assert ended(server, failure, is_ours=False).said == []
    assert server.heard == []


def lost_error() -> ConnectionLostInTestError:
    return ConnectionLostInTestError("db1:3306 hung up", "see its log")


def test_after_a_loss_it_goes_over_a_new_connection_as_soon_as_there_is_one() -> None:
    server = FakeServer(logins=[None, AWAY, ConnectionLostError(1053, "shutdown"), AWAY])
    error, said, seconds = ended(server, lost_error())
    assert isinstance(error, ConnectionLostInTestError)
    assert error.exit_code == ExitCode.RUN_FAILED
    assert said == [f"waiting up to 20 s for the server: {AWAY.message}"]
    assert seconds == 1.5
    assert server.heard == [(1, DROP)]


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_server_that_stays_away_is_that_and_keeps_the_schema(is_ours: bool) -> None:
    server = FakeServer(logins=[None, *[AWAY] * 100])
    error, said, seconds = ended(server, lost_error(), is_ours=is_ours)
    assert isinstance(error, ServerUnreachableError)
    assert error.message == "db1:3306 hung up; it did not come back within 20 s"
    assert error.exit_code == ExitCode.SERVER_UNAVAILABLE
    assert said[1:] == [STAYS] * is_ours
    assert seconds == CLEANUP_TIMEOUT_SECONDS


@pytest.mark.parametrize("failure", [UsageError("whatever"), asyncio.CancelledError()])
@pytest.mark.parametrize("results", [[LOST], [NO_RESPONSE]])
def test_the_first_error_is_raised_not_that_of_the_cleanup(
    failure: BaseException, results: list[str | Exception]
) -> None:
    server = FakeServer(results, logins=[None, *[AWAY] * 100])
    error, said, seconds = ended(server, failure)
    assert error is failure
    assert said[-1] == STAYS
    assert seconds == CLEANUP_TIMEOUT_SECONDS


def test_a_server_that_is_lost_at_the_very_end() -> None:
    back = FakeServer([LOST])
    assert ended(back).error is None
    assert back.heard == [(1, DROP)]
    away = ended(FakeServer([LOST], logins=[None, *[AWAY] * 100]))
    assert isinstance(away.error, ServerUnreachableError)
    lost = "lost the connection to the server at db1:3306"
    assert away.error.message == f"{lost}; it did not come back within 20 s"
    assert away.said[-1] == STAYS


def test_a_refused_drop_is_reported() -> None:
    denied = DeniedError(1044, "Access denied")
    assert ended(FakeServer([denied])) == (denied, [STAYS], 0)
    failure = UsageError("whatever")
    assert ended(FakeServer([denied]), failure) == (failure, [STAYS], 0)


def test_an_operator_who_does_not_wait_hears_what_stays() -> None:
    async def scenario(clock: VirtualClock) -> list[str]:
        said: list[str] = []
        server = FakeServer([NO_RESPONSE])
        connection = await server.connect(TARGET)

        async def test() -> None:
            async with SchemaCleanup(
                connection, lambda: server.connect(TARGET), said.append, clock
            ) as ending:
                ending.schema = SlapSchema(connection, "mysqlslap")
                ending.schema.is_ours = True

        task = asyncio.create_task(test())
        await clock.sleep(3600)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return said

    assert in_no_time(scenario) == [STAYS]


def test_a_schema_of_unknown_creation_is_treated_as_ours() -> None:
    async def scenario(clock: VirtualClock) -> bool:
        schema = SlapSchema(await FakeServer([LOST]).connect(TARGET), "mysqlslap")
        with pytest.raises(ConnectionLostError):
            await schema.make()
        return schema.is_ours

    assert in_no_time(scenario)


def test_a_lost_connection_is_reported_with_the_iteration() -> None:
    with (
        pytest.raises(ConnectionLostInTestError) as caught,
        raise_as_lost(TARGET, "iteration 2 of 3 with 8 clients"),
    ):
        check_no_connection_lost({"1213": 5, "2003": 12, "2013": 8})
    assert caught.value.message == (
        "the server at db1:3306 closed the connection during iteration 2 of 3 with 8 clients: "
        "error 2003 (12 ×), error 2013 (8 ×)"
    )


def test_errors_that_keep_the_connection_are_no_loss() -> None:
    check_no_connection_lost({"1213": 5, "1205": 1, "1317": 1})


# What a slap does on its own connection, around the clients.


async def dialled(server: FakeServer, target: Target, *, use_database: bool) -> Connection:
    assert not use_database
    return await server.connect(target)


async def test_it_stays_open_however_long_the_clients_take(monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeServer()
    monkeypatch.setattr(runner, "connect", partial(dialled, server))
    spec = SlapSpec(target=Target(database="mysqlslap"), script=SlapScript(), clients=())
    assert [benchmark async for benchmark in SlapRunner(spec, print).run()] == []
    assert server.heard_by(0) == ["SET SESSION wait_timeout=28800"]
    assert server.open_connections == 0
