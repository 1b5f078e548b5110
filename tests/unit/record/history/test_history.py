"""Runs of one plan over time: what belongs together, where the level changed, and a regression."""

import random
from typing import Any

import pytest
from msgspec.structs import replace

from tests.examples import PLAN, summary
from tests.unit.record.written import plan_record
from tuibench.errors import UsageError
from tuibench.metrics.figures import figure_named
from tuibench.record.history.history import RecordedRun, history
from tuibench.record.history.history_chart import history_chart
from tuibench.record.history.history_text import history_text

TPS = figure_named("tps")


def run(place: int, tps: float, **plan: Any) -> RecordedRun:
    record = replace(plan_record(replace(PLAN, seed=place, **plan)), started_at=1.7e9 + 3600 * place)
    return RecordedRun(f"run-{place}", record, summary(figures={"tps": tps, "p95": 1e5 / tps, "errors": 0.0}))


def fallen(before: int = 20, after: int = 10, share: float = 0.9) -> list[RecordedRun]:
    rng = random.Random(1)
    levels = [1000.0] * before + [1000.0 * share] * after
    return [run(place, level * (1 + rng.gauss(0, 0.01))) for place, level in enumerate(levels)]


def test_a_fall_is_a_change_and_a_regression() -> None:
    found = history("p", fallen(), TPS, since="run-15")
    (change,) = found.changes
    assert change.run == "run-20"
    assert change.percent == pytest.approx(-10, abs=1)
    assert found.regression is not None
    assert found.regression.run == "run-20"
    text = history_text(found)
    assert "from run-20 on: −9.7 %" in text
    assert "regression: −" in text
    assert [line.startswith("*") for line in text.splitlines() if "run-20  " in line] == [True]


def test_a_steady_history_has_no_change_and_no_regression() -> None:
    found = history("p", fallen(share=1.0), TPS, since="run-15")
    assert (found.changes, found.regression, found.since) == ((), None, "run-15")
    assert "no regression since run-15" in history_text(found)


def test_more_throughput_is_no_regression() -> None:
    found = history("p", fallen(share=1.1), TPS, since="run-15")
    assert found.changes
    assert found.regression is None


def test_slower_transactions_are_a_regression_as_fewer_are() -> None:
    found = history("p", fallen(), figure_named("p95"), since="run-15")
    assert found.regression is not None
    assert found.regression.run == "run-20"
    assert found.regression.percent is not None
    assert found.regression.percent > 0
    faster = history("p", fallen(share=1.1), figure_named("p95"), since="run-15")
    assert faster.changes
    assert faster.regression is None


@pytest.mark.parametrize(
    ("before", "after", "percent", "text"),
    [
        (0.0, 2.5, None, "from run-20 on: 0 → 2.50 against"),
        (2.5, 0.0, -100.0, "from run-20 on: −100.0 % against"),
    ],
)
def test_a_figure_of_zero_is_a_run_of_the_history(
    before: float, after: float, percent: float | None, text: str
) -> None:
    runs = [
        replace(each, summary=summary(figures={"fsyncs": before if place < 20 else after}))
        for place, each in enumerate(fallen(after=16))
    ]
    found = history("p", runs, figure_named("fsyncs"), since="run-15")
    assert [each.value for each in found.runs] == [before] * 20 + [after] * 16
    (change,) = found.changes
    assert (change.run, change.before) == ("run-20", before)
    assert change.after == pytest.approx(after)
    assert change.percent == (None if percent is None else pytest.approx(percent))
    assert (found.regression is not None) == (after > before)
    assert text in history_text(found)
    assert "run-20: " in history_chart(found)


def test_a_history_of_zeros_is_steady() -> None:
    found = history("p", fallen(), figure_named("errors"), since="run-15")
    assert len(found.runs) == 30
    assert (found.changes, found.regression) == ((), None)
    assert "#" not in history_text(found)
    assert "<svg" in history_chart(found)


def test_runs_without_the_figure_are_left_out() -> None:
    assert history("p", fallen(), figure_named("fsyncs")).runs == ()


def test_runs_with_another_plan_are_left_out() -> None:
    runs = [run(100, 5.0, threads=99), *fallen()]
    found = history("p", runs, TPS)
    assert (len(found.runs), found.other_plans) == (30, 1)
    assert "left out: 1 runs" in history_text(found)


def test_few_runs_have_no_change_and_say_so() -> None:
    found = history("p", fallen(3, 1), TPS)
    assert found.changes == ()
    assert "4 runs of this plan are too few" in history_text(found)


@pytest.mark.parametrize(("since", "words"), [("run-99", "is not a run of this plan"), ("run-3", "too few")])
def test_what_since_does_not_take(since: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        history("p", fallen(), TPS, since=since)
