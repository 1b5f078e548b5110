"""What MySQL tells of InnoDB in a table of its own: asked every few ticks, a refusal taken once."""

from tests.unit.observe.fakes import TARGET, FakeClock, FakeServer
from tuibench.errors import SQLError
from tuibench.model.sample import ServerPart
from tuibench.observe.counters import DEADLOCKS, HISTORY
from tuibench.observe.innodb import ASKED_EVERY, METRICS, METRICS_SQL, REFUSED
from tuibench.observe.status import StatusSampler


async def parts_of(server: FakeServer, ticks: int) -> list[ServerPart]:
    sampler = StatusSampler(TARGET, FakeClock(), interval_seconds=0.01, log_in=server.log_in)
    found = [(await sampler.sample()).part for _ in range(ticks)]
    return [part for part in found if part is not None]


async def test_the_history_list_and_deadlocks_are_told() -> None:
    (part,) = await parts_of(FakeServer(), 1)
    assert (part.gauges[HISTORY], part.counters[DEADLOCKS]) == (7, 1)
    assert part.untold == {}
    assert all(f"'{name}'" in METRICS_SQL for name in METRICS)


async def test_it_is_asked_every_few_ticks_and_stands_meanwhile() -> None:
    server = FakeServer()
    parts = await parts_of(server, 2 * ASKED_EVERY)
    assert server.received.count(METRICS_SQL) == 2
    assert {part.gauges[HISTORY] for part in parts} == {7}


async def test_a_refusal_is_taken_once_and_said() -> None:
    server = FakeServer()
    server.metrics = SQLError(1227, "Access denied; you need PROCESS")
    parts = await parts_of(server, 2 * ASKED_EVERY)
    assert server.received.count(METRICS_SQL) == 1
    assert parts[0].untold == parts[-1].untold == {HISTORY: REFUSED, DEADLOCKS: REFUSED}
    assert HISTORY not in parts[0].gauges
    assert parts[0].counters["Com_commit"] == 700


async def test_mariadb_is_not_asked_for_what_its_status_has() -> None:
    server = FakeServer()
    server.variables["version"] = "10.11.19-MariaDB-log"
    server.status["Innodb_history_list_length"] = 12
    (part,) = await parts_of(server, 1)
    assert METRICS_SQL not in server.received
    assert part.gauges["Innodb_history_list_length"] == 12
