"""A screening as a session sees it: the right commands at the right time, and what disturbs a window."""

import asyncio
import random
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tests.examples import PLAN, SERVER
from tests.unit.session.tune.test_candidates import VALUES, VARIABLES, states
from tuibench.errors import ConnectionLostError, TuibenchError, UsageError
from tuibench.metrics.series.slots import Slot
from tuibench.model.command import ChangeSetting, Command, RestoreSettings
from tuibench.model.event import Event, EventKind
from tuibench.model.experiments.tune import TunePlan, TuneVerdict
from tuibench.model.results.summary import RunOutcome
from tuibench.model.server import ServerInfo
from tuibench.record.files.tune_log import read_tune_log
from tuibench.session.control.experiment import ExperimentSession
from tuibench.session.control.settings import Settings
from tuibench.session.tune.runner import TuneRun

WINDOW = 6
GOOD, BAD, NONE = "innodb_io_capacity", "innodb_flush_neighbors", "innodb_adaptive_flushing"
THREE = {"innodb_flush_neighbors": "0", "innodb_adaptive_flushing": "ON", "innodb_io_capacity": "200"}
FACTORS = {GOOD: 1.5, BAD: 0.7, NONE: 1.0}


class Session:
    """Takes the screening's commands, each of them at once, and makes slots for it."""

    def __init__(
        self, directory: Path, server: ServerInfo = SERVER, *, is_private: bool = False, **order: Any
    ) -> None:
        made = {
            "budget_seconds": 2000.0,
            "window_seconds": WINDOW,
            "only": tuple(THREE),
            "values": 1,
            "candidates_per_block": 2,
        }
        self.guard = self
        self.states = states(SERVER, {**VALUES, **THREE, "innodb_io_capacity_max": "2000"})
        self.submitted: list[Command] = []
        self.told: list[str] = []
        self.failure: Exception | None = None
        self.refusals: dict[str, TuibenchError] = {}
        self.crowded = ""
        self.wavering: random.Random | None = None
        self.unrestorable: TuibenchError | None = None
        self.stopped: RunOutcome | None = None
        self.now = 0.0
        self.factors = dict(FACTORS)
        self.noisy = ""
        self.visits = 0
        self.current: dict[str, str] = {}
        played: Any = self
        self.run = TuneRun(
            TunePlan(**{**made, **order}),
            PLAN,
            server,
            directory,
            ExperimentSession(
                None,
                cast(Settings, self),
                lifecycle=played,
                log=played,
                submit=self.submit,
                start_task=lambda work, name: asyncio.create_task(work, name=name),
            ),
            is_private=is_private,
        )

    def require_confirmation(self) -> None:
        return

    async def variables(self, names: tuple[str, ...]) -> dict[str, str]:
        return {**VARIABLES, "datadir": "/"}

    def elapsed_seconds(self) -> float:
        return self.now

    async def submit(self, command: Command) -> str:
        self.submitted.append(command)
        if isinstance(command, ChangeSetting):
            if error := self.refusals.get(command.name):
                raise error
            if command.name == self.crowded and self.current:
                raise TuibenchError("not beside others")
            self.current[command.name] = command.value
            self.visits += command.name == self.noisy
        if isinstance(command, RestoreSettings):
            if self.unrestorable:
                raise self.unrestorable
            for name in command.names:
                self.current.pop(name, None)
        self.event(EventKind.SETTING)
        return ""

    def emit(self, kind: EventKind, text: str) -> None:
        self.told.append(text)

    def request_stop(self, outcome: RunOutcome = "stopped") -> None:
        self.stopped = outcome

    def publish_status(self) -> None:
        return

    def fail(self, error: Exception) -> None:
        self.failure = error

    def event(self, kind: EventKind, text: str = "") -> None:
        self.run.on_event(Event(at=0, elapsed_seconds=self.now, kind=kind, text=text, marker=1))

    async def begin(self) -> None:
        await self.run.dry_run()
        self.event(EventKind.START)
        await asyncio.sleep(0)

    async def drive(self, seconds: int, *, disturbance: str = "") -> None:
        for _ in range(seconds):
            if self.stopped:
                return
            self.now += 1.0
            rate = 100.0
            for name in self.current:
                rate *= self.factors.get(name, 1.0)
                if name == self.noisy:
                    rate *= 0.5 if self.visits % 2 else 1.5
            rate *= 1 + 0.002 * (int(self.now) % 3)
            if self.wavering:
                rate *= self.wavering.uniform(0.8, 1.2)
            self.run.tick(Slot(self.now, 1.0, rate, p95_ms=1000 / rate), disturbance=disturbance)
            for _ in range(8):
                await asyncio.sleep(0)


async def test_it_finds_what_matters_and_ends_with_everything_restored(tmp_path: Path) -> None:
    session = Session(tmp_path)
    await session.begin()
    await session.drive(2000)
    result = session.run.result
    verdicts = {one.candidate.setting: one.verdict for one in result.results}
    assert verdicts == {
        GOOD: TuneVerdict.BETTER,
        BAD: TuneVerdict.WORSE,
        NONE: TuneVerdict.NO_EFFECT,
    }
    assert session.stopped == "done"
    assert result.is_complete
    assert [result.result_of(number).candidate.setting for number in result.winner] == [GOOD]
    assert result.together is None
    assert any(line.startswith("innodb_io_capacity 200 → ") for line in session.told)
    assert session.failure is None


@pytest.mark.whole
async def test_the_rest_of_the_budget_is_for_undecided_candidates_after_the_best_were_tested_together(
    tmp_path: Path,
) -> None:
    session = Session(tmp_path)
    session.factors[BAD] = 1.4
    session.noisy = NONE
    await session.begin()
    await session.drive(2100)
    result = session.run.result
    undecided = next(one.candidate.number for one in result.results if one.candidate.setting == NONE)
    assert result.together is not None
    assert result.together.verdict is TuneVerdict.BETTER
    _, blocks = read_tune_log(tmp_path)
    last_together = max(place for place, block in enumerate(blocks) if block.is_together)
    rest = [{window.candidates for window in block.windows} for block in blocks[last_together + 1 :]]
    assert rest
    assert all(each == {(), (undecided,)} for each in rest)


async def test_each_window_has_one_value_and_a_block_one_baseline(tmp_path: Path) -> None:
    session = Session(tmp_path)
    await session.begin()
    for _ in range(60):
        await session.drive(1)
        assert len(session.current) <= 1
    head, blocks = read_tune_log(tmp_path)
    assert [one.setting for one in head.candidates] == [GOOD, NONE, BAD] or len(head.candidates) == 3
    assert len(blocks) >= 2
    for block in blocks:
        assert sorted(len(window.candidates) for window in block.windows) == [0, 1, 1]
        assert not any(window.disturbance for window in block.windows)


MORE = {"sort_buffer_size": "262144", "join_buffer_size": "262144"}


async def test_undecided_candidates_share_windows_and_all_is_restored(tmp_path: Path) -> None:
    session = Session(tmp_path, only=(*THREE, *MORE), tolerance_percent=0.01)
    session.states = states(SERVER, {**VALUES, **THREE, **MORE, "innodb_io_capacity_max": "2000"})
    session.wavering = random.Random(1)
    await session.begin()
    await session.drive(800)
    _, blocks = read_tune_log(tmp_path)
    shared = [block for block in blocks if any(len(window.candidates) > 1 for window in block.windows)]
    assert len(shared) >= 5
    assert all(len(block.windows) == 2 for block in shared)
    session.run.end()
    await session.run.restore_values()
    assert session.current == {}


@pytest.mark.whole
async def test_a_value_that_is_refused_beside_others_is_measured_alone(tmp_path: Path) -> None:
    session = Session(tmp_path, only=(*THREE, *MORE), tolerance_percent=0.01)
    session.states = states(SERVER, {**VALUES, **THREE, **MORE, "innodb_io_capacity_max": "2000"})
    session.crowded = "sort_buffer_size"
    session.wavering = random.Random(1)
    await session.begin()
    await session.drive(1500)
    one = next(one for one in session.run.candidates if one.setting == session.crowded)
    _, blocks = read_tune_log(tmp_path)
    beside = [
        window
        for block in blocks
        for window in block.windows
        if one.number in window.candidates and len(window.candidates) > 1
    ]
    *accepted, refused = [window.disturbance for window in beside]
    assert (set(accepted) - {""}, refused) == (set(), "not beside others")
    assert session.failure is None
    assert not any(each.failure for each in session.run.result.results)


async def test_a_restore_that_fails_ends_the_run(tmp_path: Path) -> None:
    session = Session(tmp_path)
    await session.begin()
    session.unrestorable = TuibenchError("the server refuses the old value")
    await session.drive(4 * (WINDOW + 1))
    assert session.failure is session.unrestorable


async def test_a_disturbed_window_gives_no_pairs(tmp_path: Path) -> None:
    session = Session(tmp_path)
    await session.begin()
    await session.drive(3)
    await session.drive(1, disturbance="the host was busy")
    await session.drive(3 * (WINDOW + 1))
    (first, *_) = read_tune_log(tmp_path)[1]
    assert [window.disturbance for window in first.windows].count("the host was busy") == 1
    session.event(EventKind.FOREIGN, "somebody set sync_binlog")
    await session.drive(3 * (WINDOW + 1))
    second = read_tune_log(tmp_path)[1][1]
    assert "somebody set sync_binlog" in {window.disturbance for window in second.windows}


async def test_a_refused_setting_is_reported_and_skipped(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.refusals[BAD] = TuibenchError("the server refuses it")
    await session.begin()
    await session.drive(2000)
    refused = next(one for one in session.run.result.results if one.candidate.setting == BAD)
    assert (refused.verdict, refused.failure) == (TuneVerdict.REFUSED, "the server refuses it")
    assert session.failure is None
    asked = [each for each in session.submitted if isinstance(each, ChangeSetting) and each.name == BAD]
    assert len(asked) == 1


async def test_a_server_that_is_away_disturbs_the_window_only(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.refusals = dict.fromkeys(THREE, ConnectionLostError(2013, "lost"))
    await session.begin()
    await session.drive(2 * (WINDOW + 1))
    session.refusals = {}
    await session.drive(2000)
    assert session.stopped == "done"
    assert not any(one.failure for one in session.run.result.results)


async def test_with_apply_the_winner_stays_until_the_run_ends(tmp_path: Path) -> None:
    session = Session(tmp_path, apply=True)
    await session.begin()
    await session.drive(2000)
    assert session.stopped is None
    assert set(session.current) == {GOOD}
    assert session.run.result.is_complete


async def test_a_budget_that_is_used_up_ends_it_with_what_is_known(tmp_path: Path) -> None:
    session = Session(tmp_path, budget_seconds=200.0)
    await session.begin()
    await session.drive(400)
    assert session.stopped == "done"
    assert session.now <= 200 + 3 * (WINDOW + 1)


async def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    first = Session(tmp_path)
    await first.begin()
    await first.drive(80)
    earlier = read_tune_log(tmp_path)[1]
    assert earlier
    again = tmp_path / "again"
    again.mkdir()
    second = Session(again, resume=str(tmp_path))
    await second.begin()
    assert second.run.result.blocks == len(earlier)
    assert second.run.result.seconds == pytest.approx(earlier[-1].end_seconds)
    await second.drive(2000)
    head, blocks = read_tune_log(again)
    assert blocks[: len(earlier)] == earlier
    assert head.candidates == first.run.candidates
    assert second.run.result.is_complete


async def test_it_is_resumed_only_where_it_began(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no tune\.jsonl"):
        await Session(tmp_path, resume=str(tmp_path)).run.dry_run()
    first = Session(tmp_path)
    await first.begin()
    second = Session(tmp_path / "again", resume=str(tmp_path))
    second.states = states(SERVER, {**VALUES, **THREE, "innodb_io_capacity": "300"})
    with pytest.raises(UsageError, match=r"innodb_io_capacity was 200 .*, and is 300 now"):
        await second.run.dry_run()


async def test_on_a_private_server_it_goes_on_with_another_of_this_version(tmp_path: Path) -> None:
    """Its predecessor is gone, with its directory, which is part of the identity."""
    first = Session(tmp_path, is_private=True)
    await first.begin()
    new = msgspec.structs.replace(SERVER, identity="another directory")
    await Session(tmp_path / "new", new, is_private=True, resume=str(tmp_path)).run.dry_run()
    with pytest.raises(UsageError, match=r"on a private server \(.*, this is .* on another directory"):
        await Session(tmp_path / "new", new, resume=str(tmp_path)).run.dry_run()
    newer = msgspec.structs.replace(new, version_text="99.1")
    with pytest.raises(UsageError, match=r"this is .* on a private server \(.* 99\.1\)"):
        await Session(tmp_path / "new", newer, is_private=True, resume=str(tmp_path)).run.dry_run()


async def test_nothing_to_try_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is nothing to test: max_connections: a limit or a log"):
        await Session(tmp_path, only=("max_connections",)).run.dry_run()
