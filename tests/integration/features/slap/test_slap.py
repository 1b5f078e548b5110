"""`tuibench slap` and `--sql` on real servers: what the server counts, what stays, and what must not go."""

import asyncio
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.support import sbtest
from tests.integration.support.commands import ask, eventually, finished, started, tuibench
from tests.paths import DATA
from tests.validation import check_valid
from tuibench.load.tables import (
    LoadOptions,
    check_statements_allowed,
    check_tables_ready,
    drop_tables,
    prepare_tables,
)
from tuibench.model.server import Flavour, Target
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

GENERATED = (
    *("--concurrency=2,4", "--iterations=1", "--auto-generate-sql", "--auto-generate-sql-add-autoincrement"),
    *("--engine=innodb,memory", "--number-int-cols=1", "--number-char-cols=2", "--number-of-queries=40"),
)
SCHEMAS = "SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('mysqlslap', 'shop')"


def masked(text: str) -> str:
    return re.sub(r"\d+", "N", text)


def slap(target: Target, *words: str) -> tuple[int, str, str]:
    ended = tuibench("slap", *words, target=target)
    return ended.code, ended.out, ended.err


async def test_the_report_is_mysqlslaps_and_the_schema_is_gone(any_server: PrivateServer) -> None:
    code, out, err = slap(any_server.target, *GENERATED, "-vv")
    assert code == 0, err
    assert masked(out) == masked((DATA / "mysqlslap-report.txt").read_text())
    assert "queries/s (18 reads, 22 writes, 0 other)" in err
    assert err.count("2 clients, iteration 1 of 1: ") == 2
    assert await ask(any_server.target, SCHEMAS) == []


async def test_the_server_counts_what_the_clients_were_to_send(server: PrivateServer) -> None:
    words = ("-a", "--auto-generate-sql-load-type=update", "--auto-generate-sql-guid-primary", "-c3")
    rhythm = ("--auto-generate-sql-execute-number=13", "--commit=4", "--detach=5", "--format=json")
    code, out, err = slap(server.target, *words, *rhythm)
    assert code == 0, err
    (done,) = check_valid("slap", out)
    assert done["queries_per_client"] == 13
    assert (done["queries"]["total"], done["server"]["Com_update"]) == (39, 39 + done["retries"])
    assert done["server"]["Com_commit"] == 3 * (3 + 1)
    assert done["server"]["Connections"] == 3 * (1 + 3)


async def test_more_clients_get_more_workers_beside_those_before(any_server: PrivateServer) -> None:
    words = ("-a", "--auto-generate-sql-load-type=write", "-c1,2", "--auto-generate-sql-execute-number=5")
    more = ("--workers=2", "--load-engine=asyncio", "--format=json")
    code, out, err = slap(any_server.target, *words, *more)
    assert code == 0, err
    assert [done["queries"]["total"] for done in check_valid("slap", out)] == [5, 10]


@pytest.mark.parametrize(("name", "charset"), [("a", "latin1"), ("é", "utf8mb4")])
async def test_clients_speak_as_mysqlslaps_do_if_that_loses_nothing(
    server: PrivateServer, name: str, charset: str
) -> None:
    words = ["--create=CREATE TABLE a (b TEXT, c TEXT) CHARACTER SET utf8mb4", "--no-drop"]
    query = f"--query=INSERT INTO a VALUES (@@character_set_client, '{name}')"
    code, _, err = slap(server.target, *words, query)
    try:
        assert code == 0, err
        spoken = charset if server.binary.flavour == Flavour.MARIADB else "utf8mb4"
        assert await ask(server.target, "SELECT * FROM mysqlslap.a") == [(spoken, name)]
    finally:
        await ask(server.target, "DROP DATABASE mysqlslap")


async def test_own_statements_with_files_and_hooks(any_server: PrivateServer, tmp_path: Path) -> None:
    queries = tmp_path / "queries.sql"
    queries.write_text("INSERT INTO a VALUES (1);INSERT INTO a VALUES (2);")
    seen = tmp_path / "seen"
    words = ["--create=CREATE TABLE a (b INT)", f"--query={queries}", "--delimiter=;", "-c2", "-i2"]
    words += ["--pre-query=INSERT INTO a VALUES (0)", f"--pre-system=echo x >> {seen}", "--no-drop"]
    code, out, err = slap(
        any_server.target, *words, "--post-query=INSERT INTO a SELECT COUNT(*) FROM a", "--csv"
    )
    try:
        assert code == 0, err
        assert re.fullmatch(r",mixed,[\d.]+,[\d.]+,[\d.]+,2,2\n", out)
        assert await ask(any_server.target, "SELECT * FROM mysqlslap.a ORDER BY b") == [
            (0,),
            (1,),
            (1,),
            (2,),
            (2,),
            (5,),
        ]
        assert seen.read_text() == "x\nx\n"
        again = slap(any_server.target, *words)
        assert again[0] == 1
        assert "the schema 'mysqlslap' already exists" in again[2]
    finally:
        await ask(any_server.target, "DROP SCHEMA IF EXISTS mysqlslap")


async def test_a_schema_of_others_is_not_dropped_unasked(any_server: PrivateServer) -> None:
    words = ("-a", "--create-schema=shop", "--number-of-queries=4")
    async with sbtest.empty_database(any_server.target, "shop") as shop:
        await ask(shop, "CREATE TABLE customers (id INT)")
        code, out, err = slap(any_server.target, *words)
        assert (code, out) == (1, "")
        assert "the schema 'shop' exists with the table customers: mysqlslap would drop it" in err
        assert len(await ask(shop, "SHOW TABLES")) == 1
        assert slap(any_server.target, *words, "--drop-schema")[0] == 0
        assert await ask(any_server.target, SCHEMAS) == []


async def test_a_query_that_fails_ends_it_and_leaves_nothing(any_server: PrivateServer) -> None:
    words = ("--create=CREATE TABLE a (b INT)", "--query=SELECT nosuch FROM a", "-c2")
    code, out, err = slap(any_server.target, *words)
    assert (code, out) == (1, "")
    assert "nosuch" in err
    assert await ask(any_server.target, SCHEMAS) == []
    code, _, err = slap(any_server.target, "--query=SELECT 1", "--create-schema=nowhere")
    assert (code, "the schema 'nowhere' does not exist" in err) == (1, True)


@pytest.mark.one_flavour
async def test_own_sql_is_a_load_like_any_other(tables: PrivateServer, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    reading = "--sql=SELECT c FROM sbtest1 WHERE id=:id"
    writing = "--sql=BEGIN; UPDATE sbtest1 SET k=k+1 WHERE id=:id; SELECT k FROM sbtest1 WHERE id=:id; COMMIT"
    done = tuibench(
        *("run", reading, writing, "--sql-param=id=1..500", "--sql-weights=3/1", "--events=400"),
        *("--time=0", f"--json={file}", "--threads=2"),
        target=tables.target,
    )
    assert done.code == 0, done.err
    summary = json.loads(file.read_text())
    writes = summary["by_transaction"]["sql_2"]["count"]
    assert summary["queries"]["write"] == writes > 0
    assert summary["queries"]["read"] == 400
    assert summary["reconciliation"]["foreign"] == 0
    assert summary["server"]["deltas"]["Com_update"] == writes


@pytest.mark.one_flavour
def test_own_sql_is_swept_and_probed(tables: PrivateServer, tuibench_home: Path) -> None:
    own = ("--sql=SELECT c FROM sbtest1 WHERE id=:id", "--sql-param=id=1..500", "--workers=1")
    quick = ("--time=0.5", "--warmup-time=0", "--interval=0.25")
    swept = tuibench("sweep", *own, *quick, "--threads=2", "--format=json", target=tables.target)
    assert swept.code == 0, swept.err
    results = check_valid("sweep", swept.out)["results"]
    assert [one["cell"]["threads"] for one in results] == [2]
    assert all(one["figures"]["tps"] == one["figures"]["qps"] > 0 for one in results)
    times = ("--interval=0.2", "--warmup-time=0.2", "--max-step-time=2", "--max-time=11", "--max-threads=2")
    probed = tuibench("probe", *own, *times, "--slo=p95<100s", "--format=json", target=tables.target)
    assert probed.code == 0, probed.err
    command = check_valid("probe", probed.out)["commands"]["tuibench"]
    assert command.startswith("tuibench run '--sql=SELECT c FROM sbtest1 WHERE id=:id' ")


def test_an_error_in_adhoc_sql_is_reported_with_its_location(any_tables: PrivateServer) -> None:
    done = tuibench("run", "--sql=SELECT c\nFROM sbtest1 WHER id=1", target=any_tables.target)
    assert done.code == 1
    assert "(line 2, column 19)" in done.err or "(line 2, column 14)" in done.err


async def test_mysqlslaps_loads_are_profiles_on_its_table(database: Target) -> None:
    names = [name for name in library.available_profiles() if name.partition(".")[0] == "slap"]
    assert len(names) == 5
    programs = [library.load_program(name, {"table_size": 40}) for name in names]
    for insert_method in ("insert", "auto"):
        await prepare_tables(
            database, programs[0], method=LoadOptions(parallel=1, insert_method=insert_method)
        )
        rows = await ask(database, "SELECT COUNT(*), MIN(id), MAX(id), MIN(LENGTH(charcol1)) FROM t1")
        assert rows == [(40, 1, 40, 126)]
        async with sbtest.connected(database) as connection:
            for program in programs:
                await check_tables_ready(connection, program)
                await check_statements_allowed(connection, program)
        assert (await drop_tables(database, programs[0])).dropped == ("t1",)


@pytest.mark.skipif(shutil.which("mysqlslap") is None, reason="mysqlslap is not there")
def test_mysqlslap_itself_prints_the_same_labels(any_server: PrivateServer) -> None:
    target = any_server.target
    login = ["--no-defaults", f"--socket={target.socket}", f"--user={target.user}"]
    theirs = subprocess.run(
        ["mysqlslap", *login, *GENERATED],
        capture_output=True, text=True, check=True, env={**os.environ, "MYSQL_PWD": target.password},
    )  # fmt: skip
    assert masked(slap(target, *GENERATED)[1]) == masked(theirs.stdout)


LONG = ("--auto-generate-sql", "--concurrency=4", "--number-of-queries=10000000")
CLIENTS = "SELECT id FROM information_schema.processlist WHERE db = 'mysqlslap' ORDER BY id DESC"


async def a_client(target: Target) -> int:
    """The server's id of one of the clients, once they and the connection that fills the schema are there."""
    found: list[int] = []

    async def are_there() -> bool:
        found[:] = [row[0] for row in await ask(target, CLIENTS)]
        return len(found) == 5

    assert await eventually(are_there)
    return found[0]


@pytest.mark.one_flavour
async def test_a_killed_connection_ends_it_and_leaves_nothing(server: PrivateServer) -> None:
    with started("slap", *LONG, target=server.target) as process:
        await ask(server.target, f"KILL {await a_client(server.target)}")
        ended = await asyncio.to_thread(finished, process)
    assert (ended.code, ended.out) == (1, ""), ended.err
    assert " closed the connection during iteration 1 of 1 with 4 clients: " in ended.err
    assert await ask(server.target, SCHEMAS) == []


async def test_a_restarted_server_ends_it_and_keeps_nothing(any_restartable: PrivateServer) -> None:
    with started("slap", *LONG, target=any_restartable.target) as process:
        await a_client(any_restartable.target)
        await any_restartable.kill()
        await any_restartable.start_again()
        ended = await asyncio.to_thread(finished, process)
    assert (ended.code, ended.out) == (1, ""), ended.err
    assert " closed the connection during iteration 1 of 1 with 4 clients: " in ended.err
    assert await ask(any_restartable.target, SCHEMAS) == []
