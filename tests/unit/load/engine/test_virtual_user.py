"""One connection of the load: how its work is counted, and the turns that it is given."""

import msgspec
import pytest

from tests.fakes import NO_RESPONSE, FakeServer, Result
from tests.unit.load.engine.driving import driving, turns, until
from tests.unit.load.engine.server_errors import DEADLOCK, LOST
from tests.unit.load.programs import EXPLICIT, EXPLICIT_SQL, SINGLE, UPDATE, begin
from tuibench.load.messages import StartLoad
from tuibench.workload.program.program import Turns

# Counting


@pytest.mark.parametrize(("affected", "figures"), [(1, (2, 1, 2)), (0, (2, 0, 3))])
async def test_a_write_without_an_effect_counts_as_other(
    affected: int, figures: tuple[int, int, int]
) -> None:
    stop: list[Result] = [1, 1, 1, affected, 1, NO_RESPONSE]
    async with driving(FakeServer(stop), begin(EXPLICIT)) as drive:
        await drive.until_ended(1)
        counters = drive.counters
        assert (counters.reads, counters.writes, counters.others) == figures
        assert counters.queries == 5


async def test_a_statement_cut_off_at_the_end_was_a_question_and_its_transaction_is_abandoned() -> None:
    async with driving(FakeServer([1, NO_RESPONSE]), begin(EXPLICIT)) as drive:
        await until(lambda: len(drive.server.heard) == 2)
        assert drive.counters.in_flight == 1
        await drive.engine.stop(0)
        counters = drive.counters
        assert (counters.abandoned, counters.in_flight, counters.queries) == (1, 0, 1)
        assert counters.questions == drive.server.questions == 2


async def test_a_rollback_cut_off_at_the_end_was_a_question_too() -> None:
    async with driving(FakeServer([DEADLOCK], rollbacks=[NO_RESPONSE]), begin(EXPLICIT)) as drive:
        await until(lambda: len(drive.server.heard) == 2)
        await drive.engine.stop(0)
        assert drive.counters.questions == drive.server.questions == 2


async def test_a_departure_ends_the_transaction_in_flight_then_says_goodbye() -> None:
    async with driving(FakeServer(), begin(EXPLICIT)) as drive:
        await until(lambda: len(drive.server.heard) == 3)
        drive.engine.set_connections(range(0))
        await until(lambda: drive.server.open_connections == 0)
        counters = drive.counters
        assert drive.server.heard_by(0) == EXPLICIT_SQL
        assert (counters.completed, counters.abandoned) == (1, 0)
        assert counters.questions == drive.server.questions == len(EXPLICIT_SQL) + 1


async def test_nothing_starts_while_the_load_is_held() -> None:
    async with driving(FakeServer(), begin(EXPLICIT), connections=4) as drive:
        await drive.until_ended(4)
        drive.engine.pause()
        await until(lambda: drive.counters.in_flight == 0)
        held = drive.counters
        await turns(50)
        assert drive.counters == held
        drive.engine.resume()
        await drive.until_ended(held.completed + 4)


# Turns


async def test_a_connection_with_turns_does_them_in_order_and_leaves() -> None:
    server = FakeServer()
    async with driving(server, in_turns(Turns(cycle=(0, 1), count=3, ending=(1,)), limit=8), 2) as drive:
        await until(drive.engine.finished.is_set)
    single, explicit = [UPDATE.sql[0]], EXPLICIT_SQL
    for connection in (0, 1):
        assert server.heard_by(connection) == [*single, *explicit, *single, *explicit]
    assert server.open_connections == 0


async def test_a_connection_with_turns_reconnects_at_the_given_turns() -> None:
    server = FakeServer()
    turns = Turns(cycle=(0, 0, 0), count=7, reconnect_at=frozenset({0, 2}))
    async with driving(server, in_turns(turns, limit=7)) as drive:
        await until(drive.engine.finished.is_set)
        counters = drive.counters
    assert [len(server.heard_by(number)) for number in range(len(server.connections))] == [2, 1, 2, 1, 1]
    assert counters.completed == 7
    assert not counters.failed


async def test_a_lost_connection_goes_on_with_its_turns() -> None:
    server = FakeServer([1, LOST])
    async with driving(server, in_turns(Turns(cycle=(0,), count=4), limit=4)) as drive:
        await until(drive.engine.finished.is_set)
        counters = drive.counters
    assert (counters.completed, counters.failed) == (3, 1)


def in_turns(turns: Turns, limit: int) -> StartLoad:
    """A worker whose connections do these turns of SINGLE and EXPLICIT."""
    message = begin(SINGLE, EXPLICIT, limit=limit)
    return msgspec.structs.replace(message, program=msgspec.structs.replace(message.program, turns=turns))
