"""Effects, trials and costs, word for word."""

from typing import Any

import msgspec
import pytest

from tests.tui.support.script import COSTS, EFFECT
from tuibench import units
from tuibench.document import write_text
from tuibench.model.experiments.effect import AbTestPair, AbTestResult, Comparison, EffectFigure, Verdict
from tuibench.model.measurements.operation_cost import OperationCost, Resource
from tuibench.record.report.effect_text import (
    changes_text,
    cost_table,
    effect_line,
    trial_section,
    with_sentence,
)


def comparison(figure: EffectFigure = EffectFigure.TPS, **changes: Any) -> Comparison:
    values: dict[str, Any] = {
        "before": 1000.0,
        "after": 1430.0,
        "delta": 430.0,
        "low": 380.0,
        "high": 490.0,
        "percent": 43.0,
        "percent_low": 38.0,
        "percent_high": 49.0,
        "verdict": Verdict.HIGHER,
    }
    return Comparison(figure=figure, **(values | changes))


NONE = comparison(
    EffectFigure.P95, before=9.1, after=9.0, delta=-0.1, low=-0.4, high=0.2, percent=-1.2, percent_low=-4.4,
    percent_high=2.2, verdict=Verdict.EQUAL, tolerance_percent=5.0,
)  # fmt: skip
ONLY_ABSOLUTE = comparison(
    EffectFigure.FSYNCS, before=0.0, after=1.02, delta=1.02, low=0.98, high=1.05,
    percent=None, percent_low=None, percent_high=None,
)  # fmt: skip


def result(*comparisons: Comparison, left_out: int = 0, pairs: int = 4) -> AbTestResult:
    pair = AbTestPair(
        cycle=1, order="AB", a={EffectFigure.TPS: 100.0}, b={EffectFigure.TPS: 138.0}, settling_seconds=1.0
    )
    return with_sentence(
        AbTestResult(
            subject="sync_binlog",
            a="1",
            b="0",
            cycles=4,
            window_seconds=10.0,
            pairs=(pair,) * pairs,
            left_out=left_out,
            comparisons=comparisons,
            sentence="",
        )
    )


def test_every_figure_has_its_verdict_and_interval() -> None:
    assert changes_text([NONE, comparison(), ONLY_ABSOLUTE]) == (
        "p95 equal within ±5 %: −1.2 % (−4.4..2.2 %), TPS higher: +43 % (38..49 %), "
        "fsyncs/trx higher: +1.020 (0.980..1.050)"
    )


def test_the_line_of_an_effect_has_its_change() -> None:
    assert effect_line(EFFECT) == (
        "effect of 3 (preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0): TPS higher: +55 % (49..61 %), "
        "p95 lower: −54 % (−57..−51 %), fsyncs/trx lower: −98 % (−98..−98 %) (12 s each, 2 s to settle)"
    )


def test_costs_are_one_table_without_what_is_not_known() -> None:
    table = cost_table(COSTS)
    assert table is not None
    assert table.header[1:] == ("transactions", "log fsyncs", "redo", "binlog syncs", "binlog")
    assert len(table.rows) == sum(cost.transactions > 0 for cost in COSTS)
    assert table.rows[1][0] == "innodb_flush_log_at_trx_commit=0"
    assert table.rows[1][2:] == ("0.003", "5.96 KiB", "–", "–")
    assert table.rows[2][4:] == ("0.97", "2.83 KiB")


def test_without_costs_there_is_no_table() -> None:
    assert cost_table(()) is None


def trial_text(found: AbTestResult) -> str:
    return write_text((trial_section(found),))


def test_a_trial_is_a_table_and_a_sentence() -> None:
    assert trial_text(result(comparison(), NONE, ONLY_ABSOLUTE)) == (
        "A/B: sync_binlog, A = 1, B = 0\n"
        "                         A         B  95 % interval  estimate            verdict\n"
        "  TPS             1,000.00  1,430.00       38..49 %     +43 %             higher\n"
        "  p95 (ms)            9.10      9.00    −4.4..2.2 %    −1.2 %  equal within ±5 %\n"
        "  log fsyncs/trx     0.000     1.020   0.980..1.050    +1.020             higher\n"
        "  sync_binlog 0 against 1: TPS higher: 38..49 % (about +43 %), p95 equal within ±5 %: −4.4..2.2 % "
        "(about −1.2 %), fsyncs/trx higher: 0.980..1.050 (about +1.020) (4 of 4 cycles)\n"
    )


def test_a_trial_says_what_an_operation_cost_under_either_value() -> None:
    cost_a, cost_b = (
        OperationCost(per_transaction={Resource.SERVER_CPU: cpu, Resource.FSYNCS: fsyncs})
        for cpu, fsyncs in ((2900.0, 1.0), (2100.0, 0.1))
    )
    text = trial_text(msgspec.structs.replace(result(comparison()), cost_a=cost_a, cost_b=cost_b))
    assert "  cost per operation: server CPU 2,900.00 µs → 2,100.00 µs, log fsyncs 1.00 → 0.10\n" in text


def test_left_out_cycles_are_said() -> None:
    assert "disturbed cycles, left out: 2\n" in trial_text(result(left_out=2))


def test_a_test_of_a_late_setting_says_what_windows_it_needs() -> None:
    late = msgspec.structs.replace(result(), acts_after_seconds=6.0, needs_window_seconds=20.0)
    assert with_sentence(late).sentence == (
        "sync_binlog 0 against 1: no verdict (4 of 4 cycles): a change may take about 6 s to act, too "
        "long for windows of 10 s; needs windows of 20 s (--window=20)"
    )
    beside = msgspec.structs.replace(late, comparisons=(comparison(figure=EffectFigure.FSYNCS),))
    assert "(--window=20); fsyncs/trx higher: " in with_sentence(beside).sentence
    known = msgspec.structs.replace(result(comparison()), acts_after_seconds=6.0)
    assert with_sentence(known).sentence.endswith(
        "(4 of 4 cycles, without the first 6 s of a change, until it acts)"
    )


def test_too_few_cycles_make_no_claim() -> None:
    assert result(pairs=2).sentence == (
        "sync_binlog 0 against 1: 2 of 4 cycles are too few for an interval; TPS +38 % so far"
    )
    assert result(pairs=0).sentence.endswith("0 of 4 cycles are too few for an interval")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0"), (1e-4, "0"), (0.003, "0.003"), (0.02, "0.020"), (1.024, "1.02")],
)
def test_small_numbers(value: float | None, text: str) -> None:
    assert units.small_number(value) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((43, 38, 49), "+43 % (38..49 %)"),
        ((-31, -36, -25), "−31 % (−36..−25 %)"),
        ((12, 0.4, 24), "+12.0 % (0.4..24.0 %)"),
        ((1.2, -0.4, 2.8), "+1.2 % (−0.4..2.8 %)"),
        ((0.01, -0.01, 0.03), "0.0 % (0.0..0.0 %)"),
        ((1240, 1100, 1400), "+1,240 % (1,100..1,400 %)"),
        ((17_540, 9_560, 31_000), ">9,999 % (9,560..>9,999 %)"),
    ],
)
def test_a_difference_with_its_interval(values: tuple[float, float, float], text: str) -> None:
    assert units.with_interval(*values, " %") == text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "about 0.1 more minutes"),
        (47.0, "about 0.78 more minutes"),
        (720.0, "about 12 more minutes"),
        (12_600.0, "about 4 more hours"),
        (None, "the time still needed is unknown"),
    ],
)
def test_an_undecided_test_says_how_much_longer_it_takes(seconds: float | None, words: str) -> None:
    undecided = msgspec.structs.replace(result(), is_sequential=True, more_seconds=seconds)
    assert with_sentence(undecided).sentence.endswith(words)
