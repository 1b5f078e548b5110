"""Planted blockers on real servers: who is named, and that closing the culprit frees those who wait."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import pytest

from tests.integration.support.commands import ask
from tests.integration.support.session_process import Watcher, session_spec, watched
from tuibench.metrics.lock_graph import lock_graph
from tuibench.model.event import EventKind
from tuibench.model.message import CloseConnection, Stop, Watch
from tuibench.model.server import Activity, Flavour, LockKind, SessionDetail
from tuibench.mysql.connection import Connection, connect
from tuibench.mysql.info import server_info
from tuibench.servers.server import PrivateServer

PLANTED: dict[str, tuple[LockKind, Sequence[str], Sequence[str]]] = {
    "row lock": (
        LockKind.ROW,
        ("BEGIN", "UPDATE theirs SET v = 'x' WHERE id = 1"),
        ("UPDATE theirs SET v = 'y' WHERE id = 1", "DELETE FROM theirs WHERE id = 1"),
    ),
    "metadata lock": (
        LockKind.METADATA,
        ("BEGIN", "SELECT COUNT(*) FROM theirs"),
        ("ALTER TABLE theirs ADD COLUMN z INT", "SELECT COUNT(*) FROM theirs"),
    ),
    "lock tables": (
        LockKind.METADATA,
        ("LOCK TABLES theirs WRITE",),
        ("SELECT COUNT(*) FROM theirs", "UPDATE theirs SET v = 'z'"),
    ),
    "global read lock": (
        LockKind.GLOBAL,
        ("FLUSH TABLES WITH READ LOCK",),
        ("UPDATE theirs SET v = 'y' WHERE id = 1", "UPDATE theirs SET v = 'y' WHERE id = 2"),
    ),
    "user lock": (
        LockKind.USER,
        ("SELECT GET_LOCK('the door', 1)",),
        ("SELECT GET_LOCK('the door', 600)", "SELECT GET_LOCK('the door', 600)"),
    ),
}


@contextlib.asynccontextmanager
async def strangers(server: PrivateServer, number: int) -> AsyncIterator[list[Connection]]:
    connections = [await connect(server.target) for _ in range(number)]
    await connections[0].query("CREATE TABLE theirs (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB")
    await connections[0].query("INSERT INTO theirs VALUES (1, 'a'), (2, 'b')")
    try:
        yield connections
    finally:
        for connection in connections:
            await connection.close()
        await ask(server.target, "DROP TABLE theirs")


async def look(watcher: Watcher, connection: int = 0) -> Activity:
    """The next report on the sessions."""
    watcher.activity = None
    await watcher.submit(Watch("activity", connection=connection))
    await watcher.until(lambda: watcher.activity is not None)
    return told(watcher)


def told(watcher: Watcher) -> Activity:
    assert watcher.activity is not None
    return watcher.activity


async def seen(watcher: Watcher, waiting: set[int]) -> Activity:
    """The first report in which all of these wait."""
    while True:
        activity = await look(watcher)
        if {wait.waiting for wait in activity.waits} >= waiting:
            return activity


@pytest.mark.parametrize("planted", PLANTED)
async def test_the_culprit_is_named_and_closing_it_frees_the_others(
    tables: PrivateServer, planted: str
) -> None:
    kind, hold, wait = PLANTED[planted]
    spec = session_spec(tables.target, "oltp_point_select", threads=2)
    async with strangers(tables, 4) as (holder, first, second, bystander), watched(spec) as watcher:
        await watcher.ticks(1)
        for sql in hold:
            await holder.query(sql)
        waiting: list[asyncio.Task[object]] = []
        for connection, sql in ((first, wait[0]), (second, wait[1])):
            waiting.append(asyncio.create_task(connection.query(sql)))
            await seen(
                watcher, {first.thread_id} if len(waiting) == 1 else {first.thread_id, second.thread_id}
            )
        activity = watcher.activity
        assert activity is not None
        root = lock_graph(activity.waits)[0]
        assert (root.id, root.frees, activity.blocked) == (holder.thread_id, 2, 2)
        assert {each.wait.kind for each in root.branches} == {kind}
        blocker = activity.blockers[0]
        assert (blocker.id, blocker.command) == (holder.thread_id, "Sleep")
        assert (blocker.doing == "idle in transaction") == (hold[0] == "BEGIN")

        own = next(iter({wait.waiting for wait in activity.waits if wait.waiting_is_ours}), None)
        assert own is None
        answer = await watcher.submit(CloseConnection(holder.thread_id))
        assert answer.ok, answer.text
        assert f"connection {holder.thread_id} (" in answer.text
        assert "2 sessions no longer wait for it" in answer.text
        await waiting[0]
        if planted == "user lock":
            await first.query("DO RELEASE_LOCK('the door')")
        await waiting[1]
        assert [event.text for event in watcher.told(EventKind.KILL)] == [answer.text]
        assert await bystander.query("SELECT 1")
        await watcher.submit(Stop())
        await watcher.end()


async def test_nothing_of_tuibench_is_closed(tables: PrivateServer) -> None:
    """Neither its load nor its own sampling and control."""
    async with watched(session_spec(tables.target, "oltp_point_select", threads=2)) as watcher:
        await watcher.works()
        observer = await connect(tables.target)
        try:
            rows = await observer.query(
                "SELECT ID FROM information_schema.PROCESSLIST "
                "WHERE ID <> CONNECTION_ID() AND USER NOT IN ('system user', 'event_scheduler') "
                "AND COMMAND <> 'Daemon'"
            )
        finally:
            await observer.close()
        assert len(rows) >= 4
        for (id,) in rows:
            answer = await watcher.submit(CloseConnection(int(str(id))))
            assert (answer.ok, "belongs to this session of tuibench" in answer.text) == (False, True)
        await watcher.submit(Stop())
        summary = (await watcher.end()).summary
    assert summary.errors.total == 0


async def test_a_plan_of_a_statement_that_runs(tables: PrivateServer) -> None:
    async with strangers(tables, 2) as (busy, other), watched(session_spec(tables.target)) as watcher:
        flavour = (await server_info(other)).flavour
        # MariaDB explains a statement that looks now and then whether it should, which SLEEP does not.
        far = {
            Flavour.MYSQL: "SELECT SLEEP(600) FROM theirs",
            Flavour.MARIADB: "SELECT COUNT(*) FROM seq_1_to_999999999",
        }
        sql = f"{far[flavour]} WHERE 'secret' = 'x' OR RAND() < 2"
        running = asyncio.create_task(busy.query(sql))
        detail = SessionDetail(id=0)
        while not detail.plan:
            detail = (await look(watcher, busy.thread_id)).details[0]
        assert detail.statement.endswith("WHERE ? = ? OR RAND() < ?")
        table = detail.plan[1][detail.plan[0].index("table")]
        assert table == ("theirs" if flavour is Flavour.MYSQL else "seq_1_to_999999999")
        await other.query(f"KILL QUERY {busy.thread_id}")
        await asyncio.gather(running, return_exceptions=True)
        await watcher.submit(Stop())
        await watcher.end()
