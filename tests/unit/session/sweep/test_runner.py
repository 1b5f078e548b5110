"""What a sweep does about failures, interruptions and servers that go away, with cells that are played."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pytest

from tests import sweeps
from tests.fakes import FakeClock
from tuibench.errors import DeniedError, RunError, ServerUnreachableError, TuibenchError, UsageError
from tuibench.model.results.sweep import Cell, CellResult, Sweep, SweepCase, SweepPlan
from tuibench.record.files.sweep_folder import SweepFolder, load_sweep
from tuibench.session.sweep.cell import CellOutcome, CellRun
from tuibench.session.sweep.matrix import cells_in_order
from tuibench.session.sweep.runner import SERVER_TIMEOUT_SECONDS, InterruptedSweep, SweepRunner
from tuibench.session.sweep.server import CaseTables, TableManager

DONE = "done"
Play = str | TuibenchError
"""How an attempt ends: done, an error that kept it from opening, or the reason why it failed."""


class PlayedRun(CellRun):
    """One attempt; `hangs` until it is interrupted."""

    def __init__(self, cell: Cell, play: Play) -> None:  # (no session behind it)
        self.is_open = False
        self._cell = cell
        self._play = play
        self._interrupted = asyncio.Event()

    async def run(self) -> CellOutcome:
        if isinstance(self._play, TuibenchError):
            raise self._play
        if self._play == "hangs while it opens":
            await asyncio.Event().wait()
        self.is_open = True
        if self._play == "hangs":
            await self._interrupted.wait()
            return CellOutcome(sweeps.failed(self._cell), interrupted=True)
        if self._play == DONE:
            return CellOutcome(sweeps.result(self._cell))
        return CellOutcome(sweeps.failed(self._cell, self._play), RunError(self._play))

    def interrupt(self) -> None:
        self._interrupted.set()


class PlayedTables(CaseTables):
    def __init__(self) -> None:
        self.told: list[str] = []

    async def make(self, case: SweepCase) -> None:
        self.told.append(f"make {case.size}")

    async def drop(self, case: SweepCase) -> None:
        self.told.append(f"drop {case.size}")

    async def files_bytes(self, case: SweepCase) -> int | None:
        return 42


class Stage:
    """A sweep in a folder, whose attempts end as they are told, one after another; then all is well."""

    def __init__(self, directory: Path, plays: Iterable[Play] = (), plan: SweepPlan = sweeps.PLAN) -> None:
        self.directory = directory
        self.clock = FakeClock()
        self.tables = PlayedTables()
        self.tried: list[int] = []
        self.said: list[str] = []
        self.away = 0
        self.on_begin: Callable[[], None] = lambda: None
        self._plays = iter(plays)
        if directory.exists():
            self.folder = SweepFolder.resume(directory)
        else:
            self.folder = SweepFolder.create(directory, sweeps.record(plan))
        keeper = TableManager(self.folder.sweep.record.plan, self.tables, self.said.append)
        self.conductor = SweepRunner(self.folder, keeper, self._attempt, self._reach, self, self.clock)

    def run(self) -> Sweep:
        async def scenario() -> None:
            try:
                await self.conductor.run()
            finally:
                self.folder.close()

        asyncio.run(scenario())
        return load_sweep(self.directory)

    def _attempt(self, cell: Cell) -> CellRun:
        self.tried.append(cell.number)
        return PlayedRun(cell, next(self._plays, DONE))

    async def _reach(self) -> None:
        self.away -= 1
        if self.away >= 0:
            raise ServerUnreachableError("nobody answers")

    def on_cell_start(self, cell: Cell, place: int) -> None:
        self.on_begin()

    def ended(self, result: CellResult, place: int, sweep: Sweep) -> None:
        self.said.append(f"{place} {result.outcome}")

    def report(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "sweep"


IN_ORDER = [cell.number for cell in cells_in_order(sweeps.PLAN)]


def test_all_cells_run_once_in_their_order(directory: Path) -> None:
    stage = Stage(directory)
    sweep = stage.run()
    assert stage.tried == IN_ORDER
    assert [result.cell.number for result in sweep.done] == IN_ORDER
    assert sweep.data[0].files_bytes == 42
    assert stage.tables.told == []


def test_a_failed_cell_is_tried_once_more_when_the_server_is_back(directory: Path) -> None:
    stage = Stage(directory, [DONE, "the server was restarted"])
    stage.away = 3
    sweep = stage.run()
    assert stage.tried[:4] == [IN_ORDER[0], IN_ORDER[1], IN_ORDER[1], IN_ORDER[2]]
    assert len(sweep.done) == 8
    assert stage.clock.slept == [1.0, 1.0, 1.0]


def test_a_cell_that_fails_twice_is_written_down_and_the_others_go_on(directory: Path) -> None:
    stage = Stage(directory, [DONE, "too slow", "too slow again"])
    sweep = stage.run()
    assert [result.failure for result in sweep.results if result.outcome == "failed"] == ["too slow again"]
    assert len(sweep.done) == 7


def test_a_resumed_sweep_runs_what_is_missing_and_what_failed(directory: Path) -> None:
    Stage(directory, [DONE, "no", "no"]).run()
    again = Stage(directory)
    assert len(again.run().done) == 8
    assert again.tried == [IN_ORDER[1]]


def test_several_failures_in_succession_end_the_sweep(directory: Path) -> None:
    stage = Stage(directory, [DONE, *["no"] * 6])
    with pytest.raises(RunError, match="3 cells in succession failed"):
        stage.run()
    sweep = load_sweep(directory)
    assert [result.outcome for result in sweep.results] == ["done", "failed", "failed", "failed"]


def test_a_server_that_stays_away_ends_the_sweep_after_the_patience(directory: Path) -> None:
    stage = Stage(directory, [DONE, ServerUnreachableError("gone")])
    stage.away = 1000
    with pytest.raises(ServerUnreachableError):
        stage.run()
    assert SERVER_TIMEOUT_SECONDS <= sum(stage.clock.slept) <= SERVER_TIMEOUT_SECONDS + 2
    assert len(load_sweep(directory).done) == 1


@pytest.mark.parametrize(
    "error", [RunError("no such table"), ServerUnreachableError("nobody"), UsageError("no")]
)
def test_what_keeps_the_first_cell_from_opening_is_raised_at_once(
    directory: Path, error: TuibenchError
) -> None:
    stage = Stage(directory, [error])
    with pytest.raises(type(error)):
        stage.run()
    assert stage.tried == IN_ORDER[:1]


def test_a_setting_that_is_refused_ends_the_sweep(directory: Path) -> None:
    class Refused(PlayedRun):
        async def run(self) -> CellOutcome:
            return CellOutcome(sweeps.failed(self._cell), DeniedError(1227, "no privilege"))

    stage = Stage(directory)
    stage.conductor._attempt = lambda cell: Refused(cell, DONE)
    with pytest.raises(DeniedError):
        stage.run()
    assert load_sweep(directory).results == ()


@pytest.mark.parametrize("play", ["hangs", "hangs while it opens"])
def test_an_interruption_leaves_what_is_done_and_a_plan_to_go_on_with(directory: Path, play: str) -> None:
    stage = Stage(directory, [DONE, DONE, play])
    begun = 0

    def third_one_is_interrupted() -> None:
        nonlocal begun
        begun += 1
        if begun == 3:
            asyncio.get_running_loop().call_later(0.01, stage.conductor.interrupt)

    stage.on_begin = third_one_is_interrupted
    with pytest.raises(InterruptedSweep):
        stage.run()
    assert [result.cell.number for result in load_sweep(directory).done] == IN_ORDER[:2]
    again = Stage(directory)
    assert len(again.run().done) == 8
    assert again.tried == IN_ORDER[2:]


def test_an_interruption_between_two_cells_begins_no_other(directory: Path) -> None:
    stage = Stage(directory)
    stage.on_begin = stage.conductor.interrupt
    with pytest.raises(InterruptedSweep):
        stage.run()
    assert load_sweep(directory).results == ()


# Tables


def two_sizes(**changes: object) -> SweepPlan:
    small, large = (
        msgspec.structs.replace(sweeps.CASE, name=name, data=name, size=name) for name in ("small", "large")
    )
    return msgspec.structs.replace(sweeps.PLAN, cases=(small, large), **changes)


def test_tables_are_made_once_for_each_size_and_make_room_for_each_other(directory: Path) -> None:
    stage = Stage(directory, plan=two_sizes(prepare=True))
    sweep = stage.run()
    assert stage.tables.told == ["make small", "drop small", "make large"]
    assert {one.data: (one.files_bytes, one.prepared) for one in sweep.data} == {
        "small": (42, False),
        "large": (42, True),
    }


def test_tables_that_were_made_are_dropped_in_the_end_if_asked(directory: Path) -> None:
    stage = Stage(directory, plan=two_sizes(prepare=True, cleanup=True))
    stage.run()
    assert stage.tables.told == ["make small", "drop small", "make large", "drop large"]


def test_a_resumed_sweep_goes_on_with_the_tables_it_has_made(directory: Path) -> None:
    stage = Stage(directory, [DONE, *["no"] * 6], plan=two_sizes(prepare=True))
    with pytest.raises(RunError):
        stage.run()
    again = Stage(directory)
    again.run()
    assert again.tables.told == ["drop small", "make large"]


def test_tables_that_were_there_are_not_touched(directory: Path) -> None:
    stage = Stage(directory, plan=two_sizes())
    stage.run()
    assert stage.tables.told == []
