"""Carries out an operator's commands and words the answers.

Commands to the load are carried out one after the other, and so are those to the settings; but the load does
not wait for a server that takes its time over a setting.
"""

import asyncio
from collections.abc import Mapping
from typing import assert_never

from tuibench.errors import UsageError
from tuibench.model.command import (
    Command,
    HoldPlan,
    KillQuery,
    LoadCommand,
    Mark,
    NextStep,
    Pause,
    ResetStats,
    Resume,
    ResumePlan,
    SetDelay,
    SetPlan,
    SetRate,
    SetThreads,
    SettingCommand,
    SetWeights,
    StartProbe,
    Stop,
    StopProbe,
    WatchActivity,
)
from tuibench.model.duration import delay_text
from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.model.schedule import Quantity
from tuibench.model.weights import weights_text
from tuibench.session.moving import ENDING, Moving
from tuibench.session.ranges import checked_delay_ms, checked_rate, checked_threads
from tuibench.session.setting_commands import SettingCommands
from tuibench.session.steered import Steered


def rate_words(rate: float) -> str:
    return f"{rate:,g}/s" if rate else "open"


class Steering:
    """Commands in, answers out. A refusal is raised as a TuibenchError and changes nothing.

    `moving` is for what changes the load by itself, and takes its turn among the commands.
    """

    def __init__(self, session: Steered) -> None:
        self._session = session
        self._load_turn = asyncio.Lock()
        self._settings_turn = asyncio.Lock()
        self._settings = SettingCommands(session)
        self.moving = Moving(session, self._load_turn)

    async def carry_out(self, command: Command) -> str:
        """Does what the command says; returns the answer in words once it is done.

        A stop waits for nobody: what is under way may hang, and what it hangs on may have to be looked at and
        killed.
        """
        match command:
            case Stop():
                self._session.request_stop()
                return "stopping"
            case WatchActivity():
                self._session.watch.renew()
                return "watching"
            case KillQuery(id=id):
                return await self._kill(id)
        if isinstance(command, SettingCommand):
            async with self._settings_turn:
                self._demand_that_it_runs()
                return await self._settings.carry_out(command)
        async with self._load_turn:
            self._demand_that_it_runs()
            return await self._steer(command)

    async def _steer(self, command: LoadCommand) -> str:
        match command:
            case SetThreads(threads=threads):
                return await self._threads(checked_threads(threads))
            case SetRate(rate=rate):
                return self._rate(checked_rate(rate))
            case SetWeights(weights=weights):
                return self._weights(weights)
            case SetPlan(stages=stages):
                return self._session.planned.set(stages)
            case HoldPlan():
                return self._session.planned.hold()
            case ResumePlan():
                return self._session.planned.resume()
            case StartProbe(order=order):
                return self._session.probing.start(order)
            case StopProbe():
                return self._session.probing.stop()
            case NextStep():
                return self._session.probing.jump()
            case SetDelay(milliseconds=milliseconds):
                return self._delay(checked_delay_ms(milliseconds))
            case Pause():
                return self._pause()
            case Resume():
                return self._resume()
            case Mark(text=text):
                self._session.tell(EventKind.MARK, text or "mark")
                return "marked"
            case ResetStats():
                return await self._reset()
            case _:
                assert_never(command)

    def _demand_that_it_runs(self) -> None:
        """Looked at when a command's turn comes: settings that are put back must not be changed again."""
        if self._session.state in ENDING:
            raise UsageError("the run is ending; nothing can be changed any more")

    async def _kill(self, id: int) -> str:
        self._demand_that_it_runs()
        text = await self._session.watch.kill(id)
        self._session.tell(EventKind.KILL, text)
        return text

    def _rate(self, rate: float) -> str:
        before = self._session.pace.rate
        self._session.pace.set_rate(rate)
        self._session.tell(EventKind.RATE, f"rate {rate_words(before)} → {rate_words(rate)}")
        return f"rate: {rate_words(rate)}" + self._overruled(Quantity.RATE)

    def _weights(self, given: Mapping[str, float]) -> str:
        pace = self._session.pace
        before = pace.weights
        pace.set_weights(given)
        after = pace.weights
        if after == before:
            return f"weights: {weights_text(after)}, as before"
        changed = ", ".join(
            f"{name} {before[name]:g} → {weight:g}"
            for name, weight in after.items()
            if weight != before[name]
        )
        self._session.tell(EventKind.WEIGHTS, f"weights: {changed}")
        return f"weights: {weights_text(after)}"

    def _delay(self, milliseconds: float) -> str:
        before = self._session.pace.client_delay_ms
        self._session.pace.set_delay(milliseconds)
        change = f"{delay_text(before)} → {delay_text(milliseconds)}"
        self._session.tell(EventKind.DELAY, f"simulated network delay {change} on each round trip")
        return f"simulated network delay: {delay_text(milliseconds)} on each round trip"

    async def _threads(self, threads: int) -> str:
        before = self._session.pace.threads
        if threads == before:
            return f"threads: {threads}, as before"
        self._session.pace.most_let_in = None
        await self._session.pace.set_threads(threads)
        self._session.tell(EventKind.THREADS, f"threads {before} → {threads}")
        return f"threads: {threads}" + self._overruled(Quantity.THREADS)

    def _overruled(self, quantity: Quantity) -> str:
        """The operator steers: whatever moves the same thing by itself gives way."""
        session = self._session
        return session.probing.overruled(quantity) + session.planned.overruled(quantity)

    async def _reset(self) -> str:
        if self._session.state in (RunState.STARTING, RunState.WARMING):
            raise UsageError("nothing is measured yet")
        await self._session.begin_anew()
        self._session.tell(EventKind.RESET, "figures of the run begin anew")
        return "the figures of the run begin anew"

    def _pause(self) -> str:
        if self._session.state is RunState.STARTING:
            raise UsageError("the load has not started yet")
        if self._session.state is RunState.WARMING:
            raise UsageError("the load is still warming up", "pause it once it is measured")
        if self._session.state is RunState.PAUSED:
            return "already paused"
        self._session.hold()
        self._session.tell(EventKind.PAUSE, "paused")
        return "paused"

    def _resume(self) -> str:
        if self._session.state is not RunState.PAUSED:
            return "not paused"
        self._session.go_on()
        self._session.tell(EventKind.RESUME, "resumed")
        return "running again"
