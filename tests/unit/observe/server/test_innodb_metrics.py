"""What MySQL tells of InnoDB in a table of its own: asked every few ticks, a refusal taken once."""

from tests.unit.observe.fakes import TARGET, FakeClock, FakeServer, server_of
from tuibench.errors import SQLError
from tuibench.model.counters import Counter
from tuibench.model.tick import Tick
from tuibench.observe.server.status_sampler import (
    INNODB_EVERY_TICKS,
    INNODB_METRICS,
    INNODB_METRICS_SQL,
    NOT_KNOWN,
    PROCESS_NEEDED,
    StatusSampler,
)


async def parts_of(server: FakeServer, ticks: int) -> list[Tick]:
    sampler = StatusSampler(TARGET, FakeClock(), interval_seconds=0.01, log_in=server.log_in)
    found = [server_of(await sampler.sample()) for _ in range(ticks)]
    return [sample for sample in found if sample is not None]


async def test_the_history_list_and_deadlocks_are_reported() -> None:
    (sample,) = await parts_of(FakeServer(), 1)
    assert (
        sample.levels[Counter.METRICS_HISTORY_LIST_LENGTH],
        sample.levels[Counter.METRICS_DEADLOCKS],
    ) == (7, 1)
    assert sample.missing == {}
    assert all(f"'{name}'" in INNODB_METRICS_SQL for name in INNODB_METRICS)


async def test_it_is_queried_every_few_ticks_and_keeps_its_value_in_between() -> None:
    server = FakeServer()
    parts = await parts_of(server, 2 * INNODB_EVERY_TICKS)
    assert server.received.count(INNODB_METRICS_SQL) == 2
    assert {sample.levels[Counter.METRICS_HISTORY_LIST_LENGTH] for sample in parts} == {7}


async def test_a_refusal_is_taken_once_and_said() -> None:
    server = FakeServer()
    server.metrics = SQLError(1227, "Access denied; you need PROCESS")
    parts = await parts_of(server, 2 * INNODB_EVERY_TICKS)
    assert server.received.count(INNODB_METRICS_SQL) == 1
    assert parts[0].missing == parts[-1].missing == dict.fromkeys(INNODB_METRICS.values(), PROCESS_NEEDED)
    assert Counter.METRICS_HISTORY_LIST_LENGTH not in parts[0].levels
    assert parts[0].levels[Counter.COM_COMMIT] == 700


async def test_a_server_of_another_make_does_not_know_the_table() -> None:
    server = FakeServer()
    server.metrics = SQLError(1146, "Table 'information_schema.innodb_metrics' doesn't exist")
    (sample,) = await parts_of(server, 1)
    assert sample.missing == dict.fromkeys(INNODB_METRICS.values(), NOT_KNOWN)


async def test_mariadb_is_not_asked_for_what_its_status_has() -> None:
    server = FakeServer()
    server.variables["version"] = "10.11.19-MariaDB-log"
    server.status[Counter.HISTORY_LIST_LENGTH] = 12
    (sample,) = await parts_of(server, 1)
    assert INNODB_METRICS_SQL not in server.received
    assert sample.levels[Counter.HISTORY_LIST_LENGTH] == 12
