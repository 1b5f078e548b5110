"""The check on shared servers: what a visitor leaves is told, and the next one does not find it."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.support import shared
from tests.integration.support.commands import ask
from tests.integration.support.processes import gone
from tests.integration.support.shared import SharedServers, Starter, Templates, Visits
from tuibench.mysql.connection import connect
from tuibench.servers.binaries import Binary


def test_everything_left_behind_is_reported(
    any_binary: Binary, templates: Templates, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = SharedServers(Starter(templates, base))
    visits = Visits(servers)
    server = visits.with_tables(any_binary)
    with asyncio.Runner() as visitor:
        leave = (
            "SET GLOBAL innodb_lock_wait_timeout = 7",
            "CREATE DATABASE mine",
            "CREATE USER me@localhost",
        )
        connection = visitor.run(connect(server.target))
        for statement in leave:
            visitor.run(connection.query(statement))
        assert visitor.run(shared.others(connection)) == frozenset()
        with monkeypatch.context() as patch:
            patch.setattr(shared, "LEAVING_SECONDS", 0.0)
            left = visits.end()
        connection.abort()
    assert left == [
        f"{any_binary.flavour}: {what}"
        for what in (
            "innodb_lock_wait_timeout: '50' became '7'",
            "databases left: mine",
            "accounts left: me@localhost",
            "connections left: tuibench (Sleep )",
        )
    ]
    assert gone(server.pid)
    again = Visits(servers)
    assert asyncio.run(ask(again.to(any_binary).target, "SHOW TABLES")) == []
    assert again.end() == []
    servers.stop()


def test_a_server_that_has_ended_is_reported(any_binary: Binary, templates: Templates, base: Path) -> None:
    servers = SharedServers(Starter(templates, base))
    visits = Visits(servers)
    asyncio.run(visits.to(any_binary).kill())
    (line,) = visits.end()
    assert "cannot reach" in line
    servers.stop()
