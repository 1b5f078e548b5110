"""The black box of a session: reads the server all the time, and keeps the time around what went wrong."""

import asyncio
from collections import deque
from functools import partial
from pathlib import Path

import msgspec

from tuibench.base.errors import UsageError
from tuibench.base.units import pluralize
from tuibench.features.blackbox.frames import BlackBox, SampleFigures, write_box
from tuibench.features.blackbox.ring import Encoded, Keeper, Request, Ring
from tuibench.features.blackbox.sampler import BlackBoxSampler, SampledRows, frame_of
from tuibench.metrics.figures import read, throughput
from tuibench.metrics.stalls import conditions_of, purge_share, time_spent
from tuibench.model.event import Event, EventKind, Trouble, TroubleKind
from tuibench.model.message import KeepBlackBox
from tuibench.model.tick import Sample
from tuibench.observe.statements import normalize_sql
from tuibench.session.dispatch import Needs, SteeredSession, handles
from tuibench.session.instrument import Instrument, InstrumentSession

MOST_BOXES = 40
"""The maximum of records of a run."""
MOST_FIGURES = 3_600
FIGURES = (
    "tps", "qps", "p95", "threads_running", "threads_connected", "history_list", "fsyncs_per_second",
    "disk_write_ms", "disk_read_ms", "cpu_total", "cpu_server", "throttled", "lock_waiters",
)  # fmt: skip
"""Figures of each sample that are kept."""


class BlackBoxInstrument(Instrument):
    """Reads until the session ends."""

    @classmethod
    def of(cls, session: InstrumentSession) -> "BlackBoxInstrument | None":
        plan, target = session.spec.plan, session.spec.target
        return None if plan.no_black_box or target.further else cls(session)

    def __init__(self, session: InstrumentSession) -> None:
        self._session = session
        self._sampler = BlackBoxSampler(
            session.spec.target,
            session.server.flavour,
            session.clock,
            session.own,
            session.load_ids,
            session.server_pid,
            session.timer,
        )
        self._directory = Path(session.spec.run_directory)
        self._ring = Ring()
        self._keeper = Keeper()
        self._figures: deque[SampleFigures] = deque(maxlen=MOST_FIGURES)
        self._events: deque[tuple[float, str]] = deque(maxlen=200)
        self._encode = msgspec.msgpack.Encoder().encode
        self._task: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._boxes = 0
        self._is_closed = False

    async def begin(self) -> None:
        await self._sampler.log_in()
        self._task = self._session.start_task(self._run(), "black box")

    async def _run(self) -> None:
        while not self._is_closed:
            async with self._turn:
                await self.read()
                for request in self._keeper.due(self._now):
                    await self._keep(request)
            await self._session.clock.sleep(self._sampler.pause_seconds)

    @property
    def _now(self) -> float:
        return self._session.log.elapsed_seconds()

    async def read(self) -> None:
        """One reading."""
        reading = await self._sampler.read(self._session.log.elapsed_seconds)
        if not self._session.log.is_started:
            return
        self._ring.held_since = self._keeper.held_since
        self._ring.add(Encoded(reading.at_seconds, self._encode(reading)))

    def on_sample(self, sample: Sample) -> None:
        tick = sample.tick
        values = {name: value for name in FIGURES if (value := read(name, tick)) is not None}
        age = conditions_of(sample).checkpoint_age_percent
        values |= {"checkpoint_age_percent": age} if age is not None else {}
        lag = purge_share(time_spent(tick))
        values |= {"purge_lag_percent": 100 * lag} if lag else {}
        self._figures.append(SampleFigures(tick.end, values))
        has_work = bool(read("requested_threads", tick)) if sample.load is not None else False
        running = read("threads_running", tick)
        if sample.load is None and running is not None:
            has_work = running > 1
        is_still = sample.throughput is not None and not throughput(tick) and has_work
        start = tick.end - tick.seconds
        self._keeper.sample(start, tick.end, is_still=is_still, is_answered=sample.server is not None)

    def on_event(self, event: Event) -> None:
        if event.kind is EventKind.BLACK_BOX:
            return
        at, trouble = event.elapsed_seconds, event.trouble
        self._events.append((at, event.text))
        if event.kind is EventKind.RESTART:
            trouble = Trouble(TroubleKind.OUTAGE, at, at)
        if trouble is not None:
            self._keeper.keep(event.text, trouble.start_seconds, trouble.end_seconds, trouble)

    def keep_now(self, text: str) -> str:
        """Keeps the last minute, and the next ten seconds; returns the reply as text."""
        now = self._now
        self._keeper.keep(text or "kept by hand", now, now)
        return "the last minute is kept, and the next 10 s: tuibench blackbox shows it"

    async def _keep(self, request: Request) -> None:
        """Writes the record of a time, in a thread: there may be hundreds of readings."""
        self._boxes += 1
        if self._boxes > MOST_BOXES:
            return
        box = partial(
            _box,
            BlackBox(
                number=self._boxes,
                flavour=self._session.server.flavour,
                reasons=request.reasons,
                troubles=request.troubles,
                start_seconds=request.start_seconds,
                end_seconds=request.end_seconds,
                frames=(),
                figures=tuple(
                    each
                    for each in self._figures
                    if request.from_seconds <= each.at_seconds <= request.until_seconds
                ),
                events=tuple(
                    each for each in self._events if request.from_seconds <= each[0] <= request.until_seconds
                ),
                gaps=self._sampler.gaps,
            ),
            self._ring.within(request.from_seconds, request.until_seconds),
        )
        try:
            await asyncio.to_thread(lambda: write_box(self._directory, box()))
        except OSError as error:
            self._session.log.emit(
                EventKind.WARNING, f"the black box cannot be written: {error.strerror or error}"
            )
            return
        more = f", and {len(request.reasons) - 1} more" if len(request.reasons) > 1 else ""
        run = self._directory.name
        text = f"black box {self._boxes}: {request.reasons[0]}{more} (tuibench blackbox {run})"
        if self._boxes == MOST_BOXES:
            text += f"; a run has at most {pluralize(MOST_BOXES, 'black box')}"
        self._session.log.emit(EventKind.BLACK_BOX, text)

    async def close(self) -> None:
        """Ends the readings after the last answer, so that its statements have been counted, and keeps what
        is not kept yet.
        """
        if self._is_closed:
            return
        self._is_closed = True
        async with self._turn:
            if self._task is not None:
                self._task.cancel()
        if self._task is not None:
            await asyncio.wait({self._task})
        await self._sampler.close()
        for request in self._keeper.due(self._now, is_over=True):
            await self._keep(request)


def _box(box: BlackBox, readings: list[Encoded]) -> BlackBox:
    """The record with its readings; statements have their literals replaced."""
    decode = msgspec.msgpack.Decoder(SampledRows).decode
    known: dict[str, str] = {}

    def digest(statement: str) -> str:
        if statement not in known:
            known[statement] = normalize_sql(statement)
        return known[statement]

    frames = []
    for reading in readings:
        frame = frame_of(decode(reading.data))
        rows = tuple(
            msgspec.structs.replace(row, statement=digest(row.statement)) if row.statement else row
            for row in frame.sessions
        )
        frames.append(msgspec.structs.replace(frame, sessions=rows))
    return msgspec.structs.replace(box, frames=tuple(frames))


@handles(KeepBlackBox, needs=Needs.SESSION)
async def keep_black_box(session: SteeredSession, command: KeepBlackBox) -> str:
    found = next((each for each in session.instruments if isinstance(each, BlackBoxInstrument)), None)
    if found is None:
        raise UsageError("this session has no black box: several servers, or --no-black-box")
    return found.keep_now(command.text)
