"""Idle connections, planned logins and users, on real servers."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.integration.support import commands
from tests.integration.support.commands import ask
from tuibench.servers.server import PrivateServer

SECONDS = 3


@pytest.mark.one_flavour
@pytest.mark.parametrize("engine", ["native", "asyncio"])
async def test_all_of_it_in_one_run(server: PrivateServer, tmp_path: Path, engine: str) -> None:
    """Every figure is in the summary, and the server has seen the logins."""
    await _make_table(server)
    before = await _connections(server)
    ran = await asyncio.to_thread(
        commands.tuibench,
        *("run", "--sql", "SELECT n FROM loaded WHERE id = 1", "--threads=2", f"--time={SECONDS}"),
        *("--client-delay=2ms", f"--engine={engine}"),
        *("--users=6", "--idle-connections=15", "--reconnect=20", "--connect-rate=10", "--json=-"),
        target=server.target,
        env={"TUIBENCH_HOME": str(tmp_path)},
    )
    assert ran.code == 0, ran.err
    summary = json.loads(ran.out)
    figures = summary["connection_load"]
    assert (figures["idle"], figures["idle_wanted"], figures["users"]) == (15, 15, 6)
    assert figures["login_ms"]["count"] == figures["logins"] > summary["transactions"]["total"] // 20 - 4
    assert figures["wait_ms"]["count"] == summary["transactions"]["total"]
    assert summary["latency_ms"]["max"] >= summary["service_ms"]["max"]
    assert await _connections(server) - before >= figures["logins"] + 15 + 2
    assert "idle: 15/15" in ran.err
    assert "users: 6, waiting: " in ran.err
    assert "logins:" in ran.err


async def _make_table(server: PrivateServer) -> None:
    await ask(
        server.target,
        "CREATE TABLE IF NOT EXISTS loaded (id INT PRIMARY KEY, n INT)",
        "REPLACE INTO loaded VALUES (1, 1)",
    )


async def _connections(server: PrivateServer) -> int:
    ((_, value),) = await ask(server.target, "SHOW GLOBAL STATUS LIKE 'Connections'")
    return int(value)
