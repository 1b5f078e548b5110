"""The simulated disk of a private server: each kind of file is as slow as it is told to be, and no other."""

import asyncio
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.support import sbtest
from tests.integration.support.shared import Starter, Templates
from tuibench.base.errors import ServerUnavailableError
from tuibench.base.installation import disk_library
from tuibench.model.hardware import Hardware, parse_hardware
from tuibench.model.server import Flavour
from tuibench.servers.binaries import Binary, inspect_binary
from tuibench.servers.disk import DiskPage, IoCount
from tuibench.servers.process import DirectoryLayout
from tuibench.servers.server import PrivateServer

pytestmark = pytest.mark.skipif(disk_library() is None, reason="the library is built with the native engine")

OPTIONS = ("--innodb-buffer-pool-size=8M", "--loose-innodb-buffer-pool-chunk-size=1M", "--log-bin=my.log")
ROWS = 400
MOST_TIMES = 10
"""A busy machine wakes a thread late; a wrong unit would be a factor of 1000."""

Done = dict[tuple[str, str], IoCount]


class SlowServer:
    """A server with a simulated disk."""

    def __init__(self, server: PrivateServer) -> None:
        self.server = server
        self.page = DiskPage(DirectoryLayout(server.directory).disk_page)

    @property
    def is_mysql(self) -> bool:
        return self.server.binary.flavour is Flavour.MYSQL

    async def done(self, disk: str, *statements: str) -> Done:
        """What the server did for these statements with a disk."""
        async with sbtest.connected(self.server.target) as connection:
            self.page.set(parse_hardware(disk), time.monotonic_ns())
            before = self.page.counts
            for statement in statements:
                await connection.execute(statement)
            after = self.page.counts
            self.page.set(Hardware(), time.monotonic_ns())
        return {each: after[each].since(before[each]) for each in after}


@pytest.fixture(scope="module")
def slow(binary: Binary, templates: Templates) -> Iterator[SlowServer]:
    server = asyncio.run(Starter(templates)(binary, options=OPTIONS, disk=Hardware()))
    try:
        asyncio.run(_prepare(server))
        yield SlowServer(server)
    finally:
        asyncio.run(server.stop())


async def _prepare(server: PrivateServer) -> None:
    async with sbtest.connected(server.target) as connection:
        await connection.execute(
            "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, c CHAR(255)) ENGINE=InnoDB"
        )
        await connection.execute("INSERT INTO t (c) VALUES " + ",".join(["(REPEAT('a', 255))"] * ROWS))
        for _ in range(7):
            await connection.execute("INSERT INTO t (c) SELECT c FROM t")


COMMITS = [f"UPDATE t SET c = REPEAT('{letter}', 255) WHERE id = 1" for letter in "bcde"]
SCAN = "SELECT COUNT(c) FROM t"
SORT = "SELECT c FROM t WHERE id < 9000 ORDER BY c, id LIMIT 4000, 1"
FLUSH = "FLUSH TABLES t FOR EXPORT", "UNLOCK TABLES"
CAUSES: dict[tuple[str, str], tuple[str, ...]] = {
    ("redo", "fsync"): tuple(COMMITS),
    ("redo", "write"): tuple(COMMITS),
    ("binlog", "fsync"): tuple(COMMITS),
    ("binlog", "write"): tuple(COMMITS),
    ("data", "read"): (SCAN,),
    ("data", "write"): (*COMMITS, *FLUSH),
    ("data", "fsync"): (*COMMITS, *FLUSH),
    ("temporary", "write"): ("SET SESSION sort_buffer_size = 32768", SORT),
}


@pytest.mark.parametrize("delay_ms", [0.5, 2.0])
@pytest.mark.parametrize(("kind", "operation"), CAUSES)
async def test_a_kind_of_file_is_slow_and_no_other(
    slow: SlowServer, kind: str, operation: str, delay_ms: float
) -> None:
    statements = CAUSES[kind, operation]
    found = await slow.done(f"{kind}.{operation}={delay_ms}ms", *statements)
    mine = found.pop((kind, operation))
    assert mine.calls > 0
    mean = mine.delayed_ns / mine.calls / 1e6
    assert delay_ms <= mean < MOST_TIMES * delay_ms
    assert not any(other.delayed_ns for other in found.values()), found


async def test_mysql_has_a_doublewrite_buffer_of_its_own(slow: SlowServer) -> None:
    if not slow.is_mysql:
        pytest.skip("MariaDB's is in the system tablespace")
    found = await slow.done("doublewrite.write=2ms", *COMMITS, *FLUSH)
    mine = found["doublewrite", "write"]
    assert mine.calls > 0
    assert mine.delayed_ns >= 2e6 * mine.calls


async def test_a_commit_takes_the_flushes_longer(slow: SlowServer) -> None:
    """Redo log and binary log are flushed one after the other by a commit of the only connection."""
    began = time.monotonic()
    found = await slow.done("fsync=20ms", *COMMITS)
    seconds = time.monotonic() - began
    assert all(found[kind, "fsync"].calls >= len(COMMITS) for kind in ("redo", "binlog"))
    assert seconds >= len(COMMITS) * 2 * 0.020


async def test_the_limit_of_operations_holds(slow: SlowServer) -> None:
    began = time.monotonic()
    found = await slow.done("iops=400", SCAN)
    seconds = time.monotonic() - began
    calls = sum(count.calls for (kind, operation), count in found.items() if operation == "read")
    assert calls > 100
    assert calls <= 400 * seconds + 2


async def test_without_a_lease_the_disk_is_fast(slow: SlowServer) -> None:
    async with sbtest.connected(slow.server.target) as connection:
        slow.page.set(parse_hardware("fsync=2s"), 0)
        before = slow.page.counts["redo", "fsync"]
        await connection.execute(COMMITS[0])
        after = slow.page.counts["redo", "fsync"].since(before)
        slow.page.set(Hardware(), time.monotonic_ns())
    assert after.calls > 0
    assert after.delayed_ns == 0


async def test_a_change_ends_a_sleep_that_has_begun(slow: SlowServer) -> None:
    async with sbtest.connected(slow.server.target) as connection:
        slow.page.set(parse_hardware("fsync=10s"), time.monotonic_ns())
        began, commit = time.monotonic(), asyncio.create_task(connection.execute(COMMITS[1]))
        await asyncio.wait({commit}, timeout=0.2)
        assert not commit.done()
        slow.page.set(Hardware(), time.monotonic_ns())
        await commit
        assert time.monotonic() - began < 8


async def test_a_program_without_a_dynamic_linker_is_refused(
    binary: Binary, templates: Templates, tmp_path: Path
) -> None:
    """As of a program that is linked statically: the variable has no effect."""
    program = tmp_path / "mysqld"
    program.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec {shlex.quote(binary.path)} "$@"\n')
    program.chmod(0o755)
    wrapped = inspect_binary(program)
    if wrapped.flavour is Flavour.MARIADB:
        pytest.skip("MariaDB finds its SQL files beside its program")
    with pytest.raises(ServerUnavailableError, match="loads no library"):
        await PrivateServer.start(wrapped, disk=Hardware(), template=templates.of(binary))


async def test_a_server_without_a_disk_has_no_library(binary: Binary, start: Starter) -> None:
    async with await start(binary) as server:
        mapped = Path(f"/proc/{server.pid}/maps").read_text()
        assert "libtuibench_disk" not in mapped
        assert not DirectoryLayout(server.directory).disk_page.exists()
