"""A worker process: obeys the session over a socketpair, one load after the other, decides nothing, ends when
the session is gone."""

import asyncio
import gc
import resource
import signal
import socket
import sys
from typing import assert_never

from tuibench.load.engine import Engine
from tuibench.load.report import HandOver
from tuibench.load.scheduling import wake_for_several
from tuibench.load.wire import (
    AskConnections,
    Begin,
    Channel,
    Connections,
    Finish,
    Pause,
    Report,
    Resume,
    SetConnections,
    SetDelay,
    SetRate,
    SetSession,
    SetWeights,
    Spare,
    StartOver,
    ToWorker,
    WorkerEnd,
)

ENOUGH_FILES = (1 << 16, 10_240)
"""Open files to ask for where the hard limit itself is refused, as on macOS: one is a connection."""

GC_THRESHOLD = 50_000
"""Young objects before a collection: rows and futures die by reference count, cycles are rare here. What the
modules have made stays for good, and is not looked at again."""


async def obey(channel: WorkerEnd) -> None:
    """Runs a load for each Begin, until the session hangs up."""
    while isinstance(begin := await channel.receive(), Begin):
        await _run(begin, channel)
    await channel.close()


async def _run(begin: Begin, channel: WorkerEnd) -> None:
    """Carries out the session's messages until it says Finish or hangs up."""
    engine = Engine(begin, tell=channel.send)
    wake_for_several(True)
    while (message := await channel.receive()) is not None:
        match message:
            case SetConnections(numbers=numbers):
                engine.set_connections(numbers)
            case SetRate(rate=rate):
                engine.set_rate(rate)
                wake_for_several(rate == 0)
            case SetWeights(weights=weights):
                engine.set_weights(weights)
            case SetDelay(delay_ns=delay_ns):
                engine.set_delay(delay_ns)
            case SetSession(statements=statements):
                engine.set_session(statements)
            case StartOver(limit=limit):
                engine.start_over(limit)
            case HandOver():
                engine.take_over(message)
            case Pause():
                engine.pause()
            case Resume():
                engine.resume()
            case Report(checkpoint=checkpoint):
                channel.send(engine.report())
                if checkpoint:
                    engine.checkpoint()
            case AskConnections():
                channel.send(Connections(engine.connection_ids()))
            case Spare(connection_id=id):
                engine.spare(id)
            case Finish(grace_seconds=grace):
                await engine.stop(grace)
                channel.send(engine.report())
                return
            case Begin():
                raise AssertionError("a load is finished before the next one begins")
            case _:
                assert_never(message)
    await engine.stop(0)


async def serve(descriptor: int) -> None:
    channel: WorkerEnd = await Channel.over(socket.socket(fileno=descriptor), ToWorker)
    await obey(channel)


def allow_many_files() -> None:
    """Raises the soft limit of open files, often 1024, as far as the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, *(number for number in ENOUGH_FILES if number > soft)):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):
            continue
        return


def main() -> None:
    """`python -m tuibench.load.worker FD`: FD is the inherited end of the session's socketpair."""
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    allow_many_files()
    gc.set_threshold(GC_THRESHOLD)
    gc.freeze()
    descriptor = int(sys.argv[1])
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve(descriptor))
    else:
        uvloop.run(serve(descriptor))


if __name__ == "__main__":
    main()
