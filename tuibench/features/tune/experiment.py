"""A screening of settings, of a run (`tune`) or by an operator (key `U`, `ctl tune`): its windows and blocks.

    first:  │ candidate 4 │ original values │ candidate 9 │ candidate 2 │   in random order
    then:   │ candidates 2, 5 and 7 │ candidates 1, 4 and 9 │               random halves of the undecided
    then:   │ the best of all │ original values │                           until they have a verdict
    then:   undecided candidates                                            until the budget is used

A window begins when its values are set, and its slots count once the load is at rest
(`metrics/ab_windows.py`). Another change, a pause or an outage disturbs the window in which it happens, and
its pairs do not count.
"""

import asyncio
import math
import random
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from tuibench.base.errors import TuibenchError, UsageError
from tuibench.base.units import duration, pluralize
from tuibench.features.tune.candidates import (
    SCREENING_SHARE,
    Room,
    TuneLog,
    check_recorded,
    find_candidates,
    read_tune_log,
)
from tuibench.features.tune.evaluation import Evaluation, is_decided
from tuibench.features.tune.text import candidate_line
from tuibench.metrics.ab_windows import FEWEST_SLOTS, ROUNDING_SECONDS, figure_level, settling_slots
from tuibench.metrics.effect_detection import window_figures
from tuibench.metrics.figures import deciding_figure
from tuibench.model.message import ChangeSetting, Hello, StartTune
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo
from tuibench.model.settings import SettingState
from tuibench.model.summary import Summary
from tuibench.model.tick import Sample, Tick, total_tick
from tuibench.model.tune import (
    Candidate,
    LeftOut,
    TuneBlock,
    TuneLogHead,
    TunePlan,
    TuneResult,
    TuneVerdict,
    TuneWindow,
)
from tuibench.observe.host_facts import free_memory_bytes
from tuibench.session.dispatch import Needs, SteeredSession, handles
from tuibench.session.laboratory import Experiment, ExperimentSession, Wanted
from tuibench.tuning.catalogue import SETTINGS, wanted_settings

TOGETHER_CANDIDATES = 2
"""With fewer good candidates there is no combination to test."""

OTHER_VARIABLES = tuple(sorted({name for setting in SETTINGS for name in setting.acts_with} | {"datadir"}))
"""Variables that decide whether a setting has any effect, and where the data is."""
SLOTS_PER_WINDOW = 10
MIN_BUDGET_SECONDS, MAX_BUDGET_SECONDS = 20.0, 7 * 86_400.0
COURSE_PARTS = 6
"""Parts into which the course of a window is divided, to find effects that act late."""
TOO_SHORT = "too little was measured"


class _Window:
    """One window under way."""

    def __init__(self, candidates: tuple[int, ...]) -> None:
        self.candidates = candidates
        """Their numbers; empty with the original values."""
        self.changed_at = float("inf")
        self.every: list[Tick] = []
        """All slots since the window began; `slots` has those after the change."""
        self.slots: list[Tick] = []
        self.disturbance = self.harm = ""

    def disturb(self, why: str) -> None:
        self.disturbance = self.disturbance or why

    def record(self, primary: str) -> TuneWindow:
        kept = total_tick(self.slots[settling_slots(self.slots) :])
        if len(self.slots) < FEWEST_SLOTS or not kept.sums.get("completed"):
            self.disturb(TOO_SHORT)
        figures = {} if self.disturbance else window_figures(kept, primary)
        several = math.ceil(len(self.every) / COURSE_PARTS)
        parts = [self.every[at : at + several] for at in range(0, len(self.every), several or 1)]
        levels = [] if self.disturbance else [figure_level(primary, part) for part in parts]
        return TuneWindow(
            candidates=self.candidates,
            figures=figures,
            disturbance=self.disturbance,
            harm=self.harm,
            course=tuple(level or 0.0 for level in levels),
            seconds=math.fsum(slot.seconds for slot in self.every),
        )


class TuneRun(Experiment):
    """One screening: the values of each window, the blocks, and the verdicts. A resumed one continues after
    the `blocks` of the earlier run.
    """

    called, name = "screening", "a screening of settings"
    starts, kind = StartTune, "tune"

    def __init__(
        self,
        order: TunePlan,
        head: TuneLogHead,
        *,
        left_out: Sequence[LeftOut] = (),
        blocks: Sequence[TuneBlock] = (),
        log: TuneLog | None = None,
        is_by_hand: bool = False,
    ) -> None:
        """`log` gets the blocks as they end."""
        super().__init__(is_by_hand=is_by_hand)
        self.head = head
        self._log = log
        self._order = order
        self._evaluation = Evaluation(order, head.candidates)
        self._evaluation.left_out = tuple(left_out)
        self._evaluation.add(blocks)
        self._earlier_seconds = blocks[-1].end_seconds if blocks else 0.0
        self._rng = random.Random(order.seed)
        self._begun_at = self._now = 0.0
        self._queue: list[_Window] = []
        self._done: list[_Window] = []
        self._window: _Window | None = None
        self._reported: dict[int, TuneVerdict] = {}
        self._is_together = False
        self._is_together_refused = self._is_resting = False
        self._kept: tuple[int, ...] = ()
        values = pluralize(len(self.candidates), "value")
        self.reply = f"screening {values}, at most {duration(order.budget_seconds)}"

    @classmethod
    async def of_plan(cls, session: ExperimentSession) -> "TuneRun | None":
        order = session.spec.plan.tune
        return None if order is None else await prepare_screening(order, session)

    def on_news(self) -> None:
        if self._log is not None:
            self._log.write(self.head, self.blocks)

    @classmethod
    def in_hello(cls, hello: Hello, last: Self) -> Hello:
        return replace(hello, tune=last.result)

    @classmethod
    def in_summary(cls, summary: Summary, begun: Sequence[Self], not_restored: str) -> Summary:
        return replace(summary, tune=replace(begun[-1].result, not_restored=not_restored))

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return self._evaluation.candidates

    @property
    def blocks(self) -> tuple[TuneBlock, ...]:
        """The completed blocks, including those of the earlier run."""
        return self._evaluation.blocks

    @property
    def result(self) -> TuneResult:
        """The result so far."""
        return replace(self._evaluation.result(self._elapsed), by_hand=self.is_by_hand, is_over=self.is_over)

    @property
    def message(self) -> TuneResult:
        return self.result

    @property
    def _elapsed(self) -> float:
        """Seconds of the screening, over all its runs."""
        return self._earlier_seconds + self._now - self._begun_at

    def begin(self, now: float) -> None:
        self._begun_at = self._now = now
        self._next_block()

    def tick(self, slot: Tick, sample: Sample, disturbance: str = "") -> bool:
        self._now, window = slot.end, self._window
        if window is None:
            return False
        if disturbance:
            window.disturb(disturbance)
        window.every.append(slot)
        if slot.start >= window.changed_at - ROUNDING_SECONDS:
            window.slots.append(slot)
        if slot.end < window.changed_at + self._order.window_seconds - ROUNDING_SECONDS:
            return False
        self._done.append(window)
        return self._go_on()

    def _go_on(self) -> bool:
        """Enter the next window, or finish the block and begin the next one: True with a finished block."""
        if self._queue:
            self._enter(self._queue.pop(0))
            return False
        block = TuneBlock(
            end_seconds=self._elapsed,
            windows=tuple(window.record(self._order.primary) for window in self._done),
            is_together=self._is_together,
        )
        self._done = []
        self._evaluation.add([block])
        result = self.result
        for one in result.results:
            is_known = one.verdict is not TuneVerdict.CANNOT_TELL
            if is_known and self._reported.get(one.candidate.number) is not one.verdict:
                self.told.append(candidate_line(one, result))
            self._reported[one.candidate.number] = one.verdict
        self._next_block()
        return True

    def applied(self, now: float) -> None:
        if self._window is not None:
            self._window.changed_at = now

    def disturb(self, why: str, *, is_late: bool = False) -> None:
        if self._window is not None:
            self._window.disturb(why)

    def refused(self, subject: str, error: TuibenchError, now: float) -> None:
        """The server refused the value of a candidate (alone or in a shared window) or of the winner."""
        window = self._window
        if window is None or not window.candidates:
            self.fail(error, now)
            return
        window.disturb(error.message)
        if self._is_together:
            self._evaluation.together = ()
            self._is_together_refused = True
        elif len(window.candidates) == 1:
            self._evaluation.failures[window.candidates[0]] = error.message
        else:
            self._evaluation.alone |= {
                one.number
                for one in self.candidates
                if one.setting == subject and one.number in window.candidates
            }

    @property
    def is_on_trial(self) -> bool:
        window = self._window
        return bool(window.candidates) if window is not None else bool(self._kept)

    def broke_guard(self, seen: str, now: float, *, is_blamed: bool) -> None:
        """End the window. Of several candidates none is blamed: from now on each is measured alone."""
        window, self._window = self._window, None
        if window is None:
            self._kept = ()
            self.end(now, f"the best together is harmful: {seen}")
            return
        window.disturb(seen)
        if is_blamed and self._is_together:
            self._evaluation.together = ()
            self._is_together_refused = True
        elif is_blamed:
            window.harm = seen
        self._done.append(window)
        self.wanted = {}
        self._is_resting = True

    def rested(self, now: float) -> None:
        if not self._is_resting:
            return
        self._now, self._is_resting = now, False
        self._go_on()

    def end(self, now: float, why: str = "") -> None:
        if not self.is_over:
            super().end(now, why)
            self._now = max(now, self._now)

    @property
    def end_text(self) -> str:
        return "the screening has ended; the settings are restored"

    def _next_block(self) -> None:
        windows = self._due()
        if not windows:
            # All is known, or the budget is spent: the test ends, or the winner stays until the run ends.
            self._window = None
            self._evaluation.is_complete = True
            winner = self.result.winner
            if self._order.apply and winner:
                self._kept = winner
                self.wanted = self._values(winner)
            else:
                self.end(self._now)
            return
        self._rng.shuffle(windows)
        self._queue = [_Window(candidates) for candidates in windows]
        self._enter(self._queue.pop(0))

    def _due(self) -> list[tuple[int, ...]]:
        """The candidates of each window of the next block; empty at the end.

        After the test of the best together, undecided candidates get the rest of the budget.
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

    def _enter(self, window: _Window) -> None:
        self._window = window
        self.wanted = self._values(window.candidates)

    def _values(self, numbers: tuple[int, ...]) -> Wanted:
        by_number = {one.number: one for one in self.candidates}
        wanted = [by_number[number] for number in numbers]
        return {one.setting: ChangeSetting(one.setting, one.value) for one in wanted}


async def prepare_screening(
    order: TunePlan, session: ExperimentSession, *, is_by_hand: bool = False
) -> TuneRun:
    """Find the candidates, or read those of the run to resume.

    Raises UsageError if there is nothing to test, ProductionError without consent to changes.
    """
    plan, server, settings = session.spec.plan, session.server, session.settings
    settings.guard.require_confirmation()
    log = TuneLog(Path(session.spec.run_directory))
    private = f"a private server ({server.flavour} {server.version_text})"
    named = private if session.spec.private_server else server.identity
    here = TuneLogHead(profile=plan.profile, server=named, threads=plan.threads, candidates=())
    variables = await settings.variables(OTHER_VARIABLES)
    room = _room(server, variables, plan.most_threads)
    if order.resume:
        head, blocks = await asyncio.to_thread(read_tune_log, Path(order.resume))
        _check_resumable(order.resume, head, here, settings.states)
        check_recorded(head.candidates, settings.states, server, variables, room, order)
        here = replace(here, candidates=head.candidates)
        return TuneRun(order, here, blocks=blocks, log=log, is_by_hand=is_by_hand)
    found, left_out = find_candidates(settings.states, server, variables, room, order)
    if not found:
        reasons = "; ".join(f"{one.setting}: {one.why}" for one in left_out[:3])
        raise UsageError(f"there is nothing to test: {reasons}", "see tuibench settings list")
    here = replace(here, candidates=found)
    return TuneRun(order, here, left_out=left_out, log=log, is_by_hand=is_by_hand)


def _room(server: ServerInfo, variables: Mapping[str, str], threads: int) -> Room:
    if not server.is_local:
        return Room(None, None, threads)
    try:
        disk: int | None = shutil.disk_usage(variables.get("datadir", "")).free
    except OSError:
        disk = None
    return Room(free_memory_bytes(), disk, threads)


def _check_resumable(name: str, head: TuneLogHead, here: TuneLogHead, states: Iterable[SettingState]) -> None:
    """Raises UsageError if the earlier blocks belong to other conditions than this run's."""
    if replace(head, candidates=()) != here:
        raise UsageError(
            f"{name} was {head.profile} with {pluralize(head.threads, 'thread')} on {head.server}, "
            f"this is {here.profile} with {pluralize(here.threads, 'thread')} on {here.server}",
            "resume it with the same profile, threads and server",
        )
    now = {state.name: state.value for state in states}
    for one in head.candidates:
        if now.get(one.setting) != one.original:
            raise UsageError(
                f"{one.setting} was {one.original} when the screening began, and is "
                f"{now.get(one.setting)} now",
                "restore it, or start again without --resume",
            )


def ordered_screening(plan: TunePlan, run: RunPlan, session: ExperimentSession) -> TunePlan:
    """The plan of a screening that an operator starts. Raises UsageError if its budget is out of range or
    settings of this session are still changed.
    """
    if not MIN_BUDGET_SECONDS <= plan.budget_seconds <= MAX_BUDGET_SECONDS:
        raise UsageError("a screening takes 20 s to 7 days", "for example ctl tune 10m")
    changed = [state.name for state in session.settings.states if state.changed_by == "us"]
    if changed:
        raise UsageError(
            f"this session has changed {', '.join(changed)}", "restore that first: tuibench ctl restore"
        )
    wanted_settings(plan.only)
    return replace(
        plan,
        window_seconds=max(plan.window_seconds, SLOTS_PER_WINDOW * run.interval_seconds),
        seed=run.seed,
        primary=deciding_figure(
            run.figure,
            is_traffic=run.shows_traffic,
            rate=session.load.rate if session.load is not None else 0.0,
        ).key,
    )


@handles(StartTune, needs=Needs.CONSTANT_LOAD)
async def start_screening(session: SteeredSession, command: StartTune) -> str:
    parts = session.parts
    order = ordered_screening(command.plan, parts.spec.plan, parts)
    return await session.laboratory.start(await prepare_screening(order, parts, is_by_hand=True))
