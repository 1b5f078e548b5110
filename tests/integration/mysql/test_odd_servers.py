"""Servers whose defaults for sessions are anything but usual: our own work does not notice."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.integration.support import sbtest
from tests.integration.support.commands import tuibench
from tuibench.model.server import Flavour, Target
from tuibench.servers.server import PrivateServer

SIZE = ("--tables=3", "--table-size=100")
ODD = {
    Flavour.MARIADB: {
        "sql_mode": "'ORACLE,PAD_CHAR_TO_FULL_LENGTH'",
        "max_statement_time": "0.001",
        "max_prepared_stmt_count": "0",
    },
    Flavour.MYSQL: {
        "sql_mode": "'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
        "max_execution_time": "1",
        "max_prepared_stmt_count": "0",
    },
}
CUT_OFF = "1969,3024"
"""The load lives with the limits: a statement that takes a busy machine a millisecond is cut off."""

SPARING = {"sql_select_limit": "2", "sql_safe_updates": "1"}


@pytest.fixture
async def odd(server: PrivateServer, database: Target) -> AsyncIterator[Target]:
    """A server that is strange to every session, and an empty database on it."""
    async with AsyncExitStack() as stack:
        admin = await stack.enter_async_context(sbtest.connected(server.target, use_database=False))
        for name, value in (ODD[server.binary.flavour] | SPARING).items():
            await stack.enter_async_context(sbtest.set_global(admin, name, value))
        yield database


async def test_a_load_runs_on_it(odd: Target) -> None:
    for words in (
        ("prepare", "oltp_read_write"),
        (
            "run",
            "oltp_read_write",
            "--threads=1",
            "--events=3",
            "--time=0",
            f"--mysql-ignore-errors={CUT_OFF}",
        ),
        ("check", "sbtest"),
    ):
        done = tuibench(*words, *SIZE, target=odd)
        assert done.code == 0, done
