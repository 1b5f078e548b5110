"""Playback of a recorded run: the messages of its session at their original pace.

It can be paused, moved and sped up, but not controlled: every command is refused with a message.
"""

import asyncio
import os
from bisect import bisect_right
from collections.abc import AsyncIterator

from tuibench.base.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.model.effect import CommitCosts
from tuibench.model.event import Event
from tuibench.model.message import (
    PROTOCOL_VERSION,
    REPLAY_REFUSAL,
    REPLAY_SPEEDS,
    Command,
    CommandReply,
    Hello,
    ReplayState,
    RunState,
    Status,
)
from tuibench.model.tick import Sample
from tuibench.record.reader import Run
from tuibench.record.recorder import decoded

POSITION_EVERY_SECONDS = 0.25
"""In real time: the interval of position messages."""
MOST_AT_ONCE = 6
"""If more messages are due at one time, one hello replaces them, so that the screen is painted once."""
FASTEST_SINGLE = 8.0

ReplayMessage = Sample | Event | Status | CommitCosts | Hello | ReplayState


TimedMessage = tuple[float, Sample | Event | Status | CommitCosts]
"""Seconds from the start of the run, and the message."""


class ReplayClient:
    """Has the interface of a session's client."""

    def __init__(self, run: Run, speed: float = 1.0, clock: Clock | None = None) -> None:
        self._run = run
        self._clock = clock or SystemClock()
        self._messages = timed_messages(run)
        times = [at for at, _ in self._messages]
        self._times = times
        self._first = _first(run)
        self._last = max(times, default=self._first)
        self._speed = speed
        self._paused = False
        self._anchor_seconds = self._first
        self._anchor_ns = self._clock.now_ns()
        self._next = bisect_right(times, self._first)
        self._has_jumped = False
        self._closed = False
        self._changed = asyncio.Event()
        self.hello = self._hello()

    # Interface of any client

    async def messages(self) -> AsyncIterator[ReplayMessage]:
        """Messages when they are due. After a jump, the first is a hello with the history at that
        position.
        """
        self._anchor(self._anchor_seconds)
        yield self._state()
        while not self._closed:
            due = bisect_right(self._times, self.position_seconds)
            if self._has_jumped or due - self._next > MOST_AT_ONCE:
                self._has_jumped, self._next = False, due
                yield self._hello()
                yield self._state()
            elif self._next < due and not self._paused:
                self._next += 1
                yield self._messages[self._next - 1][1]
            elif self._next == len(self._messages) and not self._paused:
                self._pause()
                yield self._state()
            else:
                await self._wait()
                yield self._state()

    async def submit(self, command: Command) -> CommandReply:
        return CommandReply(id=0, ok=False, text=REPLAY_REFUSAL)

    async def close(self) -> None:
        self._closed = True
        self._changed.set()

    # Operator's control of the replay

    def toggle(self) -> None:
        """Pauses or resumes; at the end, restarts from the beginning."""
        if not self._paused:
            self._pause()
        elif self.position_seconds >= self._last:
            self._go(self._first)
            self._paused = False
        else:
            self._anchor(self.position_seconds)
            self._paused = False
        self._changed.set()

    def seek(self, seconds: float) -> None:
        """Seeks by seconds of the run, forward or back, within its limits."""
        self._go(self.position_seconds + seconds)

    def faster(self) -> None:
        self._pace(next((speed for speed in REPLAY_SPEEDS if speed > self._speed), self._speed))

    def slower(self) -> None:
        self._pace(next((speed for speed in reversed(REPLAY_SPEEDS) if speed < self._speed), self._speed))

    @property
    def position_seconds(self) -> float:
        """The second of the run that is shown."""
        if self._paused:
            return self._anchor_seconds
        passed = (self._clock.now_ns() - self._anchor_ns) / NS_PER_SECOND
        return min(self._last, self._anchor_seconds + passed * self._speed)

    def _pause(self) -> None:
        self._anchor(self.position_seconds)
        self._paused = True

    def _pace(self, speed: float) -> None:
        self._anchor(self.position_seconds)
        self._speed = speed
        self._changed.set()

    def _go(self, seconds: float) -> None:
        self._anchor(min(max(seconds, self._first), self._last))
        self._has_jumped = True
        self._changed.set()

    def _anchor(self, seconds: float) -> None:
        self._anchor_seconds, self._anchor_ns = seconds, self._clock.now_ns()

    async def _wait(self) -> None:
        """Wait until the next message is due, the operator acts, or a position message is due."""
        if self._paused:
            await self._changed.wait()
        else:
            due_seconds = (self._times[self._next] - self.position_seconds) / self._speed
            # Above this speed, several messages are sent at a time.
            least = POSITION_EVERY_SECONDS if self._speed > FASTEST_SINGLE else 0.0
            asleep = asyncio.ensure_future(
                self._clock.sleep(min(max(due_seconds, least), POSITION_EVERY_SECONDS))
            )
            waiting = asyncio.ensure_future(self._changed.wait())
            try:
                await asyncio.wait({asleep, waiting}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                asleep.cancel()
                waiting.cancel()
        self._changed.clear()

    def _state(self) -> ReplayState:
        return ReplayState(
            position_seconds=self.position_seconds,
            first_seconds=self._first,
            last_seconds=self._last,
            speed=self._speed,
            paused=self._paused,
            cut_short=self._run.cut_short,
            is_live=self._run.is_live,
        )

    def _hello(self) -> Hello:
        """The hello of a viewer that joins at the current position."""
        run, replayed = self._run, self._messages[: self._next]
        statuses = [each for _, each in replayed if isinstance(each, Status)]
        costs = [each for _, each in replayed if isinstance(each, CommitCosts)]
        return Hello(
            protocol=PROTOCOL_VERSION,
            version=run.plan.version,
            session=run.plan.session,
            pid=os.getpid(),
            plan=run.plan.plan,
            target=run.plan.target,
            data_set=run.plan.data_set,
            server=run.plan.server,
            run_directory=str(run.directory),
            status=statuses[-1] if statuses else _unknown(run),
            elapsed_seconds=self.position_seconds,
            samples=tuple(each for _, each in replayed if isinstance(each, Sample)),
            events=tuple(each for _, each in replayed if isinstance(each, Event)),
            costs=costs[-1].costs if costs else (),
            headline=run.plan.headline,
            engine=run.summary.client.engine,
            engine_reason=run.summary.client.engine_reason,
        )


def timed_messages(run: Run) -> list[TimedMessage]:
    """All messages in order. Messages of the same time are ordered: status, event, sample, costs."""
    messages: list[tuple[float, int, Sample | Event | Status | CommitCosts]] = []
    messages += ((at, 0, status) for at, status in run.states)
    messages += ((event.elapsed_seconds, 1, event) for event in run.events)
    for recorded, costs in zip(run.samples, run.costs, strict=True):
        sample = decoded(recorded)
        at = sample.elapsed_seconds
        messages.append((at, 2, sample))
        if costs:
            messages.append((at, 3, CommitCosts(costs)))
    messages.sort(key=lambda each: each[:2])
    return [(at, message) for at, _, message in messages]


def _first(run: Run) -> float:
    """The start of a replay: one interval before the first sample."""
    if not run.samples:
        return 0.0
    return run.samples[0].elapsed_seconds - run.plan.plan.interval_seconds


def _unknown(run: Run) -> Status:
    """The status of a run whose record has none."""
    return Status(state=RunState.RUNNING, threads=run.plan.plan.threads, workers=0, settings=(), presets=())
