"""Crashes of a private server under load, one after the other: kill it, start it again, compare.

Before each crash, the server is restarted with the settings as options of its command line, so that they also
apply after the crash. The load runs on the asyncio engine in this process, because its connections keep the
ledger (`load/commit_ledger.py`). The server is killed at a random time within a second; otherwise, what is
flushed once per second would always have the same age. `crash_under_load` is one crash, also that of a
session (`features/crash/experiment.py`).
"""

import asyncio
import ctypes
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Self, TypeVar

from msgspec.structs import replace

from tuibench.base.clock import NS_PER_SECOND, SystemClock
from tuibench.base.errors import RunError, UsageError
from tuibench.load.asyncio_engine import AsyncioEngine
from tuibench.load.commit_ledger import (
    LEDGER_COLUMNS,
    LEDGER_STATEMENT,
    LEDGER_TABLE,
    CommitLedger,
    ImpatientClock,
    Key,
    first_after,
    judge_commits,
    ledger_connector,
    logged_transactions,
    rate_between,
    recovered_at,
)
from tuibench.load.messages import StartLoad, execution_options
from tuibench.model.findings import BinlogAgreement, Crash, CrashReport
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo, Target
from tuibench.model.sweep import SweepVariant
from tuibench.model.tick import RESPONSE, SERVICE, STATEMENT, Histogram, fold_histograms
from tuibench.mysql.connection import Connection, connect
from tuibench.mysql.info import server_info
from tuibench.servers.process import DirectoryLayout, default_base
from tuibench.servers.server import PrivateServer
from tuibench.tuning import catalogue
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import Program

PROGRAMS = ("mkfs.ext4", "mount", "umount", "sync")
DISK_BYTES = 4 << 30
"""Size of the file system, whose file is sparse."""

STOP_SECONDS = 0.05
"""The time in which SIGSTOP stops all threads of a process."""

UNMOUNT_ATTEMPTS = 200

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x00020000, 16384, 1 << 18
FS_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2


def check_possible() -> None:
    """Raises UsageError if a loss of power cannot be simulated here, with what is missing."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if sys.platform != "linux":
        missing.append("Linux")
    elif os.geteuid() != 0:
        missing.append("the right to mount (root)")
    elif not Path("/dev/loop-control").exists():
        missing.append("loop devices (/dev/loop-control)")
    if missing:
        raise UsageError(
            f"a loss of power cannot be simulated here; missing: {', '.join(missing)}",
            "without --power the process is killed",
        )


class Disk:
    """A mounted file system whose loss of power can be simulated; `root` is its mount point.

    It is an ext4 file system in a file behind a loop device, to which the server's data is moved. A loss of
    power consists of these steps:

    1. The server is stopped (SIGSTOP).
    2. FS_IOC_SHUTDOWN, made for tests of file systems, cuts the file system off its disk: data that was not
       synced never reaches the disk, and the journal is not written.
    3. The server is killed; the file system is unmounted and mounted again, which replays its journal.

    The simulated disk keeps what it was given. A real disk that acknowledges a flush too early loses more.

    The mount is in a mount namespace of this process, and the file has no name. Both therefore vanish with
    the last process that uses them; after kill -9 of the command, only the empty directory remains.
    """

    def __init__(self, root: Path, device: str) -> None:
        self.root = root
        self._device = device

    @classmethod
    @contextmanager
    def mounted(cls) -> Iterator[Self]:
        """Create and mount it in a new mount namespace, for this process and those that it starts afterwards.

        Raises RunError if the system refuses that.
        """
        check_possible()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
            raise RunError(f"cannot create a mount namespace: {os.strerror(ctypes.get_errno())}")
        root = Path(tempfile.mkdtemp(prefix="tuibench-disk-", dir=default_base()))
        try:
            with tempfile.NamedTemporaryFile(dir=root.parent) as file:
                file.truncate(DISK_BYTES)
                _run(["mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0", file.name])
                _run(["mount", "-o", "loop", file.name, str(root)])
            disk = cls(root, _device_of(root))
            try:
                yield disk
            finally:
                if root.is_mount():
                    _run(["umount", "-l", str(root)])
        finally:
            root.rmdir()

    async def take_data(self, server: PrivateServer) -> None:
        """Move the data of a server to this disk, and sync it. The server is restarted."""
        data = DirectoryLayout(server.directory).data
        await server.kill()
        await asyncio.to_thread(shutil.move, data, self.root)
        data.symlink_to(self.root / data.name)
        await self.sync()
        await server.start_again()

    async def sync(self) -> None:
        """Write everything to the simulated disk."""
        await asyncio.to_thread(_run, ["sync", "--file-system", str(self.root)])

    async def cut_power(self, server: PrivateServer) -> None:
        """Lose the data that the server has not synced, and kill the server.

        The server is stopped first, because a server without power neither acknowledges nor refuses commits.
        """
        os.kill(server.pid, signal.SIGSTOP)
        await asyncio.sleep(STOP_SECONDS)
        await asyncio.to_thread(self._shut_down)
        await server.kill()
        await asyncio.to_thread(self._mount_again)

    def _shut_down(self) -> None:
        """Cut the file system off: nothing reaches the disk any more, and every access fails."""
        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(descriptor)

    def _mount_again(self) -> None:
        """Mount the file system again with the data on the disk; no process may have a file of it open."""
        holder = os.open(self._device, os.O_RDWR)
        try:
            self._unmount()
            _run(["mount", self._device, str(self.root)])
        finally:
            os.close(holder)

    def _unmount(self) -> None:
        """Unmount, repeatedly if necessary: the kernel may release the files of a killed process late."""
        for left in range(UNMOUNT_ATTEMPTS - 1, -1, -1):
            try:
                _run(["umount", str(self.root)])
            except RunError:
                if not left:
                    raise
                time.sleep(STOP_SECONDS)
            else:
                return


def _device_of(root: Path) -> str:
    return next(
        line.split()[0]
        for line in Path("/proc/self/mounts").read_text().splitlines()
        if line.split()[1] == str(root)
    )


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunError(f"{command[0]} failed: {done.stderr.strip() or done.returncode}")


RECOVERY_SECONDS = 60.0
"""Maximum wait for a recovery to 90 % of the throughput."""

LEAST_SECONDS_AFTER = 2.0
POLL_SECONDS = 0.1
GRACE_SECONDS = 5.0

KEEP_BINARY_LOGS = "--loose-binlog-expire-logs-seconds=0"
"""Prevents the removal of binary logs: the default of private servers is one minute."""

SHOWN = ("innodb_flush_log_at_trx_commit", "innodb_flush_log_at_timeout", "log_bin", "sync_binlog")
"""Variables that determine what a crash loses."""

LABELS = {"innodb_flush_log_at_trx_commit": "flush_log", "sync_binlog": "sync_binlog"}
"""Variables that a session shows with a crash, with their short names."""


T = TypeVar("T")


def crash_order(variants: Sequence[T], repeats: int) -> Iterator[tuple[T, int]]:
    """Each variant with the number of its crash, from 1. The variants take turns, in reverse order in every
    second round.
    """
    for repeat in range(1, repeats + 1):
        for variant in variants if repeat % 2 else reversed(variants):
            yield variant, repeat


def start_options(variant: SweepVariant, server: ServerInfo) -> tuple[str, ...]:
    """The settings as options of the server's command line.

    Raises UsageError for a setting or a value that the server does not have.
    """
    settings = ((catalogue.find_setting(name), text) for name, text in variant.settings.items())
    own = (catalogue.start_option(setting, server, text)[0] for setting, text in settings)
    return (KEEP_BINARY_LOGS, *own)


class CrashRunner:
    """Crashes a private server with the tables of the program, `repeats` times with each variant.

    `program` is one of `with_ledger`. With a `disk`, which contains the server's data, a crash is a loss of
    power of this disk.
    """

    def __init__(
        self,
        server: PrivateServer,
        plan: RunPlan,
        program: Program,
        variants: Sequence[SweepVariant],
        repeats: int,
        disk: Disk | None = None,
    ) -> None:
        self._server = server
        self._disk = disk
        self._plan = plan
        self._program = program
        self._order = list(crash_order(variants, repeats))

    @property
    def planned(self) -> int:
        return len(self._order)

    async def crashes(self) -> AsyncIterator[CrashReport]:
        """Crash the server; yields the report so far after each crash.

        Raises UsageError before the first crash for a setting that the server does not have, RunError if the
        load commits nothing.
        """
        async with connected(self._server.target) as connection:
            info = await server_info(connection)
        options = {variant.name: start_options(variant, info) for variant, _ in self._order}
        done: list[Crash] = []
        for variant, repeat in self._order:
            done.append(await self._crash(variant, repeat, options[variant.name]))
            yield CrashReport(
                server=f"{info.flavour} {info.version_text}",
                profile=self._program.profile,
                data=build_data_set(self._program).describe(),
                threads=self._plan.threads,
                seconds=self._plan.seconds or 0.0,
                limited=self._server.limited,
                seed=self._plan.seed,
                is_power_loss=self._disk is not None,
                planned=self.planned,
                crashes=tuple(done),
            )

    async def _crash(self, variant: SweepVariant, repeat: int, options: Sequence[str]) -> Crash:
        await self._server.restart(options)
        seed = self._plan.seed + repeat
        crash = await crash_under_load(
            EngineLoad(self._plan, self._program, self._server.target, seed),
            partial(self._disk.cut_power, self._server) if self._disk else self._server.kill,
            partial(self._server.start_again, options),
            self._server.target,
            warmup_seconds=self._plan.warmup_seconds,
            seconds=(self._plan.seconds or 0.0) + Random(f"{seed}:{variant.name}").random(),
            names=tuple(variant.settings),
        )
        return replace(crash, setting=variant.name, repeat=repeat)


class LedgerLoad(ABC):
    """A load whose connections keep a ledger between `begin` and `end`; afterwards the ledger is complete."""

    def __init__(self) -> None:
        self.ledger = CommitLedger()
        self.hists: dict[str, Histogram] = {}

    @abstractmethod
    async def begin(self) -> None: ...

    @abstractmethod
    async def read(self) -> None:
        """Update ledger and latencies. Raises RunError if the load has failed."""

    @abstractmethod
    async def end(self) -> None: ...

    @property
    def ledger_share(self) -> float:
        """The share (0 to 1) of the ledger's INSERT in the time of the transactions."""
        hists = self.hists
        statement, whole = hists.get(STATEMENT + LEDGER_STATEMENT), hists.get(SERVICE) or hists.get(RESPONSE)
        return statement.sum_us / whole.sum_us if statement and whole and whole.sum_us else 0.0


class EngineLoad(LedgerLoad):
    """A load in this process."""

    def __init__(self, plan: RunPlan, program: Program, target: Target, seed: int) -> None:
        super().__init__()
        self.target = target
        """Connections that are opened from now on go to this server."""
        self._plan = plan
        clock = ImpatientClock()
        connect_ledger = ledger_connector(self.ledger, clock)
        self._engine = AsyncioEngine(
            StartLoad(
                worker=0,
                workers=1,
                target=target,
                program=program,
                seed=seed,
                execution=execution_options(plan),
                arrival=plan.arrival,
                limit=None,
            ),
            connect=lambda _: connect_ledger(self.target),
            clock=clock,
        )

    async def begin(self) -> None:
        if self._plan.rate:
            self._engine.set_rate(self._plan.rate)
        self._engine.set_connections(range(self._plan.threads))

    async def read(self) -> None:
        report = self._engine.report()
        fold_histograms(self.hists, report.hists)
        if report.failure:
            raise report.failure.error

    async def end(self) -> None:
        await self._engine.stop(GRACE_SECONDS)


async def crash_under_load(
    load: LedgerLoad,
    crash: Callable[[], Awaitable[None]],
    start_again: Callable[[], Awaitable[None]],
    target: Target,
    *,
    warmup_seconds: float,
    seconds: float,
    names: Sequence[str] = (),
    said: Callable[[], object] = lambda: None,
) -> Crash:
    """Begin the load, crash the server after the measured `seconds`, start it again, and compare.

    `names` are variables to report in addition to `SHOWN`. `said` is called directly before the crash. Raises
    RunError if the load commits nothing.
    """
    now_ns = SystemClock.now_ns
    first_log, values = await _prepare_ledger(target, [*SHOWN, *names])
    await load.begin()
    try:
        await asyncio.sleep(warmup_seconds)
        begun_ns = now_ns()
        await asyncio.sleep(seconds)
        await load.read()
        crashed_ns = now_ns()
        share = load.ledger_share
        tps = rate_between(load.ledger.acknowledged.values(), begun_ns, crashed_ns)
        if not tps:
            raise RunError("no transaction that writes was committed before the crash")
        said()
        crashed_ns = now_ns()
        await crash()
        await start_again()
        back_ns = now_ns()
        await wait_for_recovery(load, back_ns, tps)
    finally:
        await load.end()
    present = await read_ledger(target)
    binlog, note = await _compare_binlog(target, first_log, present)
    async with connected(target) as connection:
        await connection.execute(f"DROP TABLE {LEDGER_TABLE}")
    acknowledged_ns = sorted(load.ledger.acknowledged.values())

    def seconds_until(at_ns: int | None) -> float | None:
        return None if at_ns is None else (at_ns - crashed_ns) / NS_PER_SECOND

    return Crash(
        setting=", ".join(f"{label}={values[name]}" for name, label in LABELS.items() if name in values),
        repeat=1,
        values=values,
        tps=tps,
        ledger_share=share,
        commits=judge_commits(load.ledger, present, crashed_ns, back_ns),
        accepts_seconds=(back_ns - crashed_ns) / NS_PER_SECOND,
        first_commit_seconds=seconds_until(first_after(acknowledged_ns, back_ns)),
        recovered_seconds=seconds_until(recovered_at(acknowledged_ns, back_ns, tps)),
        binlog=binlog,
        binlog_note=note,
    )


async def _prepare_ledger(target: Target, names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Create an empty ledger; returns the current file of the binary log, empty without one, and the values
    of the variables.
    """
    async with connected(target) as connection:
        values = await create_ledger(connection, names)
        if values.get("log_bin") != "ON":
            return "", values
        await connection.execute("FLUSH BINARY LOGS")
        logs = await _binary_logs(connection)
        await connection.execute(f"PURGE BINARY LOGS TO {connection.quote(logs[-1].name)}")
        return logs[-1].name, values


async def create_ledger(connection: Connection, names: Sequence[str]) -> dict[str, str]:
    """Create an empty ledger; returns the values of the variables that the server has."""
    await connection.execute(f"DROP TABLE IF EXISTS {LEDGER_TABLE}")
    await connection.execute(
        f"CREATE TABLE {LEDGER_TABLE} ({LEDGER_COLUMNS}, PRIMARY KEY (connection, kind, number))"
        " ENGINE=InnoDB"
    )
    wanted = ", ".join(connection.quote(name) for name in dict.fromkeys(names))
    rows = await connection.query(f"SHOW GLOBAL VARIABLES WHERE variable_name IN ({wanted})")
    return {str(name): str(value) for name, value in rows}


async def wait_for_recovery(load: LedgerLoad, back_ns: int, tps: float) -> None:
    """Wait until the throughput has recovered, the time has run out, or the load has failed."""
    while (seconds := (SystemClock.now_ns() - back_ns) / NS_PER_SECOND) < RECOVERY_SECONDS:
        await asyncio.sleep(POLL_SECONDS)
        await load.read()
        acknowledged_ns = sorted(load.ledger.acknowledged.values())
        if recovered_at(acknowledged_ns, back_ns, tps) is not None and seconds >= LEAST_SECONDS_AFTER:
            return


async def read_ledger(target: Target) -> set[Key]:
    """Read the keys of the ledger's rows."""
    async with connected(target) as connection:
        found: set[Key] = set()
        numbers = f"SELECT DISTINCT connection FROM {LEDGER_TABLE}"  # noqa: S608
        for (number,) in await connection.query(numbers):
            sql = f"SELECT * FROM {LEDGER_TABLE} WHERE connection = {int(number)}"  # noqa: S608
            rows = await connection.query(sql)
            found.update((int(key), int(kind), int(serial)) for key, kind, serial in rows)
        return found


async def _compare_binlog(
    target: Target, first: str, present: set[Key]
) -> tuple[BinlogAgreement | None, str]:
    """The agreement of the binary log, from file `first` on, with the tables; or None and the reason."""
    if not first:
        return None, "off"
    async with connected(target) as connection:
        files = await _binary_logs(connection)
    own = [path for path in files if path.name >= first]
    try:
        logged = await asyncio.to_thread(lambda: logged_transactions(path.read_bytes() for path in own))
    except RunError as error:
        return None, error.message
    return BinlogAgreement.of(logged, present), ""


@asynccontextmanager
async def connected(target: Target) -> AsyncIterator[Connection]:
    connection = await connect(target)
    try:
        yield connection
    finally:
        await connection.close()


async def _binary_logs(connection: Connection) -> list[Path]:
    """The files of the binary log in order."""
    ((base,),) = await connection.query("SELECT @@log_bin_basename")
    return [Path(str(base)).parent / str(row[0]) for row in await connection.query("SHOW BINARY LOGS")]
