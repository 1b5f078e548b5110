"""`tune` on real servers: fsyncs do the same on any machine, and everything is as before at the end."""

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.integration.support import sbtest
from tests.integration.support.commands import Finished, eventually, finished, started, tuibench
from tests.validation import check_valid
from tuibench.load.tables import prepare_tables
from tuibench.model.server import Target
from tuibench.mysql.connection import connect
from tuibench.servers.server import PrivateServer
from tuibench.workload.library import load_program

DEADLINE_SECONDS = 450.0
FLUSH = "innodb_flush_log_at_trx_commit"
LOAD = (
    "oltp_write_only", "--tables=2", "--table-size=500", "--threads=2", "--warmup-time=1", "--window=1",
    "--client-delay=5ms",
)  # fmt: skip
NAMES = (FLUSH, "innodb_io_capacity")
SHORT = ("--budget=28s", "--values=1", "--tolerance=30", "--format=json")
ONLY = f"--only={','.join(NAMES)}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def tune(tables: PrivateServer, home: Path, *more: str) -> Finished:
    with started("tune", *LOAD, *more, target=tables.target, env={"TUIBENCH_HOME": str(home)}) as process:
        return finished(process, DEADLINE_SECONDS)


async def variables(target: Target) -> dict[str, str]:
    """All that could have been changed."""
    connection = await connect(target)
    try:
        rows = await connection.query("SHOW GLOBAL VARIABLES")
    finally:
        await connection.close()
    moving = ("gtid", "timestamp", "last_insert", "pseudo", "rand_seed", "insert_id", "binlog_snapshot")
    return {str(name): str(value) for name, value in rows if not str(name).startswith(moving)}


@pytest.mark.one_flavour
async def test_a_screening_measures_every_value_and_restores_all(tables: PrivateServer, home: Path) -> None:
    before = await variables(tables.target)
    done = tune(tables, home, ONLY, "--allow-risk", *SHORT)
    assert done.code == 0, done.err
    found = check_valid("tune", done.out)
    assert await variables(tables.target) == before
    results = {one["candidate"]["setting"]: one for one in found["results"]}
    assert results.keys() == set(NAMES)
    assert found["is_complete"]
    assert all(one["verdict"] != "refused" for one in results.values()), done.out
    assert all(one["pairs"] for one in results.values())
    assert_saves_fsyncs(results[FLUSH])
    assert "recorded in" in done.err
    page = home / "tune.html"
    again = tuibench("report", "latest", f"--html={page}", target=None, env={"TUIBENCH_HOME": str(home)})
    assert again.code == 0, again.err
    assert "Screening of settings" in page.read_text()


def assert_saves_fsyncs(one: dict[str, Any]) -> None:
    """Whatever TPS does, a log that is not flushed at commit is flushed less often."""
    fsyncs = next(each for each in one["comparisons"] if each["figure"] == "fsyncs_per_transaction")
    assert fsyncs["after"] < fsyncs["before"]
    assert one["candidate"]["at_risk"]
    assert one["sql"].startswith(f"SET GLOBAL {FLUSH} = ")


@pytest.mark.whole
async def test_interrupted_it_tells_what_it_has_and_is_resumed(any_tables: PrivateServer, home: Path) -> None:
    before = await variables(any_tables.target)
    env = {"TUIBENCH_HOME": str(home)}
    options = ("--only=innodb_io_capacity,innodb_flush_neighbors", "--budget=10m", "--tolerance=0.1")
    with started("tune", *LOAD, *options, target=any_tables.target, env=env) as process:
        log = await blocks_written(home, 2)
        process.send_signal(signal.SIGINT)
        done = finished(process)
    assert done.code == 130, done.err
    assert "It ended early: --resume continues it." in done.out
    assert await variables(any_tables.target) == before
    blocks = len(log.read_bytes().splitlines()) - 1
    with started(
        "tune", *LOAD, *options, f"--resume={log.parent.name}", target=any_tables.target, env=env
    ) as process:
        await blocks_written(home, blocks + 1, but=log)
        process.send_signal(signal.SIGINT)
        done = finished(process)
    assert done.code == 130, done.err
    assert await variables(any_tables.target) == before


@pytest.mark.one_flavour
async def test_after_kill_9_in_the_middle_every_setting_is_as_before(
    tables: PrivateServer, home: Path
) -> None:
    before = await variables(tables.target)
    with started(
        "tune",
        *LOAD,
        ONLY,
        "--allow-risk",
        "--budget=10m",
        "--tolerance=0.1",
        target=tables.target,
        env={"TUIBENCH_HOME": str(home)},
    ) as process:
        await blocks_written(home, 1)
        assert await eventually(lambda: differs(tables.target, before))
        process.kill()

    async def is_restored() -> bool:
        return not await differs(tables.target, before)

    assert await eventually(is_restored)


async def differs(target: Target, before: dict[str, str]) -> bool:
    return await variables(target) != before


async def blocks_written(home: Path, count: int, *, but: Path | None = None) -> Path:
    """Waits until a log has so many blocks; the log."""
    found: list[Path] = []

    async def is_written() -> bool:
        found[:] = [
            path
            for path in home.glob("**/tune.jsonl")
            if path != but and len(path.read_bytes().splitlines()) > count
        ]
        return bool(found)

    assert await eventually(is_written, DEADLINE_SECONDS)
    return found[0]


def test_bad_input_is_refused_before_anything_is_changed(any_tables: PrivateServer, home: Path) -> None:
    for option, words in (
        ("--budget=5", "--budget takes a duration"),
        ("--budget=1s", "--budget"),
        ("--slo=errors<1%", "windows measure tps and p95"),
        ("--resume=nothing", "there is no"),
    ):
        done = tune(any_tables, home, option)
        assert done.code == 2, (option, done.err)
        assert words in done.err
        assert "Traceback" not in done.err
        assert done.out == ""


@pytest.mark.whole
async def test_a_value_that_loses_updates_is_disqualified(database: Target, home: Path) -> None:
    """At SERIALIZABLE no update is lost, and REPEATABLE READ makes the load faster, but it loses some."""
    async with sbtest.connected(database) as control:
        await prepare_tables(database, load_program("anomalies"))
        names = "SHOW GLOBAL VARIABLES WHERE variable_name IN ('transaction_isolation', 'tx_isolation')"
        (name, _), *_ = await control.query(names)
        async with sbtest.set_global(control, str(name), "'SERIALIZABLE'"):
            with started(
                "tune", "anomalies", "--threads=8", "--warmup-time=1", "--window=1", "--allow-risk",
                "--only=transaction_isolation", *SHORT, target=database, env={"TUIBENCH_HOME": str(home)},
            ) as process:  # fmt: skip
                done = finished(process, DEADLINE_SECONDS)
    assert done.code == 0, done.err
    found = check_valid("tune", done.out)
    assert found["results"], done.out
    for one in found["results"]:
        assert one["misses"] == "no further anomalies", one
    assert found["winner"] == []
