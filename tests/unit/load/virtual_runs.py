"""Whole runs in make-believe time, on a server whose every statement takes its time."""

from collections.abc import Awaitable, Callable

from tests.fakes import FakeConnection, FakeServer
from tests.unit.load.driving import Drive, balanced
from tests.unit.load.programs import SINGLE, begin
from tests.virtual import VirtualClock, in_no_time
from tuibench.base.errors import ConnectionLostError, ServerUnreachableError
from tuibench.load.messages import StartLoad
from tuibench.model.callers import CallerPolicy
from tuibench.model.plan import Arrival
from tuibench.model.server import Target
from tuibench.model.tick import Histogram
from tuibench.mysql.connection import Connection

RATE = 100.0
SERVICE_SECONDS = 0.002

Script = Callable[["Run"], Awaitable[None]]


class TimedServer(FakeServer):
    """Every statement takes its time. During a stall nothing is answered, during an outage all is lost."""

    def __init__(
        self,
        clock: VirtualClock,
        service_seconds: float = SERVICE_SECONDS,
        *,
        stall: tuple[float, float] = (0, 0),
        outage: tuple[float, float] = (0, 0),
    ) -> None:
        super().__init__()
        self.started: list[float] = []
        self._clock = clock
        self._service_seconds = service_seconds
        self._stall = stall
        self._outage = outage

    async def connect(self, target: Target) -> Connection:
        if self._is_away():
            raise ServerUnreachableError("cannot reach a server at db:3306", "is it running?")
        return await super().connect(target)

    async def answer(self, connection: FakeConnection, sql: str) -> int:
        self.started.append(self._clock.time())
        await self._clock.sleep(self._service_seconds)
        begun, over = self._stall
        if begun <= self._clock.time() < over:
            await self._clock.sleep(over - self._clock.time())
        if self._is_away():
            connection.break_off()
            raise ConnectionLostError(2013, "connection lost")
        return await super().answer(connection, sql)

    def _is_away(self) -> bool:
        begun, over = self._outage
        return begun <= self._clock.time() < over


class Run(Drive[VirtualClock]):
    """A drive in virtual time."""

    server: TimedServer

    async def wait_until(self, second: float) -> None:
        await self.clock.sleep(second - self.clock.now_ns() / 1e9)

    def started_in(self, seconds: float, since: float) -> int:
        """How many statements the server got in a span of time."""
        return sum(since <= at < since + seconds for at in self.server.started)


def ran(
    script: Script,
    how: StartLoad | None = None,
    *,
    connections: int = 8,
    rate: float = RATE,
    service_seconds: float = SERVICE_SECONDS,
    stall: tuple[float, float] = (0, 0),
    outage: tuple[float, float] = (0, 0),
    policy: CallerPolicy | None = None,
) -> Run:
    """The run after a script has been played on it, still going on."""

    async def scenario(clock: VirtualClock) -> Run:
        server = TimedServer(clock, service_seconds, stall=stall, outage=outage)
        run = Run(server, how or begin(SINGLE, arrival=Arrival.CONSTANT), clock)
        run.engine.set_callers(policy or CallerPolicy())
        run.engine.set_rate(rate)
        run.engine.set_connections(range(connections))
        await script(run)
        assert balanced(run.counters)
        await run.engine.stop(10)
        run.last = run.counters
        assert balanced(run.last)
        return run

    return in_no_time(scenario)


async def for_ten_seconds(run: Run) -> None:
    await run.wait_until(10)


def p_ms(histogram: Histogram, percentile: float) -> float:
    return histogram.percentiles((percentile,))[0] / 1000
