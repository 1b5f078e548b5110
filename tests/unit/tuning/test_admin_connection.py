"""The control connection when answers stay away: what was cut short is not used again."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from tests.unit.tuning.fakes import FakeConnection, FakeServer
from tuibench.errors import ConnectionLostError, UsageError
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection, Row
from tuibench.tuning.admin_connection import AdminConnection


class Silent(FakeConnection):
    """Never answers."""

    def __init__(self, server: FakeServer) -> None:
        super().__init__(server)
        self.asked = asyncio.Event()
        self.aborted = False

    async def query(self, sql: str) -> Sequence[Row]:
        self.statements += 1
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError(sql)

    def abort(self) -> None:
        self.aborted = True


def falling_silent(silent: Silent, server: FakeServer) -> AdminConnection:
    """Its first connection is silent, the next one is not."""
    connections = iter([silent, FakeConnection(server)])

    async def connect() -> Connection:
        return cast("Connection", next(connections))

    return AdminConnection(connect)


async def test_a_statement_cut_short_costs_the_connection_and_stays_counted() -> None:
    server = FakeServer()
    silent = Silent(server)
    control = falling_silent(silent, server)
    asking = asyncio.create_task(control.values(["sync_binlog"]))
    await silent.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert silent.aborted
    assert await control.values(["sync_binlog"]) == {"sync_binlog": "1"}
    assert control.statements == 2


async def test_a_silent_server_counts_as_away() -> None:
    silent = Silent(FakeServer())
    silent.target = Target(query_timeout=0.0)
    control = falling_silent(silent, FakeServer())
    with pytest.raises(ConnectionLostError, match="no answer from the server"):
        await control.values(["sync_binlog"])
    assert silent.aborted


async def test_no_name_smuggles_sql() -> None:
    server = FakeServer()
    with pytest.raises(UsageError):
        await AdminConnection(server.connect).set_global("x = 1; DROP", "0")
    with pytest.raises(UsageError):
        await AdminConnection(server.connect).values(["x') OR ('1"])
    assert server.sent == []


async def test_words_are_quoted_and_numbers_are_not() -> None:
    server = FakeServer()
    control = AdminConnection(server.connect)
    await control.set_global("sync_binlog", "5")
    await control.set_global("sync_binlog", "ON")
    assert server.sent == ["SET GLOBAL sync_binlog = 5", "SET GLOBAL sync_binlog = 'ON'"]
