"""Worker process: executes the session's messages from a socketpair, one load after another.

It ends when the session closes the socket, or when the lease of its load expires (`messages.Lease`).

Scheduling policy: in a closed loop the next statement is sent when a response is read. On a busy host, a
worker that is woken for each response preempts the server thread that would write the next one. With Linux's
batch policy (sched(7)) that thread completes its time slice first, and the worker finds several responses:
fewer wake-ups, and a fifth less CPU time per query. With a rate, waking in time is more important, and the
normal policy is used.
"""

import asyncio
import gc
import os
import resource
import signal
import socket
import sys
from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from tuibench.base import sanitize
from tuibench.base.clock import SystemClock
from tuibench.load import messages
from tuibench.load.engine import Emit
from tuibench.load.messages import Lease, Reassign
from tuibench.model.cluster import GRACE_SECONDS
from tuibench.mysql.login import first_logins

if TYPE_CHECKING:
    from tuibench.load.asyncio_engine import AsyncioEngine
    from tuibench.load.commit_ledger import CommitLedger
    from tuibench.load.native_engine import NativeEngine

if sys.platform == "linux":

    def use_batch_scheduling(wanted: bool) -> None:
        """Sets the batch policy or the normal one; keeps any other policy that the user has chosen.

        Errors are ignored: a system that refuses it loses speed, not correctness.
        """
        ordinary, batch = os.SCHED_OTHER, os.SCHED_BATCH
        try:
            if os.sched_getscheduler(0) in (ordinary, batch):
                os.sched_setscheduler(0, batch if wanted else ordinary, os.sched_param(0))
        except OSError:
            return

else:

    def use_batch_scheduling(wanted: bool) -> None:
        """Only Linux has this policy."""


FALLBACK_OPEN_FILES = (1 << 16, 10_240)
"""Open files to request if the system refuses its hard limit, as macOS does; each connection needs one."""

GC_THRESHOLD = 50_000
"""Young objects before a garbage collection: reference counts free rows and futures, cycles are rare.
Objects created by imports are permanent and frozen."""


async def _next_message(channel: messages.WorkerChannel, lease: Lease) -> messages.ToWorker | None:
    """The next message; None once the connection is closed or the lease has expired."""
    try:
        async with asyncio.timeout(lease.seconds_left(SystemClock.now_ns())):
            return await channel.receive()
    except TimeoutError:
        lease.end()
        return None


def create_engine(
    begin: messages.StartLoad, emit: Emit, ledger: "CommitLedger | None" = None
) -> "AsyncioEngine | NativeEngine":
    """The engine of a load; only its own module is imported."""
    first_logins().learn(begin.first_logins)
    if begin.is_native and ledger is None:
        from tuibench.load.native_engine import NativeEngine

        return NativeEngine(begin, emit=emit)
    from tuibench.load.asyncio_engine import AsyncioEngine

    if ledger is not None:
        from tuibench.load.commit_ledger import ImpatientClock, ledger_connector

        clock = ImpatientClock()
        return AsyncioEngine(begin, emit=emit, connect=ledger_connector(ledger, clock), clock=clock)
    return AsyncioEngine(begin, emit=emit)


def _ledger() -> "CommitLedger":
    from tuibench.load.commit_ledger import CommitLedger

    return CommitLedger()


async def _run_load(begin: messages.StartLoad, channel: messages.WorkerChannel, lease: Lease) -> None:
    """Executes messages until FinishLoad, the end of the connection, or the end of the lease."""
    ledger = _ledger() if begin.keeps_ledger else None
    engine = create_engine(begin, channel.send, ledger)
    gc.freeze()  # the module of the engine is permanent, too

    def report() -> messages.WorkerReport:
        found = engine.report()
        return found if ledger is None else replace(found, commits=ledger.take())

    use_batch_scheduling(not begin.is_native)
    while (message := await _next_message(channel, lease)) is not None:
        match message:
            case messages.Beat():
                lease.renew(SystemClock.now_ns())
            case messages.Adjust():
                if message.connections is not None:
                    engine.set_connections(message.connections)
                messages.adjust(engine, message)
                if message.rate is not None and not begin.is_native:
                    use_batch_scheduling(message.rate == 0)
            case messages.ResetLoadStats(limit=limit):
                engine.reset_stats(limit)
            case Reassign():
                engine.take_over(message)
            case messages.RequestReport(checkpoint=checkpoint):
                channel.send(report())
                if checkpoint:
                    engine.checkpoint()
            case messages.RequestConnectionIds():
                channel.send(messages.ConnectionIds(engine.connection_ids()))
            case messages.ExpectKill(connection_id=id):
                engine.expect_kill(id)
            case messages.FinishLoad(grace_seconds=grace):
                await engine.stop(grace)
                channel.send(report())
                return
            case messages.StartLoad():
                raise AssertionError("a load is finished before the next one begins")
            case _:
                assert_never(message)
    await engine.stop(GRACE_SECONDS if lease.is_over(SystemClock.now_ns()) else 0)


async def serve_worker(descriptor: int) -> None:
    """Runs a load for each StartLoad until the session closes the socket. Messages to a load that has already
    ended have no effect.
    """
    ours = socket.socket(fileno=descriptor)
    channel: messages.WorkerChannel = await messages.MessageChannel.over(ours, messages.ToWorker)
    lease = Lease(0, SystemClock.now_ns())
    while not lease.is_over(SystemClock.now_ns()) and (message := await channel.receive()) is not None:
        match message:
            case messages.StartLoad():
                lease = Lease(message.lease_seconds, SystemClock.now_ns())
                await _run_load(message, channel, lease)
            case messages.RequestConnectionIds():
                channel.send(messages.ConnectionIds(()))
            case _:
                pass
    await channel.close()


def raise_open_file_limit() -> None:
    """Raises the soft limit of open files, often 1024, to the allowed maximum."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, *(number for number in FALLBACK_OPEN_FILES if number > soft)):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):
            continue
        return


def run(descriptor: int) -> None:
    """Serves a session until it closes its socket; the descriptor is the inherited end of the socketpair."""
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    raise_open_file_limit()
    gc.set_threshold(GC_THRESHOLD)
    gc.freeze()
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve_worker(descriptor))
    else:
        uvloop.run(serve_worker(descriptor))


def main() -> None:
    """`python -m tuibench.load.worker FD`."""
    sanitize.protect_streams()
    run(int(sys.argv[1]))


if __name__ == "__main__":
    main()
