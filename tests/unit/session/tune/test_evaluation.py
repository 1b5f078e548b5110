"""What blocks say: verdicts, the best of them, objectives, and the test of the best together."""

import random

import pytest

from tests.unit.session.tune.examples import (
    P95,
    TPS,
    block,
    candidate,
    evaluated,
    shared_block,
    together_block,
)
from tuibench.model.experiments.tune import TuneBlock, TunePlan, TuneVerdict, TuneWindow
from tuibench.session.tune.evaluation import Evaluation, is_decided, option_line, statement
from tuibench.session.tune.pairs import CandidatePairs


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
        (found,) = [one for one in evaluation.result(1.0).results[1].comparisons if one.figure is TPS]
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
    assert option_line(candidate(1)) == "innodb_io_capacity = 1000"
    own = candidate(1, "transaction_isolation", "READ-COMMITTED", scope="workload")
    assert statement(own) == "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
    assert option_line(candidate(1, "sql_log_bin", "OFF")) == ""
