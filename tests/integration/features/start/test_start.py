"""The start form on a terminal, and all that is behind it: from an option file to a run, and back."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.support import sbtest
from tests.integration.support.commands import ask, assert_nothing_left, eventually
from tests.integration.support.terminal import ends, terminal
from tuibench.features.start import setup
from tuibench.features.start.setup import RecentStart
from tuibench.model.message import RunState
from tuibench.model.server import Target
from tuibench.servers.server import PrivateServer
from tuibench.session import registry

DOWN, ENTER = "\x1b[B", "\r"
LAST = RecentStart(profile="oltp_read_write", options="--tables=2 --table-size=300", threads="2")
"""A run on a private server: the form comes up with its load."""


def option_file(target: Target) -> str:
    lines = {"socket": target.socket, "user": target.user, "password": target.password}
    named = "".join(f"{name}={value}\n" for name, value in lines.items())
    return f"[client]\n{named}[tuibench]\ndatabase={target.database}\n"


async def is_running() -> bool:
    found = [entry.hello for entry in await registry.running_sessions() if entry.hello is not None]
    return [hello.status.state for hello in found] == [RunState.RUNNING]


@pytest.mark.one_flavour
async def test_the_form_looks_makes_the_tables_starts_the_run_and_q_ends_it(
    server: PrivateServer, tuibench_home: Path, tmp_path: Path
) -> None:
    async with sbtest.empty_database(server.target, "of_the_form") as target:
        (tmp_path / ".my.cnf").write_text(option_file(target))
        setup.save_recent(LAST)
        with terminal(env={"HOME": str(tmp_path)}) as form:
            assert form.shows("Private demo server"), form.text
            form.type(DOWN)
            assert form.shows("enter check the server"), form.text
            assert LAST.options in form.text
            assert "threads  2 " in form.text
            form.type(ENTER)
            assert form.shows("Enter creates the missing tables: 2 × 300 rows"), form.text
            form.type(ENTER)
            assert form.shows("enter start"), form.text
            assert [tuple(row) for row in await ask(target, "SELECT COUNT(*) FROM sbtest2")] == [(300,)]
            form.type(ENTER)
            assert await eventually(is_running), form.text
            assert form.shows("TPS transactions/s"), form.text
            form.type("q")
            assert await asyncio.to_thread(ends, form)
            assert form.code == 0
            assert "recorded in" in form.text
        tables = {row[0] for row in await ask(target, "SHOW TABLES")}
        assert tables == {"sbtest1", "sbtest2"}
        await asyncio.to_thread(assert_nothing_left, tuibench_home)
        (recent,) = tuibench_home.rglob("recent.json")
        assert target.password not in recent.read_text()
