"""Runner of a screening (`tune`): sets the value that is due, measures a window, decides the next one.

    first:  │ candidate 4 │ original values │ candidate 9 │ candidate 2 │   in random order
    then:   │ candidates 2, 5 and 7 │ candidates 1, 4 and 9 │               random halves of the undecided
    then:   │ the best of all │ original values │                           until they have a verdict
    then:   undecided candidates                                            until the budget is used

A window begins when its values are set, and its slots count once the load is at rest (`ab_windows`). Changes
are commands like any other: journalled, emitted as events, restored at the end or by the guardian. Another
change, a pause or an outage disturbs the window in which it happens, and its pairs do not count.
"""

import asyncio
import math
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tuibench.errors import ConnectionLostError, ServerUnreachableError, TuibenchError, UsageError
from tuibench.metrics.inference.ab_tests.ab_windows import (
    FEWEST_SLOTS,
    ROUNDING_SECONDS,
    figure_level,
    settling_slots,
)
from tuibench.metrics.inference.effects.effect import window_figures
from tuibench.metrics.series.slots import Slot
from tuibench.model.command import ChangeSetting, RestoreSettings
from tuibench.model.event import CHANGE_KINDS, Event, EventKind
from tuibench.model.experiments.effect import EffectFigure
from tuibench.model.experiments.tune import (
    Candidate,
    TuneBlock,
    TuneLogHead,
    TunePlan,
    TuneProgress,
    TuneResult,
    TuneVerdict,
    TuneWindow,
)
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo
from tuibench.observe.host.facts import free_memory_bytes
from tuibench.record.files.tune_log import TuneLog, read_tune_log
from tuibench.record.report.tune_text import candidate_line
from tuibench.session.control.experiment import ExperimentSession
from tuibench.session.disturbances import NO_ANSWER, OF_EVENTS
from tuibench.session.tune.candidates import SCREENING_SHARE, Room, find_candidates
from tuibench.session.tune.evaluation import Evaluation, is_decided
from tuibench.tuning.catalogue.setting_lookup import SETTINGS

TOGETHER_CANDIDATES = 2
"""With fewer there is nothing to combine."""

OTHER_VARIABLES = tuple(sorted({name for setting in SETTINGS for name in setting.acts_with} | {"datadir"}))
COURSE_PARTS = 6
TOO_SHORT = "too little was measured"


class _Window:
    """One window under way, with the numbers of its candidates."""

    def __init__(self, candidates: tuple[int, ...]) -> None:
        self.candidates = candidates
        self.changed_at = float("inf")
        self.every: list[Slot] = []
        self.slots: list[Slot] = []
        self.disturbance = ""

    def disturb(self, why: str) -> None:
        self.disturbance = self.disturbance or why

    def record(self, primary: EffectFigure) -> TuneWindow:
        kept = self.slots[settling_slots(self.slots) :]
        if len(self.slots) < FEWEST_SLOTS or not sum(slot.transactions for slot in kept):
            self.disturb(TOO_SHORT)
        figures = {} if self.disturbance else window_figures(kept)
        several = math.ceil(len(self.every) / COURSE_PARTS)
        parts = [self.every[at : at + several] for at in range(0, len(self.every), several or 1)]
        levels = [] if self.disturbance else [figure_level(primary, part) for part in parts]
        return TuneWindow(
            candidates=self.candidates,
            figures=figures,
            disturbance=self.disturbance,
            course=tuple(0.0 if level is None else math.exp(level) for level in levels),
            seconds=math.fsum(slot.seconds for slot in self.every),
        )


class TuneRun:
    """Slots and events in, commands out. Each command is a separate task: a tick does not wait for it."""

    def __init__(
        self,
        order: TunePlan,
        plan: RunPlan,
        server: ServerInfo,
        directory: Path,
        session: ExperimentSession,
        publish: Callable[[TuneProgress], None] = lambda _: None,
        on_end: Callable[[], None] | None = None,
        *,
        is_private: bool = False,
    ) -> None:
        self._is_private = is_private
        self._order = order
        self._publish = publish
        self._on_end = on_end
        self._begun_at = 0.0
        self._plan = plan
        self._server = server
        self._session = session
        self._file = TuneLog(directory)
        self._rng = random.Random(order.seed)
        self._evaluation = Evaluation(order, ())
        self._earlier_seconds = 0.0
        self._queue: list[_Window] = []
        self._done: list[_Window] = []
        self._window: _Window | None = None
        self._current: dict[str, str] = {}
        self._setting = False
        self._changing = asyncio.Lock()
        self._reported: dict[int, TuneVerdict] = {}
        self._ended_at: float | None = None
        self._is_together = False
        self._is_together_refused = False

    async def dry_run(self) -> None:
        """Finds the candidates before the load starts. Raises UsageError if there are none."""
        self._session.settings.guard.require_confirmation()
        if self._order.resume:
            head, blocks = await asyncio.to_thread(read_tune_log, Path(self._order.resume))
            self._check_resumable(head)
            self._begin(head.candidates)
            self._evaluation.add(blocks)
            self._earlier_seconds = blocks[-1].end_seconds if blocks else 0.0
        else:
            variables = await self._session.settings.variables(OTHER_VARIABLES)
            found, left_out = find_candidates(
                self._session.settings.states, self._server, variables, self._room(variables), self._order
            )
            if not found:
                reasons = "; ".join(f"{one.setting}: {one.why}" for one in left_out[:3])
                raise UsageError(f"there is nothing to test: {reasons}", "see tuibench settings list")
            self._begin(found)
            self._evaluation.left_out = left_out

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return self._evaluation.candidates

    @property
    def result(self) -> TuneResult:
        """What is known so far."""
        until = self._session.log.elapsed_seconds() if self._ended_at is None else self._ended_at
        return self._evaluation.result(self._earlier_seconds + max(0.0, until - self._begun_at))

    @property
    def progress(self) -> TuneProgress:
        """The same for viewers."""
        is_over = self._ended_at is not None
        return TuneProgress(result=self.result, by_hand=self._on_end is not None, is_over=is_over)

    @property
    def _elapsed(self) -> float:
        """Seconds of the screening, over all of its runs."""
        return self._earlier_seconds + self._session.log.elapsed_seconds() - self._begun_at

    @property
    def _server_name(self) -> str:
        """What a resumed screening must run on: this server, or a private one of this version."""
        server = self._server
        if not self._is_private:
            return server.identity
        return f"a private server ({server.flavour} {server.version_text})"

    def start(self) -> None:
        """Begins with the load's start, or during a run."""
        self._begun_at = self._session.log.elapsed_seconds()
        head = TuneLogHead(
            profile=self._plan.profile,
            server=self._server_name,
            threads=self._plan.threads,
            candidates=self.candidates,
        )
        self._file.begin(head, self._evaluation.blocks)
        self._publish(self.progress)
        self._next_block()

    def on_event(self, event: Event) -> None:
        """The load has started; or something else is changed during a window."""
        if event.kind is EventKind.START:
            self.start()
        elif event.kind in CHANGE_KINDS and self._window is not None and not self._is_ours(event):
            self._window.disturb(OF_EVENTS.get(event.kind, event.text))

    def _is_ours(self, event: Event) -> bool:
        return self._setting and event.kind is EventKind.SETTING

    def tick(self, slot: Slot, *, disturbance: str = "") -> None:
        """One more slot. A `disturbance` is a reason why what was measured does not count."""
        window = self._window
        if window is None or self._ended_at is not None:
            return
        if disturbance:
            window.disturb(disturbance)
        window.every.append(slot)
        if slot.start_seconds >= window.changed_at - ROUNDING_SECONDS:
            window.slots.append(slot)
        if slot.end_seconds >= window.changed_at + self._order.window_seconds - ROUNDING_SECONDS:
            self._done.append(window)
            self._advance()

    def end(self) -> None:
        """No more changes; the restore of the settings waits for one that is under way."""
        if self._ended_at is None:
            self._ended_at = self._session.log.elapsed_seconds()
            self._publish(self.progress)

    async def restore_values(self) -> None:
        """Restores what the screening has set and not restored yet, when its last change is over."""
        await self._set(_Window(()), {})

    # Blocks

    def _begin(self, candidates: tuple[Candidate, ...]) -> None:
        self._evaluation = Evaluation(self._order, candidates)

    def _advance(self) -> None:
        """The next window of the block, or the next block."""
        if self._queue:
            self._enter(self._queue.pop(0))
            return
        block = TuneBlock(
            end_seconds=self._elapsed,
            windows=tuple(window.record(self._order.primary) for window in self._done),
            is_together=self._is_together,
        )
        self._done = []
        self._evaluation.add([block])
        self._file.add(block)
        self._report()
        self._publish(self.progress)
        self._session.lifecycle.publish_status()
        self._next_block()

    def _report(self) -> None:
        """Emits each verdict once, and progress after each block."""
        result = self.result
        for one in result.results:
            is_known = one.verdict is not TuneVerdict.CANNOT_TELL
            if is_known and self._reported.get(one.candidate.number) is not one.verdict:
                self._session.log.emit(EventKind.EFFECT, candidate_line(one, result))
            self._reported[one.candidate.number] = one.verdict

    def _next_block(self) -> None:
        windows = self._due()
        if not windows:
            self._finish()
            return
        self._rng.shuffle(windows)
        self._queue = [_Window(candidates) for candidates in windows]
        self._enter(self._queue.pop(0))

    def _due(self) -> list[tuple[int, ...]]:
        """The candidates of each window of the next block; nothing at the end.

        What the test of the best together leaves of the budget is spent on undecided candidates, too.
        """
        seconds, evaluation = self._elapsed, self._evaluation
        self._is_together = False
        if seconds >= self._order.budget_seconds:
            return []
        due = evaluation.next_block(self._rng)
        is_screening = not evaluation.together and seconds < SCREENING_SHARE * self._order.budget_seconds
        if (is_screening and due) or self._is_together_refused:
            return due
        result = evaluation.result(seconds)
        if not evaluation.together:
            best = evaluation.best(result.results)
            evaluation.together = best if len(best) >= TOGETHER_CANDIDATES else ()
        self._is_together = bool(evaluation.together) and not is_decided(result.together)
        return [(), evaluation.together] if self._is_together else due

    def _finish(self) -> None:
        """All is known, or the budget is used: ends the run, or keeps the winner until it is ended."""
        self._window = None
        self._evaluation.is_complete = True
        result = self.result
        if self._order.apply and result.winner:
            self._session.start_task(self._set(_Window(()), self._values(result.winner)), "tune")
            return
        self.end()
        if self._on_end is not None:
            self._on_end()
        else:
            self._session.lifecycle.request_stop("done")

    # Values

    def _enter(self, window: _Window) -> None:
        self._window = window
        self._session.start_task(self._set(window, self._values(window.candidates)), "tune")

    def _values(self, numbers: tuple[int, ...]) -> dict[str, str]:
        by_number = {one.number: one for one in self.candidates}
        return {by_number[number].setting: by_number[number].value for number in numbers}

    async def _set(self, window: _Window, wanted: Mapping[str, str]) -> None:
        """Puts back what is not wanted any more, then sets what is."""
        async with self._changing:
            await self._change(window, wanted)

    async def _change(self, window: _Window, wanted: Mapping[str, str]) -> None:
        self._setting = True
        name, is_restore = "", True
        try:
            for name in [name for name in self._current if name not in wanted]:
                await self._session.submit(RestoreSettings((name,)))
                del self._current[name]
            is_restore = False
            for name, value in wanted.items():
                if self._current.get(name) != value and self._ended_at is None:
                    self._current[name] = value
                    await self._session.submit(ChangeSetting(name, value))
        except (ServerUnreachableError, ConnectionLostError):
            window.disturb(NO_ANSWER)
        except TuibenchError as error:
            if self._ended_at is None:
                self._refused(window, "" if is_restore else name, error)
        finally:
            self._setting = False
        window.changed_at = self._session.log.elapsed_seconds()

    def _refused(self, window: _Window, name: str, error: TuibenchError) -> None:
        """The server refused a candidate's value, alone or beside others. Without a name a restore failed:
        that ends the run.
        """
        window.disturb(error.message)
        if not name or not window.candidates:
            self._session.lifecycle.fail(error)
        elif self._is_together:
            self._evaluation.together = ()
            self._is_together_refused = True
        elif len(window.candidates) == 1:
            self._evaluation.failures[window.candidates[0]] = error.message
        else:
            self._evaluation.alone |= {
                one.number
                for one in self.candidates
                if one.setting == name and one.number in window.candidates
            }

    # The beginning

    def _room(self, variables: Mapping[str, str]) -> Room:
        if not self._server.is_local:
            return Room(None, None, self._plan.most_threads)
        try:
            disk: int | None = shutil.disk_usage(variables.get("datadir", "")).free
        except OSError:
            disk = None
        return Room(free_memory_bytes(), disk, self._plan.most_threads)

    def _check_resumable(self, head: TuneLogHead) -> None:
        """Raises UsageError if the earlier blocks say nothing about this run."""
        here = (self._plan.profile, self._server_name, self._plan.threads)
        if (head.profile, head.server, head.threads) != here:
            raise UsageError(
                f"{self._order.resume} was {head.profile} with {head.threads} threads on {head.server}, "
                f"this is {here[0]} with {here[2]} threads on {here[1]}",
                "resume it with the same profile, threads and server",
            )
        now = {state.name: state.value for state in self._session.settings.states}
        for one in head.candidates:
            if now.get(one.setting) != one.original:
                raise UsageError(
                    f"{one.setting} was {one.original} when the screening began, and is "
                    f"{now.get(one.setting)} now",
                    "restore it, or start again without --resume",
                )
