"""The look before a run on real servers: with all privileges, with hardly any, and where others work."""

import asyncio
import contextlib
import re
import shlex
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.fakes import FakeClock
from tests.integration.support import sbtest
from tests.integration.support.commands import ask, tuibench
from tests.integration.support.session_process import session_spec
from tests.validation import check_valid
from tuibench.base.errors import DeniedError, ExitCode, UsageError
from tuibench.load.tables import drop_tables, prepare_tables
from tuibench.model.findings import Finding
from tuibench.model.message import ChangeSetting, TrustServer
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo, Target
from tuibench.mysql.connection import connect
from tuibench.mysql.info import READ_ONLY_BYPASS_WARNING
from tuibench.servers import process
from tuibench.servers.server import PrivateServer
from tuibench.session.load_run import LoadRun
from tuibench.session.preflight import diagnose, run_preflight
from tuibench.workload import library

TABLES = {"tables": 2, "table_size": 500}
OPTIONS = ("--tables=2", "--table-size=500")
ABSENT = ("ycsb.a", "--records=200")
"""A load whose tables no fixture creates."""


@pytest.fixture(scope="module")
def poor(tables: PrivateServer) -> Iterator[Target]:
    """A login that may read the tables and nothing else."""
    database = tables.target.database
    asyncio.run(
        ask(
            tables.target,
            "CREATE USER poor@localhost IDENTIFIED BY 'poor-Pass-1'",
            f"GRANT SELECT ON {database}.* TO poor@localhost",
        )
    )
    yield msgspec.structs.replace(tables.target, user="poor", password="poor-Pass-1")
    asyncio.run(ask(tables.target, "DROP USER poor@localhost"))


async def findings(target: Target, profile: str = "oltp_read_write", threads: int = 2) -> dict[str, Finding]:
    plan = RunPlan(profile=profile, options=dict(TABLES), threads=threads)
    program = library.load_program(profile, {**TABLES, "threads": threads})
    found = await diagnose(target, plan, program, FakeClock())
    return {finding.id: finding for finding in found}


@contextlib.asynccontextmanager
async def somebody_writing(server: PrivateServer) -> AsyncIterator[None]:
    """An application in a database of its own that never rests."""
    connection = await connect(server.target)
    for sql in (
        "CREATE DATABASE IF NOT EXISTS shop",
        "CREATE TABLE IF NOT EXISTS shop.orders (id INT) ENGINE=InnoDB",
        "USE shop",
    ):
        await connection.query(sql)

    async def write() -> None:
        while True:
            await connection.query("INSERT INTO orders SELECT SLEEP(0.01)")

    writing = asyncio.create_task(write())
    try:
        yield
    finally:
        writing.cancel()
        await asyncio.wait({writing})
        connection.abort()
        await ask(server.target, "DROP DATABASE shop")


async def test_a_server_of_our_own_is_ready(tables: PrivateServer) -> None:
    found = await findings(tables.target)
    told = {finding.id for finding in found.values() if finding.severity in ("warning", "stop")}
    assert told <= {"disk", "file_descriptors", "host_busy"}, found
    assert found["server"].found.startswith(f"{tables.binary.flavour} {tables.binary.version}")
    assert found["data_set"].found.startswith("2 × 500 rows")
    assert "accepts every statement" in found["privileges_load"].found
    assert found["privileges_settings"].severity == "ok"


async def test_with_hardly_any_privilege_it_says_what_it_may_not_see(poor: Target) -> None:
    found = await findings(poor, "oltp_point_select")
    assert found["privileges_load"].severity == "ok"
    for hidden in ("privileges_process", "replicas", "other_clients"):
        assert found[hidden].severity == "note"
        assert "GRANT PROCESS ON *.* TO `poor`@`localhost`" in found[hidden].remedy
    assert found["privileges_settings"].severity == "note"
    assert found["max_connections"].severity == "ok"
    refused = (await findings(poor))["privileges_load"]
    assert refused.severity == "stop"
    assert "denied" in refused.found


async def test_the_remedies_are_what_the_server_takes(tables: PrivateServer, poor: Target) -> None:
    """Each GRANT that is advised works as it stands, and then the finding is gone."""
    advised = ("privileges_load", "privileges_process", "privileges_settings")
    found = await findings(poor)
    await ask(tables.target, *(found[name].remedy for name in advised))
    mended = await findings(poor)
    assert {mended[name].severity for name in advised} == {"ok"}
    await ask(
        tables.target,
        "REVOKE ALL PRIVILEGES, GRANT OPTION FROM poor@localhost",
        f"GRANT SELECT ON {tables.target.database}.* TO poor@localhost",
    )


@pytest.mark.one_flavour
@pytest.mark.parametrize("database", ["", "not_there_yet"])
async def test_what_prepare_creates_is_the_next_step_and_no_failure(
    tables: PrivateServer, database: str
) -> None:
    """The advised command works as it stands, and then everything is ready."""
    target = tables.target if not database else msgspec.structs.replace(tables.target, database=database)
    before = await asyncio.to_thread(tuibench, "doctor", *ABSENT, target=target)
    assert before.code == 0, before.out
    assert "next    data_set" in before.out
    assert "1 next: ready to run once the tables exist" in before.err
    (line,) = re.findall("→ create .*the tables with: tuibench (.*)", before.out)
    made = await asyncio.to_thread(tuibench, *shlex.split(line), env={"MYSQL_PWD": target.password})
    try:
        assert made.code == 0, made.err
        ready = await asyncio.to_thread(tuibench, "doctor", *ABSENT, target=target)
        assert (ready.code, "ready to run\n" in ready.err) == (0, True), ready.out
    finally:
        await drop_tables(target, library.load_program(ABSENT[0], {"records": 200}))
        if database:
            await ask(tables.target, f"DROP DATABASE {database}")


@pytest.mark.one_flavour
def test_the_command_and_its_exit_codes(tables: PrivateServer) -> None:
    ready = tuibench("doctor", "oltp_read_write", *OPTIONS, "--format=json", target=tables.target)
    assert ready.code == 0, ready.err
    assert {"id", "severity", "found", "remedy", "evidence"} == set(check_valid("findings", ready.out)[0])
    partly = tuibench("doctor", "--tables=3", "--table-size=500", target=tables.target)
    assert partly.code == 1
    assert "stop    data_set" in partly.out
    assert re.search(
        "→ 2 of 3 exist: run with --tables=2, or drop them with: tuibench cleanup .* "
        "and create all with: tuibench prepare",
        partly.out,
    )
    assert "a run would be invalid" in partly.err
    nowhere = tuibench("doctor", "--socket=/nowhere/s.sock")
    assert (nowhere.code, nowhere.out) == (3, "")


@pytest.mark.one_flavour
def test_a_preflight_warning_is_reported_once_and_the_run_continues(tables: PrivateServer) -> None:
    run = ("run", "oltp_point_select", *OPTIONS, "--time=1", "--report-interval=0", "--client-delay=2ms")
    asyncio.run(ask(tables.target, "SET GLOBAL general_log = ON"))
    try:
        done = tuibench(*run, "--json=-", target=tables.target)
    finally:
        asyncio.run(ask(tables.target, "SET GLOBAL general_log = OFF"))
    assert done.code == 0, done.err
    assert done.err.count("at 0 s: the general log contains every statement") == 1
    summary = check_valid("summary", done.out)
    assert any("general log" in warning for warning in summary["warnings"])
    assert summary["reconciliation"]["foreign"] == 0


@pytest.mark.one_flavour
async def test_a_server_that_is_lived_on_is_left_alone_until_yes(
    tables: PrivateServer, tuibench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A private server never asks; the same one, taken for somebody's, does: once."""
    change = ChangeSetting("sync_binlog", "7")
    async with somebody_writing(tables):
        async with LoadRun(session_spec(tables.target)) as own:
            assert own.watcher.status().production_signs == ()
        monkeypatch.setattr(process, "is_private_server", lambda datadir: False)
        async with LoadRun(session_spec(tables.target)) as session:
            assert session.watcher.status().production_signs
            with pytest.raises(UsageError, match="looks like a production server"):
                await session.submit(change)
            assert await ask(tables.target, "SELECT @@sync_binlog") == [(1,)]
            await session.submit(TrustServer())
            assert "1 → 7" in await session.submit(change)
        async with LoadRun(session_spec(tables.target)) as again:
            assert again.watcher.status().production_signs == ()
    assert await ask(tables.target, "SELECT @@sync_binlog") == [(1,)]


async def test_a_server_that_is_read_only_says_so_to_everybody(
    server: PrivateServer, database: Target
) -> None:
    """It refuses a plain login, with one exit code; one with privileges writes, and is warned."""
    await ask(
        server.target,
        "CREATE USER plain@localhost IDENTIFIED BY 'plain-Pass-1'",
        f"GRANT ALL ON {database.database}.* TO plain@localhost",
    )
    plain = msgspec.structs.replace(database, user="plain", password="plain-Pass-1")
    plan, program = (
        RunPlan(profile="oltp_write_only", options=dict(TABLES)),
        sbtest.program(tables=2, table_size=500),
    )
    said: list[str] = []
    async with sbtest.connected(server.target) as connection:
        async with sbtest.set_global(connection, "read_only", "1"):
            with pytest.raises(DeniedError, match="--read-only option"):
                await prepare_tables(plain, program, warn=said.append)
            assert said == []
            await prepare_tables(database, program, warn=said.append)
            with pytest.raises(DeniedError, match="the server is read-only, the load does") as caught:
                await run_preflight(plain, plan, program, nothing)
            assert caught.value.exit_code == ExitCode.SERVER_UNAVAILABLE
            with pytest.raises(DeniedError, match="--read-only option"):
                await drop_tables(plain, program, said.append)
            await drop_tables(database, program, said.append)
        await connection.execute("DROP USER plain@localhost")
    assert said == [READ_ONLY_BYPASS_WARNING] * 2


async def nothing(_: ServerInfo, __: RunPlan) -> None:
    """What is done meanwhile."""
