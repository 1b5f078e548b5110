"""What blocks say: verdicts, the best of them, objectives, and the test of the best together."""

import random

import pytest

from tests.unit.session.tune.examples import P95, TPS, block, candidate, evaluated
from tuibench.model.experiments.tune import BASELINE, TOGETHER, TuneBlock, TuneVerdict, TuneWindow
from tuibench.session.tune.evaluation import is_decided, option_line, pairs_of, statement


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
    assert evaluation.next_block() == [1, 2]


def test_disturbed_windows_give_no_pairs() -> None:
    good = block({1: 1.0, 2: 1.0}, random.Random(1))
    bad_base = TuneBlock(
        end_seconds=1.0,
        windows=(TuneWindow(candidate=BASELINE, disturbance="a restart"), good.windows[0], good.windows[1]),
    )
    bad = TuneBlock(
        end_seconds=1.0,
        windows=(
            TuneWindow(candidate=1, disturbance="a pause"),
            TuneWindow(candidate=2, figures={TPS: 1.0}),
            TuneWindow(candidate=BASELINE, figures={TPS: 1.0}),
        ),
    )
    assert len(pairs_of([good, bad], 1)) == 1
    assert [pair.order for pair in pairs_of([bad], 2)] == ["BA"]
    assert pairs_of([bad_base], 1) == pairs_of([bad_base], 2) == ()


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
    evaluation.blocks += [block({TOGETHER: 1.56}, rng) for _ in range(6)]
    result = evaluation.result(1.0)
    assert is_decided(result.together)
    assert result.together is not None
    assert result.together.verdict is TuneVerdict.BETTER
    assert result.together.product_percent == pytest.approx(56, abs=5)
    assert result.winner == (1, 2)
    evaluation.blocks = evaluation.blocks[:12] + [block({TOGETHER: 0.9}, rng) for _ in range(6)]
    assert evaluation.result(1.0).winner == (1,)


def test_what_the_server_refuses_is_not_measured_again() -> None:
    evaluation = evaluated({1: 1.0, 2: 1.0}, blocks=1)
    evaluation.failures[1] = "the server refuses it"
    assert evaluation.next_block() == [2]
    result = evaluation.result(1.0)
    assert result.results[0].verdict is TuneVerdict.REFUSED
    assert result.results[0].failure == "the server refuses it"


def test_statements_and_lines_to_keep_a_value() -> None:
    assert statement(candidate(1)) == "SET GLOBAL innodb_io_capacity = 1000"
    assert option_line(candidate(1)) == "innodb_io_capacity = 1000"
    own = candidate(1, "transaction_isolation", "READ-COMMITTED", scope="workload")
    assert statement(own) == "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
    assert option_line(candidate(1, "sql_log_bin", "OFF")) == ""
