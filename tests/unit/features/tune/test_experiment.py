"""Tuning: candidates, evaluation, runner."""

import random
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from tests.examples import PLAN, SAMPLE, SERVER
from tests.ticks import measured_tick
from tests.unit.features.tune.tune_examples import (
    P95,
    TPS,
    block,
    candidate,
    evaluated,
    shared_block,
    together_block,
)
from tests.unit.tuning.test_catalogue import MARIADB, MYSQL
from tuibench.base.errors import TuibenchError, UsageError
from tuibench.features.tune.candidates import (
    Room,
    TuneLog,
    find_candidates,
    most_candidates,
    read_tune_log,
    spread,
)
from tuibench.features.tune.evaluation import (
    ANOMALIES,
    NO_ANOMALIES,
    CandidatePairs,
    Evaluation,
    is_decided,
    statement,
)
from tuibench.features.tune.experiment import TuneRun, prepare_screening
from tuibench.model.server import ServerInfo
from tuibench.model.settings import SettingState, option_line
from tuibench.model.tune import Candidate, TuneBlock, TunePlan, TuneVerdict, TuneWindow
from tuibench.session.laboratory import NO_ANSWER, ExperimentSession
from tuibench.tuning import catalogue
from tuibench.tuning.catalogue import wanted_settings

# Which values are tried: those that are safe on this server and may have an effect.


GIB = 2**30
ROOM = Room(memory_bytes=16 * GIB, disk_bytes=100 * GIB, connections=8)
VALUES = {
    "innodb_flush_log_at_trx_commit": "1",
    "sync_binlog": "1",
    "innodb_io_capacity": "200",
    "innodb_io_capacity_max": "2000",
    "innodb_buffer_pool_size": str(256 * 2**20),
    "innodb_log_file_size": str(16 * 2**20),
    "sort_buffer_size": str(256 * 2**10),
    "table_open_cache": "10",
    "slow_query_log": "ON",
    "general_log": "OFF",
    "thread_pool_oversubscribe": "3",
    "innodb_deadlock_detect": "ON",
    "max_connections": "151",
}
VARIABLES = {"log_bin": "ON", "thread_handling": "one-thread-per-connection"}


def states(server: ServerInfo, values: dict[str, str]) -> tuple[SettingState, ...]:
    return tuple(
        catalogue.setting_state(
            setting,
            server,
            values.get(setting.name, ""),
            values.get(setting.name, ""),
            catalogue.unsupported_reason(setting, server) or ("" if setting.name in values else "not here"),
        )
        for setting in catalogue.SETTINGS
    )


def found(
    server: ServerInfo = MARIADB, room: Room = ROOM, values: dict[str, str] | None = None, **plan: Any
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The values by setting, and why the others are left out."""
    candidates, left_out = find_candidates(
        states(server, {**VALUES, **(values or {})}), server, VARIABLES, room, TunePlan(**plan)
    )
    by_name: dict[str, list[str]] = {}
    for one in candidates:
        by_name.setdefault(one.setting, []).append(one.value)
    return by_name, {one.setting: one.why for one in left_out}


def test_risky_values_are_tried_only_when_asked_for() -> None:
    safe, left_out = found()
    assert "innodb_flush_log_at_trx_commit" not in safe
    assert "--allow-risk: committed data can be lost" in left_out["innodb_flush_log_at_trx_commit"]
    assert "only with --allow-risk" in left_out["innodb_deadlock_detect"]
    risky, _ = found(allow_risk=True)
    assert risky["innodb_flush_log_at_trx_commit"] == ["2", "0"]
    assert risky["innodb_deadlock_detect"] == ["OFF"]


def test_limits_and_logs_are_no_question_of_speed() -> None:
    tried, left_out = found(allow_risk=True)
    assert "max_connections" not in tried
    assert "max_connections" not in left_out
    assert "does not affect speed" in found(only=("max_connections",))[1]["max_connections"]
    assert tried["slow_query_log"] == ["OFF"]
    assert left_out["general_log"] == "there is no other value to test"


def test_what_another_setting_keeps_from_acting_is_left_out() -> None:
    tried, left_out = found()
    assert "thread_pool_oversubscribe" not in tried
    assert (
        "it has an effect only with thread_handling=pool-of-threads" in left_out["thread_pool_oversubscribe"]
    )


def test_memory_and_disk_must_suffice() -> None:
    tried, _ = found(values={"innodb_buffer_pool_size": str(GIB)}, room=ROOM._replace(memory_bytes=2 * GIB))
    assert "innodb_buffer_pool_size" not in tried
    few = Room(memory_bytes=64 * 2**20, disk_bytes=GIB, connections=1000)
    tried, left_out = found(room=few)
    assert "sort_buffer_size" not in tried
    assert "not enough memory is free" in left_out["sort_buffer_size"]
    assert tried["innodb_log_file_size"] == [str(96 * 2**20)]
    remote = Room(None, None, 8)
    tried, left_out = found(room=remote)
    assert "innodb_buffer_pool_size" not in tried
    assert "memory of the server's host is not known" in left_out["innodb_buffer_pool_size"]


def test_a_limit_between_two_settings_is_kept() -> None:
    tried, left_out = found(values={"innodb_io_capacity_max": "1000"})
    assert tried["innodb_io_capacity"] == ["1000"]
    assert "may not be above innodb_io_capacity_max" in left_out["innodb_io_capacity"]


def test_only_names_and_topics_are_tried() -> None:
    assert set(found(only=("flushing",))[0]) == {"innodb_io_capacity", "innodb_io_capacity_max"}
    assert set(found(only=("io-capacity".replace("io", "innodb_io"), "caches"))[0]) == {
        "innodb_io_capacity",
        "table_open_cache",
    }
    with pytest.raises(UsageError, match="--only: 'flusing' is not a setting") as caught:
        wanted_settings(("flusing",))
    assert caught.value.hint == "did you mean 'flushing'?"


def test_a_short_budget_tries_one_value_of_each_setting_first() -> None:
    plan = TunePlan(budget_seconds=200, window_seconds=4, candidates_per_block=3)
    assert most_candidates(plan) == 5
    tried, left_out = found(budget_seconds=200.0, window_seconds=4.0, candidates_per_block=3)
    assert sum(map(len, tried.values())) == 5
    assert len(tried) == 5
    assert any("the budget of 200 s is enough for 5 values" in why for why in left_out.values())


@pytest.mark.parametrize(
    ("values", "present", "count", "chosen"),
    [
        (["400", "2000", "4000", "10000"], "10", 2, ["2000", "10000"]),
        (["400", "2000", "4000", "10000"], "10", 1, ["4000"]),
        (["0", "10", "50"], "10.000000", 2, ["50", "0"]),
        (["0", "10"], "50", 2, ["0", "10"]),
        (["1", "2", "3"], "0", 8, ["1", "2", "3"]),
    ],
)
def test_numbers_are_taken_from_both_sides(
    values: list[str], present: str, count: int, chosen: list[str]
) -> None:
    others = [value for value in values if float(value) != float(present)]
    assert spread(others, present, count) == chosen


def test_a_candidate_says_what_it_changes() -> None:
    candidates, _ = find_candidates(
        states(MARIADB, VALUES), MARIADB, VARIABLES, ROOM, TunePlan(only=("innodb_log_file_size",), values=1)
    )
    (one,) = candidates
    assert one == msgspec.structs.replace(one, number=1, change="16 MiB → 1 GiB", at_risk=False)
    assert isinstance(one, Candidate)
    assert "1 GiB of redo log" in one.meaning
    assert find_candidates(states(MYSQL, VALUES), MYSQL, VARIABLES, ROOM, TunePlan())[0]


# What blocks say: verdicts, the best of them, objectives, and the test of the best together.


def test_verdicts_say_what_is_better_worse_and_without_effect() -> None:
    result = evaluated({1: 1.3, 2: 0.7, 3: 1.0}).result(100.0)
    assert [one.verdict for one in result.results] == [
        TuneVerdict.BETTER,
        TuneVerdict.WORSE,
        TuneVerdict.NO_EFFECT,
    ]
    tps = result.results[0].comparison(TPS)
    assert tps is not None
    assert tps.percent == pytest.approx(30, abs=2)
    assert tps.percent_low is not None
    assert tps.percent_high is not None
    assert tps.percent_low < 30 < tps.percent_high
    p95 = result.results[0].comparison(P95)
    assert p95 is not None
    assert p95.percent == pytest.approx(-23, abs=2)
    assert result.winner == (1,)


def test_with_p95_as_the_figure_shorter_is_better() -> None:
    result = evaluated({1: 1.3, 2: 0.7}, primary=P95).result(100.0)
    assert [one.verdict for one in result.results] == [TuneVerdict.BETTER, TuneVerdict.WORSE]
    assert result.winner == (1,)


def test_few_blocks_give_no_verdict() -> None:
    evaluation = evaluated({1: 1.02, 2: 1.0}, blocks=2)
    assert {one.verdict for one in evaluation.result(1.0).results} == {TuneVerdict.CANNOT_TELL}
    assert evaluation.next_block(random.Random(1)) == [(), (1,), (2,)]


def pairs_of(*blocks: TuneBlock) -> CandidatePairs:
    pairs = CandidatePairs()
    for each in blocks:
        pairs.add(each)
    return pairs


def test_disturbed_windows_give_no_pairs() -> None:
    good = block({1: 1.0, 2: 1.0}, random.Random(1))
    bad_base = TuneBlock(
        end_seconds=1.0, windows=(TuneWindow(disturbance="a restart"), *good.windows[:1], *good.windows[2:])
    )
    bad = TuneBlock(
        end_seconds=1.0,
        windows=(
            TuneWindow(candidates=(1,), disturbance="a pause"),
            TuneWindow(candidates=(2,), figures={TPS: 1.0}),
            TuneWindow(figures={TPS: 1.0}),
        ),
    )
    shared = TuneBlock(
        end_seconds=1.0,
        windows=(
            TuneWindow(candidates=(1,), disturbance="a pause"),
            TuneWindow(candidates=(2,), figures={TPS: 1.0}),
        ),
    )
    assert len(pairs_of(good, bad).of(1)) == 1
    assert [pair.order for pair in pairs_of(bad).of(2)] == ["BA"]
    for block_without_pairs in (bad_base, shared):
        assert pairs_of(block_without_pairs).of(1) == pairs_of(block_without_pairs).of(2) == ()


def test_windows_that_candidates_share_measure_each_of_them() -> None:
    rng = random.Random(2)
    factors = {1: 1.3, 2: 0.8, 3: 1.0, 4: 1.0, 5: 1.0}
    evaluation = evaluated(factors, blocks=4)
    evaluation.add(shared_block(factors, rng) for _ in range(12))
    result = evaluation.result(1.0)
    assert [one.pairs for one in result.results] == [16] * 5
    assert [one.verdict for one in result.results] == [
        TuneVerdict.BETTER,
        TuneVerdict.WORSE,
        *[TuneVerdict.NO_EFFECT] * 3,
    ]
    tps = [one.comparison(TPS) for one in result.results]
    assert [one.percent for one in tps if one] == pytest.approx([30, -20, 0, 0, 0], abs=1)
    assert [one.before for one in tps if one] == pytest.approx([1000] * 5, rel=0.02)


def test_known_effects_of_others_do_not_widen_an_interval() -> None:
    def half_width(blocks_before: int) -> float:
        factors = {1: 1.5, 2: 1.0, 3: 1.0}
        evaluation = evaluated(factors, blocks=blocks_before)
        rng = random.Random(2)
        evaluation.add(shared_block(factors, rng) for _ in range(20 - blocks_before))
        (found,) = [one for one in evaluation.result(1.0).results[1].comparisons if one.figure == TPS]
        assert found.percent_high is not None
        assert found.percent_low is not None
        return (found.percent_high - found.percent_low) / 2

    assert half_width(4) < half_width(0) / 5


def test_undecided_candidates_share_windows_after_some_of_their_own() -> None:
    factors = dict.fromkeys(range(1, 6), 1.0)
    evaluation = evaluated(factors, blocks=3, tolerance_percent=0.1)
    rng = random.Random(4)
    assert evaluation.next_block(rng) == [(), (1,), (2,), (3,), (4,)]
    evaluation.add([block(factors, rng)])
    halves = [evaluation.next_block(rng) for _ in range(20)]
    assert all(sorted(first + second) == [1, 2, 3, 4, 5] for first, second in halves)
    assert len({first for first, _ in halves}) > 10


def test_values_that_exclude_each_other_are_not_in_the_same_windows() -> None:
    candidates = (
        candidate(1, "innodb_io_capacity", "1000"),
        candidate(2, "innodb_io_capacity", "2000"),
        candidate(3, "innodb_io_capacity_max", "4000"),
        candidate(4, "setting_4"),
        candidate(5, "setting_5"),
        candidate(6, "innodb_redo_log_capacity", can_share=False),
    )
    evaluation = evaluated(dict.fromkeys(range(1, 7), 1.0), 4, candidates=candidates, tolerance_percent=0.1)
    rng = random.Random(4)
    blocks = [evaluation.next_block(rng) for _ in range(60)]
    shared = [set(first + second) for first, second in blocks if (first or second) != (6,)]
    assert all(len(each & {1, 2, 3}) == 1 and {4, 5} < each and 6 not in each for each in shared)
    assert {min(each) for each in shared} == {1, 2, 3}
    own = [each for each in blocks if (6,) in each]
    assert own
    assert all(each == [(), (6,)] for each in own)
    evaluation.alone |= {4, 5}
    assert () in evaluation.next_block(rng)


def test_only_the_best_value_of_a_setting_is_among_the_best() -> None:
    candidates = (
        candidate(1, "innodb_io_capacity", "1000"),
        candidate(2, "innodb_io_capacity", "2000"),
        candidate(3, "sync_binlog", "0"),
        candidate(4, "innodb_flush_neighbors", "0"),
    )
    evaluation = evaluated({1: 1.2, 2: 1.5, 3: 1.3, 4: 1.0}, candidates=candidates)
    result = evaluation.result(1.0)
    assert evaluation.best(result.results) == (2, 3)
    assert result.winner == (2,)


def test_a_value_that_misses_an_objective_wins_nothing() -> None:
    evaluation = evaluated({1: 1.5, 2: 1.2}, objectives=("p95<5ms", "tps>1"))
    result = evaluation.result(1.0)
    assert [one.misses for one in result.results] == ["p95<5ms", "p95<5ms"]
    assert result.winner == ()
    met = evaluated({1: 1.5, 2: 1.2}, objectives=("p95<8ms",)).result(1.0)
    assert [one.misses for one in met.results] == ["", "p95<8ms"]
    assert met.winner == (1,)


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ({0: 0.0, 1: 0.4, 2: 0.0}, [NO_ANOMALIES, ""]),
        ({0: 10.0, 1: 10.0, 2: 20.0}, ["", NO_ANOMALIES]),
        ({0: 10.0, 1: 0.0, 2: 2.0}, ["", ""]),
    ],
)
def test_a_value_with_anomalies_that_the_original_has_not_wins_nothing(
    rates: Mapping[int, float], words: list[str]
) -> None:
    """Rates of anomalies by candidate, 0 for the original value. Both candidates are faster."""
    rng = random.Random(7)

    def with_anomalies(window: TuneWindow) -> TuneWindow:
        rate = rates[window.candidates[0] if window.candidates else 0] * (1 + rng.uniform(-0.05, 0.05))
        return msgspec.structs.replace(window, figures={**window.figures, ANOMALIES: rate})

    blocks = (block({1: 1.5, 2: 1.5}, rng, at=10.0 * place) for place in range(12))
    evaluation = evaluated({1: 1.5, 2: 1.5}, blocks=0)
    evaluation.add(
        msgspec.structs.replace(each, windows=tuple(map(with_anomalies, each.windows))) for each in blocks
    )
    result = evaluation.result(1.0)
    assert [one.misses for one in result.results] == words
    losing = {number for number, missed in enumerate(words, start=1) if missed}
    assert not losing & set(result.winner)
    assert set(result.winner) or len(losing) == len(words)


def test_the_best_together_win_if_they_are_better_together() -> None:
    rng = random.Random(5)
    evaluation = evaluated({1: 1.3, 2: 1.2})
    evaluation.together = (1, 2)
    assert not is_decided(evaluation.result(1.0).together)
    evaluation.add(together_block((1, 2), 1.56, rng) for _ in range(6))
    result = evaluation.result(1.0)
    assert is_decided(result.together)
    assert result.together is not None
    assert result.together.verdict is TuneVerdict.BETTER
    assert result.together.product_percent == pytest.approx(56, abs=5)
    assert result.winner == (1, 2)
    worse = Evaluation(TunePlan(), evaluation.candidates)
    worse.together = (1, 2)
    worse.add([*evaluation.blocks[:12], *(together_block((1, 2), 0.9, rng) for _ in range(6))])
    assert worse.result(1.0).winner == (1,)


def test_what_the_server_refuses_is_not_measured_again() -> None:
    evaluation = evaluated({1: 1.0, 2: 1.0}, blocks=1)
    evaluation.failures[1] = "the server refuses it"
    assert evaluation.next_block(random.Random(1)) == [(), (2,)]
    result = evaluation.result(1.0)
    assert result.results[0].verdict is TuneVerdict.REFUSED
    assert result.results[0].failure == "the server refuses it"


def test_statements_and_lines_to_keep_a_value() -> None:
    assert statement(candidate(1)) == "SET GLOBAL innodb_io_capacity = 1000"
    assert option_line("innodb_io_capacity", "1000") == "innodb_io_capacity = 1000"
    own = candidate(1, "transaction_isolation", "READ-COMMITTED", scope="workload")
    assert statement(own) == "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
    assert option_line("sql_log_bin", "OFF") == ""


# A screening: the right values at the right time, what disturbs a window, and its log.


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
    spec = SimpleNamespace(plan=PLAN, private_server="/tmp/server" if is_private else "", run_directory="")
    session = SimpleNamespace(spec=spec, server=server, settings=Server(**values))
    plan = TunePlan(**{**made, **order})
    run = await prepare_screening(plan, cast(ExperimentSession, session))
    # `Driven` writes it.
    run._log = None
    return run


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
            if self.run.tick(measured_tick(self.now, 1.0, rate, p95_ms=1000 / rate), SAMPLE, disturbance):
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
    for each in blocks:
        assert sorted(len(window.candidates) for window in each.windows) == [0, 1, 1]
        assert not any(window.disturbance for window in each.windows)


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


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"setting": "general_log_file", "value": "/etc/x"}, "general_log_file was"),
        ({"setting": "max_connections", "value": "1", "original": "151"}, "not tried here: a limit or a log"),
        ({"value": "$(id)"}, "is no value of|has no value|takes"),
        ({"value": "9" * 400}, "is no value of|has no value|takes"),
        ({"setting": "sync_binlog", "value": "0", "original": "1"}, "only with --allow-risk"),
        ({"number": 77}, "is damaged"),
        ({"change": "\x1b[2J"}, "is damaged"),
    ],
)
async def test_a_record_that_was_changed_is_not_resumed(
    changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    run = await prepared()
    head = run.head
    (first, *others) = head.candidates
    wrong = msgspec.structs.replace(first, **changed)
    TuneLog(tmp_path).write(msgspec.structs.replace(head, candidates=(wrong, *others)), ())
    with pytest.raises(UsageError, match=message):
        await prepared(resume=str(tmp_path))


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
