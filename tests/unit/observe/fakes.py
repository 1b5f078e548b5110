"""A clock that stands still until told, and a server whose answers are scripted."""

import asyncio
import re
from collections.abc import Sequence

from tuibench.base.errors import ConnectionLostError, SQLError, TuibenchError
from tuibench.model.server import Target, Transport
from tuibench.model.tick import Tick
from tuibench.mysql.connection import Connection
from tuibench.mysql.rows import Row
from tuibench.observe.status import ServerObservation

TARGET = Target(user="ann")

STATUS = {
    "Uptime": 1000,
    "Uptime_since_flush_status": 1000,
    "Threads_running": 3,
    "Threads_connected": 9,
    "Open_tables": 20,
    "Questions": 5000,
    "Slow_queries": 2,
    "Com_commit": 700,
    "Innodb_os_log_fsyncs": 400,
    "Innodb_buffer_pool_reads": 10,
    "Innodb_buffer_pool_read_requests": 9000,
    "Innodb_row_lock_waits": 4,
}
VARIABLES = {
    "hostname": "db",
    "port": "3306",
    "datadir": "/data/",
    "version": "9.7.4",
    "max_connections": "151",
    "table_open_cache": "2000",
}


class FakeServer:
    """Answers SHOW statements from its dictionaries.

    `refusal` is raised at logins, `failure` by statements. From `hold` to `release` no statement is answered.
    """

    def __init__(self) -> None:
        self.status = dict(STATUS)
        self.variables = dict(VARIABLES)
        self.binlog: tuple[int, int] | SQLError = (0, 0)
        self.group: tuple[int, int] | SQLError | None = None
        self.metrics: dict[str, int] | SQLError = {"trx_rseg_history_len": 7, "lock_deadlocks": 1}
        self.refusal: TuibenchError | None = None
        self.failure: TuibenchError | None = None
        self.connections: list[FakeConnection] = []
        self.received: list[str] = []
        self._open = asyncio.Event()
        self._open.set()

    async def log_in(self, target: Target) -> Connection:
        if self.refusal:
            raise self.refusal
        self.connections.append(FakeConnection(self, target))
        return self.connections[-1]

    async def answer(self, sql: str) -> Sequence[Row]:
        self.received.append(sql)
        await self._open.wait()
        if self.failure:
            raise self.failure
        if "@@GLOBAL.hostname" in sql:
            return [tuple(self.variables[name] for name in re.findall(r"@@GLOBAL\.(\w+)", sql))]
        if "innodb_metrics" in sql:
            return self.innodb_metrics()
        if "replication_group_member_stats" in sql:
            return self.group_member()
        if "performance_schema" in sql:
            return self.binlog_file()
        if "STATUS" in sql:
            return [(name, str(value)) for name, value in self.status.items()]
        return list(self.variables.items())

    def binlog_file(self) -> Sequence[Row]:
        if isinstance(self.binlog, SQLError):
            raise self.binlog
        return [self.binlog]

    def group_member(self) -> Sequence[Row]:
        if isinstance(self.group, SQLError):
            raise self.group
        return [] if self.group is None else [self.group]

    def innodb_metrics(self) -> Sequence[Row]:
        if isinstance(self.metrics, SQLError):
            raise self.metrics
        return list(self.metrics.items())

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def grow(self, seconds: int, **counters: int) -> None:
        """Time passes on the server, and these counters grow."""
        for name, by in {"Uptime": seconds, "Uptime_since_flush_status": seconds, **counters}.items():
            self.status[name] += by

    def restart(self) -> None:
        """The counters begin again and the connections are gone."""
        self.status |= dict.fromkeys(("Uptime", "Uptime_since_flush_status", "Questions", "Com_commit"), 1)
        for connection in self.connections:
            connection.is_broken = True


class FakeConnection(Connection):
    is_encrypted = is_compressed = False
    transport = Transport()
    thread_id = 7

    def __init__(self, server: FakeServer, target: Target) -> None:
        super().__init__(None, target)
        self._server = server
        self.is_broken = False
        self.end = ""

    async def query(self, sql: str) -> Sequence[Row]:
        self.statements += 1
        self.selects += sql.lstrip().startswith("SELECT")
        if self.is_broken:
            raise ConnectionLostError(2013, "connection lost")
        return await self._server.answer(sql)

    async def close(self) -> None:
        self.statements += 1
        self.end = "closed"

    def abort(self) -> None:
        self.end = "aborted"


def server_of(seen: ServerObservation) -> Tick:
    """The figures of an observation that has some."""
    assert seen.tick is not None, seen.last_error
    return seen.tick
