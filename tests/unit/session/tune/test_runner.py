"""A screening: the right values at the right time, what disturbs a window, and its log."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tests.examples import PLAN, SERVER
from tests.unit.session.tune.test_candidates import VALUES, VARIABLES, states
from tuibench.errors import TuibenchError, UsageError
from tuibench.metrics.series.slots import Slot
from tuibench.model.experiments.tune import TunePlan, TuneVerdict
from tuibench.model.server import ServerInfo
from tuibench.record.files.tune_log import TuneLog, read_tune_log
from tuibench.session.control.settings import Settings
from tuibench.session.disturbances import NO_ANSWER
from tuibench.session.tune.runner import TuneRun, prepare_screening

WINDOW = 6
NO_VALUES: Mapping[str, str] = {}
GOOD, BAD, NONE = "innodb_io_capacity", "innodb_flush_neighbors", "innodb_adaptive_flushing"
THREE = {"innodb_flush_neighbors": "0", "innodb_adaptive_flushing": "ON", "innodb_io_capacity": "200"}
FACTORS = {GOOD: 1.5, BAD: 0.7, NONE: 1.0}


class Server:
    """Its settings, without any I/O."""

    def __init__(self, **values: str) -> None:
        self.guard = self
        self.states = states(SERVER, {**VALUES, **THREE, "innodb_io_capacity_max": "2000", **values})

    def require_confirmation(self) -> None:
        return

    async def variables(self, names: tuple[str, ...]) -> dict[str, str]:
        return {**VARIABLES, "datadir": "/"}


async def prepared(
    server: ServerInfo = SERVER,
    *,
    is_private: bool = False,
    values: Mapping[str, str] = NO_VALUES,
    **order: Any,
) -> TuneRun:
    made = {
        "budget_seconds": 2000.0,
        "window_seconds": WINDOW,
        "only": tuple(THREE),
        "values": 1,
        "candidates_per_block": 2,
    }
    plan, settings = TunePlan(**{**made, **order}), cast(Settings, Server(**values))
    return await prepare_screening(plan, PLAN, server, settings, is_private=is_private)


class Driven:
    """A screening on a server that obeys at once; writes its log."""

    def __init__(self, run: TuneRun, directory: Path) -> None:
        self.run = run
        self.asked: list[str] = []
        self.told: list[str] = []
        self.refusals: dict[str, TuibenchError] = {}
        self.crowded = ""
        self.is_away = False
        self.wavering: random.Random | None = None
        self.now = 0.0
        self.factors = dict(FACTORS)
        self.noisy = ""
        self.visits = 0
        self.current: set[str] = set()
        self.log = TuneLog(directory)
        run.begin(0.0)
        self.report()
        self.obey()

    def report(self) -> None:
        self.told += self.run.told
        self.run.told.clear()
        self.log.write(self.run.head, self.run.blocks)

    def obey(self) -> None:
        if (wanted := self.run.wanted) is None:
            return
        self.run.wanted = None
        if self.is_away:
            self.run.disturb(NO_ANSWER)
            wanted = {}
        self.current &= set(wanted)
        for name in wanted:
            if name in self.current:
                continue
            self.asked.append(name)
            self.visits += name == self.noisy
            if error := self.refusals.get(name):
                self.run.refused(name, error, self.now)
                break
            if name == self.crowded and self.current:
                self.run.refused(name, TuibenchError("not beside others"), self.now)
                break
            self.current.add(name)
        self.run.applied(self.now)

    def drive(self, seconds: int, *, disturbance: str = "") -> None:
        for _ in range(seconds):
            if self.run.is_over:
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
            if self.run.tick(Slot(self.now, 1.0, rate, p95_ms=1000 / rate), disturbance):
                self.report()
            self.obey()


async def test_it_finds_what_matters_and_ends_with_everything_restored(tmp_path: Path) -> None:
    session = Driven(await prepared(), tmp_path)
    session.drive(2000)
    result = session.run.result
    verdicts = {one.candidate.setting: one.verdict for one in result.results}
    assert verdicts == {
        GOOD: TuneVerdict.BETTER,
        BAD: TuneVerdict.WORSE,
        NONE: TuneVerdict.NO_EFFECT,
    }
    assert session.run.is_over
    assert result.is_complete
    assert [result.result_of(number).candidate.setting for number in result.winner] == [GOOD]
    assert result.together is None
    assert any(line.startswith("innodb_io_capacity 200 → ") for line in session.told)
    assert session.run.error is None


@pytest.mark.whole
async def test_the_rest_of_the_budget_is_for_undecided_candidates_after_the_best_were_tested_together(
    tmp_path: Path,
) -> None:
    session = Driven(await prepared(), tmp_path)
    session.factors[BAD] = 1.4
    session.noisy = NONE
    session.drive(2100)
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
    session = Driven(await prepared(), tmp_path)
    for _ in range(60):
        session.drive(1)
        assert len(session.current) <= 1
    head, blocks = read_tune_log(tmp_path)
    assert [one.setting for one in head.candidates] == [GOOD, NONE, BAD] or len(head.candidates) == 3
    assert len(blocks) >= 2
    for block in blocks:
        assert sorted(len(window.candidates) for window in block.windows) == [0, 1, 1]
        assert not any(window.disturbance for window in block.windows)


MORE = {"sort_buffer_size": "262144", "join_buffer_size": "262144"}


async def test_undecided_candidates_share_windows_in_halves(tmp_path: Path) -> None:
    run = await prepared(only=(*THREE, *MORE), tolerance_percent=0.01, values=MORE)
    session = Driven(run, tmp_path)
    session.wavering = random.Random(1)
    session.drive(800)
    _, blocks = read_tune_log(tmp_path)
    shared = [block for block in blocks if any(len(window.candidates) > 1 for window in block.windows)]
    assert len(shared) >= 5
    assert all(len(block.windows) == 2 for block in shared)


@pytest.mark.whole
async def test_a_value_that_is_refused_beside_others_is_measured_alone(tmp_path: Path) -> None:
    run = await prepared(only=(*THREE, *MORE), tolerance_percent=0.01, values=MORE)
    session = Driven(run, tmp_path)
    session.crowded = "sort_buffer_size"
    session.wavering = random.Random(1)
    session.drive(1500)
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
    assert session.run.error is None
    assert not any(each.failure for each in session.run.result.results)


async def test_a_disturbed_window_gives_no_pairs(tmp_path: Path) -> None:
    session = Driven(await prepared(), tmp_path)
    session.drive(3)
    session.drive(1, disturbance="the host was busy")
    session.drive(3 * (WINDOW + 1))
    (first, *_) = read_tune_log(tmp_path)[1]
    assert [window.disturbance for window in first.windows].count("the host was busy") == 1
    session.run.disturb("somebody set sync_binlog", is_late=True)
    session.drive(3 * (WINDOW + 1))
    second = read_tune_log(tmp_path)[1][1]
    assert "somebody set sync_binlog" in {window.disturbance for window in second.windows}


async def test_a_refused_setting_is_reported_and_skipped(tmp_path: Path) -> None:
    session = Driven(await prepared(), tmp_path)
    session.refusals[BAD] = TuibenchError("the server refuses it")
    session.drive(2000)
    refused = next(one for one in session.run.result.results if one.candidate.setting == BAD)
    assert (refused.verdict, refused.failure) == (TuneVerdict.REFUSED, "the server refuses it")
    assert session.run.error is None
    assert session.asked.count(BAD) == 1


async def test_a_server_that_is_away_disturbs_the_window_only(tmp_path: Path) -> None:
    session = Driven(await prepared(), tmp_path)
    session.is_away = True
    session.drive(2 * (WINDOW + 1))
    session.is_away = False
    session.drive(2000)
    assert session.run.is_over
    assert not any(one.failure for one in session.run.result.results)


async def test_with_apply_the_winner_stays_until_the_run_ends(tmp_path: Path) -> None:
    session = Driven(await prepared(apply=True), tmp_path)
    session.drive(2000)
    assert not session.run.is_over
    assert session.current == {GOOD}
    assert session.run.result.is_complete


async def test_a_budget_that_is_used_up_ends_it_with_what_is_known(tmp_path: Path) -> None:
    session = Driven(await prepared(budget_seconds=200.0), tmp_path)
    session.drive(400)
    assert session.run.is_over
    assert session.now <= 200 + 3 * (WINDOW + 1)


async def test_a_winner_that_is_refused_ends_it(tmp_path: Path) -> None:
    run = await prepared(apply=True)
    session = Driven(run, tmp_path)
    while not run.result.is_complete:
        session.drive(1)
    run.refused(GOOD, error := TuibenchError("no"), session.now)
    assert run.error is error


async def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    first = Driven(await prepared(), tmp_path)
    first.drive(80)
    earlier = read_tune_log(tmp_path)[1]
    assert earlier
    again = tmp_path / "again"
    again.mkdir()
    second = Driven(await prepared(resume=str(tmp_path)), again)
    assert second.run.result.blocks == len(earlier)
    assert second.run.result.seconds == pytest.approx(earlier[-1].end_seconds)
    second.drive(2000)
    head, blocks = read_tune_log(again)
    assert blocks[: len(earlier)] == earlier
    assert head.candidates == first.run.candidates
    assert second.run.result.is_complete


async def test_it_is_resumed_only_where_it_began(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no tune\.jsonl"):
        await prepared(resume=str(tmp_path))
    Driven(await prepared(), tmp_path)
    with pytest.raises(UsageError, match=r"innodb_io_capacity was 200 .*, and is 300 now"):
        await prepared(resume=str(tmp_path), values={"innodb_io_capacity": "300"})


async def test_on_a_private_server_it_goes_on_with_another_of_this_version(tmp_path: Path) -> None:
    """Its predecessor is gone, with its directory, which is part of the identity."""
    Driven(await prepared(is_private=True), tmp_path)
    new = msgspec.structs.replace(SERVER, identity="another directory")
    await prepared(new, is_private=True, resume=str(tmp_path))
    with pytest.raises(UsageError, match=r"on a private server \(.*, this is .* on another directory"):
        await prepared(new, resume=str(tmp_path))
    newer = msgspec.structs.replace(new, version_text="99.1")
    with pytest.raises(UsageError, match=r"this is .* on a private server \(.* 99\.1\)"):
        await prepared(newer, is_private=True, resume=str(tmp_path))


async def test_nothing_to_try_is_an_error() -> None:
    with pytest.raises(UsageError, match="there is nothing to test: max_connections: a limit or a log"):
        await prepared(only=("max_connections",))
