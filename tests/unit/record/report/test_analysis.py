"""What is said of a run follows from its figures: rules, sentences, and silence where nothing is known."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.examples import load_part
from tests.ticks import changed
from tests.unit.record.steady import steady
from tuibench.diagnosis.rules import diagnose
from tuibench.document import write_text
from tuibench.model.measurements.environment import RoundTrip
from tuibench.model.results.summary import ErrorTotals, Fairness, Summary, TransactionTotals
from tuibench.record.files.loading import load_run
from tuibench.record.files.run import Run
from tuibench.record.report.analysis import analysis, join_words, run_evidence


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return load_run(steady(tmp_path, "a"))


def said(run: Run, **figures: object) -> dict[str, str]:
    told = analysis(replace(run, summary=replace(run.summary, **figures)))
    return {each.title: write_text(each.blocks) for each in told}


def test_evidence_comes_from_the_samples(run: Run) -> None:
    found = run_evidence(run)
    assert found.cpu_server == 50.0
    assert found.threads == 8.0
    assert found.log_fsyncs_per_transaction == 1.0
    assert found.buffer_pool_hit is None
    assert found.commit_share is not None


def test_the_network_needs_a_round_trip_that_was_measured(run: Run) -> None:
    assert run.environment is not None
    trip = RoundTrip(tries=9, min_ms=20.0, median_ms=25.0, max_ms=40.0)
    for measured, share in ((None, None), (trip, 1.0)):
        environment = replace(run.environment, round_trip=measured)
        assert run_evidence(replace(run, environment=environment)).network_share == share


def test_the_bottleneck_is_that_of_the_diagnosis(run: Run) -> None:
    found = diagnose(run_evidence(run))
    text = said(run)
    assert text["Bottleneck"].lower().startswith(f"{found.found}.")
    assert text["Advice"].lower().startswith(f"{found.remedy}.".lower())


def test_every_chapter_has_something_to_say(run: Run) -> None:
    told = said(run)
    assert list(told) == ["Queries", "Transactions", "Latency", "Fairness", "Bottleneck", "Advice"]
    assert "70 % reads, 20 % writes and 10 % others" in told["Queries"]
    assert "158 transactions were committed in 00:03" in told["Transactions"]
    assert "95 % up to 591 ms" in told["Latency"]
    assert "commit (100 %)" in told["Latency"]


def test_steadiness_is_derived_from_the_ticks(run: Run) -> None:
    assert "The rate was steady" in said(run)["Transactions"]
    uneven = replace(
        run,
        samples=tuple(
            changed(s, load=load_part(transactions_per_second=0.0 if s.number % 3 else 90.0))
            for s in run.samples
        ),
    )
    told = said(uneven)["Transactions"]
    assert "The rate was uneven" in told


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (ErrorTotals(total=0, by_code={}), "No statement failed."),
        (
            ErrorTotals(total=2, by_code={"1213": 2}),
            "2 statements failed, 1.25 % of the attempts: 1213 LOCK_DEADLOCK (2)",
        ),
    ],
)
def test_errors_are_shown_by_name(run: Run, errors: ErrorTotals, words: str) -> None:
    assert words in said(run, errors=errors)["Transactions"]


@pytest.mark.parametrize(("deviation", "word"), [(0.1, "evenly"), (8.0, "unevenly")])
def test_fairness(run: Run, deviation: float, word: str) -> None:
    fair = Fairness(events_avg=20.0, events_stddev=deviation, seconds_avg=3.0, seconds_stddev=0.0)
    assert (
        f"Transactions were distributed {word} among connections: 20 transactions each"
        in said(run, fairness=fair)["Fairness"]
    )


def test_unknown_fairness_has_no_chapter(run: Run) -> None:
    unknown = Fairness(events_avg=0.0, events_stddev=0.0, seconds_avg=0.0, seconds_stddev=0.0)
    assert "Fairness" not in said(run, fairness=unknown)


def test_foreign_traffic_is_reported(run: Run) -> None:
    counted = replace(run.summary.reconciliation, foreign=320, questions_server=3200)
    assert (
        "Other clients sent 320 statements meanwhile, 10.0 % of all."
        in said(run, reconciliation=counted)["Queries"]
    )


def test_a_short_run_is_called_one(run: Run) -> None:
    assert "This was a short run" in said(run, seconds=12.0)["Advice"]
    assert "This was a short run" not in said(run, seconds=600.0)["Advice"]


def test_of_a_run_without_transactions_nothing_is_made_up(run: Run) -> None:
    none: dict[str, object] = {"transactions": TransactionTotals(total=0, per_second=0.0)}
    assert said(run, **none) == {"Result": "No transaction was committed, so there is nothing to analyse.\n"}


def test_every_figure_of_the_summary_stays_as_it_is(run: Run) -> None:
    before: Summary = run.summary
    analysis(run)
    assert run.summary == before


@pytest.mark.parametrize(
    ("parts", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_lists_in_words(parts: list[str], text: str) -> None:
    assert join_words(parts) == text
