"""Loads of which the cause is known: the account of time names it first, and its parts add up.

One server of each flavour, with a buffer pool that is smaller than the larger tables, and a disk that can be
made slow (`slow_disk.c`).
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.faults.proxy import Proxy
from tests.integration.support import sbtest
from tests.integration.support.session_process import FULL_SPEED_MS, session_spec
from tests.integration.support.shared import Starter, Templates
from tuibench.demo.binaries import Binary
from tuibench.demo.server import PrivateServer
from tuibench.load.tables import prepare_tables
from tuibench.model.server import Flavour, Target
from tuibench.model.tick import Sample, Tick, total_tick
from tuibench.session.load_run import LoadRun
from tuibench.session.spec import SessionSpec
from tuibench.waits.classes import STATES, WaitClass

MIB = 1 << 20
OPTIONS = (
    "--innodb-buffer-pool-size=8M",
    "--loose-innodb-buffer-pool-chunk-size=1M",
    "--max-connections=200",
)
SECONDS = 3.0
LARGE: dict[str, Any] = {"tables": 2, "table_size": 40_000}
ONE_STATEMENT = """
name = "one-statement"
summary = "one statement again and again"
data_set = "sbtest"

[[transactions]]
name = "one"
autocommit = true
think_seconds = {think}

[[transactions.steps]]
statements = [{{ name = "one", sql = "{sql}" }}]
"""


class Truths:
    """The server, and how to make it slow."""

    def __init__(self, server: PrivateServer, slow: Path) -> None:
        self.server = server
        self.slow = slow

    @property
    def flavour(self) -> Flavour:
        return self.server.binary.flavour

    def spec(
        self,
        profile: str = "oltp_read_write",
        *,
        threads: int = 8,
        sql: str = "",
        think: float = 0.0,
        **options: int,
    ) -> SessionSpec:
        spec = session_spec(
            self.server.target,
            profile,
            threads=threads,
            interval_seconds=0.5,
            delay_ms=FULL_SPEED_MS,
            **options,
        )
        plan = replace(spec.plan, seconds=SECONDS)
        if sql:
            text = ONE_STATEMENT.format(sql=sql, think=think)
            plan = replace(plan, profile="one-statement", profile_text=text)
        return replace(spec, plan=plan)

    @asynccontextmanager
    async def slow_files(self, kind: str) -> AsyncIterator[None]:
        (self.slow / kind).touch()
        yield
        (self.slow / kind).unlink()

    @asynccontextmanager
    async def table_locked(self) -> AsyncIterator[None]:
        """A lock that another session holds now and then, for longer than a tick."""

        over = asyncio.Event()

        async def hold() -> None:
            async with sbtest.connected(self.server.target) as other:
                while not over.is_set():
                    await other.execute("LOCK TABLES sbtest1 WRITE, sbtest2 WRITE")
                    await asyncio.sleep(0.6)
                    await other.execute("UNLOCK TABLES")
                    await asyncio.sleep(0.05)

        holding = asyncio.create_task(hold())
        yield
        over.set()
        await holding

    @asynccontextmanager
    async def one_core(self) -> AsyncIterator[None]:
        """The server has one core, and the client the others."""
        tasks, cores = Path(f"/proc/{self.server.pid}/task"), os.sched_getaffinity(self.server.pid)
        for chosen in ({min(cores)}, cores):
            for task in tasks.iterdir():
                with suppress(ProcessLookupError):
                    os.sched_setaffinity(int(task.name), chosen)
            if chosen != cores:
                yield

    @asynccontextmanager
    async def setting(self, name: str, value: str) -> AsyncIterator[None]:
        async with sbtest.connected(self.server.target) as other, sbtest.set_global(other, name, value):
            yield


@pytest.fixture(scope="module")
def slow_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that makes the disk slow, with the library in it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) here, for a disk that can be made slow")
    folder = tmp_path_factory.mktemp("slow-disk")
    source = Path(__file__).with_name("slow_disk.c")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", folder / "slow_disk.so", source, "-ldl"], check=True
    )
    return folder


@pytest.fixture(scope="module")
def truths(binary: Binary, templates: Templates, slow_disk: Path) -> Iterator[Truths]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOW_DISK", str(slow_disk))
        patch.setenv("LD_PRELOAD", str(slow_disk / "slow_disk.so"))
        server = asyncio.run(Starter(templates)(binary, options=OPTIONS))
    try:
        asyncio.run(_prepare(server.target))
        yield Truths(server, slow_disk)
    finally:
        asyncio.run(server.stop())


async def _prepare(target: Target) -> None:
    async with sbtest.connected(target) as connection:
        await connection.execute("CREATE DATABASE large")
    await prepare_tables(target, sbtest.program(table_size=500))
    await prepare_tables(sbtest.in_database(target, "large"), sbtest.program("oltp_point_select", **LARGE))


async def account(spec: SessionSpec, during: AbstractAsyncContextManager[object]) -> Tick:
    """The whole account of a run; the first tick is left out."""
    ticks: list[Tick] = []
    async with LoadRun(spec) as run:
        run.watcher.bus.listeners.append(
            lambda message: ticks.append(message.tick) if isinstance(message, Sample) else None
        )
        async with during:
            await run.run()
    return total_tick(ticks[1:])


def shares(whole: Tick) -> dict[WaitClass, float]:
    """The part of each class in connections × seconds, the largest first; they add up."""
    everything = whole.sums["time.connections_us"]
    found = {wait: whole.sums[wait.key] / everything for wait in WaitClass}
    assert sum(found.values()) == pytest.approx(1.0, abs=0.05)
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def first(whole: Tick) -> WaitClass:
    return next(iter(shares(whole)))


Cause = Callable[[Truths], tuple[SessionSpec, AbstractAsyncContextManager[object]]]
"""A load, and what is done to the server during it."""


def _small_pool(truths: Truths) -> tuple[SessionSpec, AbstractAsyncContextManager[object]]:
    spec = truths.spec("oltp_point_select", **LARGE)
    return replace(spec, target=sbtest.in_database(spec.target, "large")), truths.slow_files("pages")


CAUSES: dict[WaitClass, Cause] = {
    WaitClass.ROW_LOCK: lambda truths: (
        truths.spec(sql="UPDATE sbtest1 SET k=k+1 WHERE id=1", threads=16), truths.slow_files("redo")
    ),
    WaitClass.METADATA_LOCK: lambda truths: (truths.spec(), truths.table_locked()),
    WaitClass.COMMIT: lambda truths: (truths.spec("oltp_update_non_index"), truths.slow_files("redo")),
    WaitClass.PAGE_READ: _small_pool,
    WaitClass.SLEEP: lambda truths: (truths.spec(sql="SELECT SLEEP(0.04)"), nullcontext()),
    WaitClass.CLIENT: lambda truths: (truths.spec(sql="SELECT 1", think=0.05), nullcontext()),
}  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES)
async def test_a_known_cause_is_named_first(truths: Truths, cause: WaitClass) -> None:
    found = shares(await account(*CAUSES[cause](truths)))
    assert next(iter(found)) is cause, found


async def test_the_limit_of_concurrent_threads_is_admission(truths: Truths) -> None:
    if truths.flavour is Flavour.MARIADB:
        pytest.skip("MariaDB has no innodb_thread_concurrency")
    sql = "SELECT COUNT(*) FROM sbtest1 a JOIN sbtest1 b ON a.c <> b.pad"
    spec = truths.spec(sql=sql, threads=12)
    whole = await account(spec, truths.setting("innodb_thread_concurrency", "1"))
    assert first(whole) is WaitClass.ADMISSION, shares(whole)


async def test_more_connections_than_cores_wait_for_a_processor(truths: Truths) -> None:
    found = shares(await account(truths.spec("oltp_point_select", threads=8), truths.one_core()))
    processor = found.pop(WaitClass.CPU) + found.pop(WaitClass.RUN_QUEUE)
    client = found.pop(WaitClass.CLIENT) + found.pop(WaitClass.ON_THE_WAY)
    assert processor > max(found.values()), (processor, client, found)


async def test_a_queue_before_the_server_is_on_the_way(truths: Truths) -> None:
    proxy = Proxy(truths.server.target)
    proxy.requests_per_second = 200
    async with proxy.listening() as port:
        target = replace(truths.server.target, socket="", host="127.0.0.1", port=port)
        spec = replace(truths.spec("oltp_point_select"), target=target)
        whole = await account(spec, nullcontext())
    assert first(whole) is WaitClass.ON_THE_WAY, shares(whole)


async def test_without_the_threads_of_the_server_most_causes_are_still_named(
    truths: Truths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuibench.session.sampling.Hosts.server_pid", None)
    for cause in (WaitClass.METADATA_LOCK, WaitClass.COMMIT):
        whole = await account(*CAUSES[cause](truths))
        assert first(whole) is cause, shares(whole)
        assert "not told apart" in whole.missing[WaitClass.RUN_QUEUE.key]


async def test_the_servers_know_the_names_of_the_states(truths: Truths) -> None:
    """MySQL lists its states; those of MariaDB are words of its program."""
    if truths.flavour is Flavour.MYSQL:
        async with sbtest.connected(truths.server.target) as connection:
            rows = await connection.query(
                "SELECT LOWER(NAME) FROM performance_schema.setup_instruments WHERE NAME LIKE 'stage/%'"
            )
        known = "\n".join(row[0].rpartition("/")[2] for row in rows)
    else:
        known = Path(f"/proc/{truths.server.pid}/exe").read_bytes().decode("latin-1").lower()
    unknown = [each.name for each in STATES if truths.flavour in each.flavours and each.name not in known]
    assert not unknown
