"""What is said of a run follows from its figures: rules, sentences, and silence where nothing is known."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.unit.record.steady import steady
from tuibench.model.plan import RunPlan
from tuibench.model.summary import ErrorTotals, Fairness, Summary, TransactionTotals
from tuibench.record.files.loading import load_run
from tuibench.record.files.run import Run
from tuibench.record.report.analysis import analysis, join_words
from tuibench.record.report.bottleneck import find_bottleneck
from tuibench.record.report.evidence import RunEvidence, run_evidence

IDLE = RunEvidence(
    rates=(100.0,) * 12,
    threads=8.0,
    cpu_total=40.0,
    cpu_server=30.0,
    cpu_tuibench=5.0,
    cpu_rest=5.0,
    worker_cpu=0.2,
    threads_running=4.0,
    waiting_for_locks=0.0,
    statement_shares={"commit": 0.2, "point_select": 0.8},
    log_fsyncs_each=0.9,
    disk_reads_each=0.0,
    buffer_pool_hit=100.0,
    table_misses_percent=0.0,
    network_share=0.1,
)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return load_run(steady(tmp_path, "a"))


def said(run: Run, **figures: object) -> dict[str, str]:
    told = analysis(replace(run, summary=replace(run.summary, **figures)))
    return {chapter.heading: " ".join(chapter.sentences) for chapter in told}


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("threads", {}),
        ("network", {"network_share": 0.6}),
        ("cpu shared with tuibench", {"cpu_total": 95.0, "cpu_tuibench": 30.0}),
        ("cpu taken by others", {"cpu_total": 95.0, "cpu_rest": 40.0}),
        ("server cpu", {"cpu_total": 95.0, "cpu_server": 85.0}),
        ("row locks", {"waiting_for_locks": 3.0}),
        ("log", {"statement_shares": {"commit": 0.6}}),
        ("disk reads", {"disk_reads_each": 4.0}),
        ("table cache", {"table_misses_percent": 7.0}),
        ("unknown", {"cpu_total": None}),
    ],
)
def test_each_limit_is_told_by_its_signs(run: Run, name: str, seen: dict[str, object]) -> None:
    verdict = find_bottleneck(run, IDLE._replace(**seen))  # type: ignore[arg-type]
    assert verdict.name == name
    assert verdict.sentence.endswith(".")
    assert verdict.advice.endswith(".")
    assert verdict.evidence


def test_a_limited_client_is_the_first_suspect_unless_others_took_the_host(run: Run) -> None:
    limited = replace(run, summary=replace(run.summary, client=replace(run.summary.client, limited=True)))
    assert find_bottleneck(limited, IDLE).name == "client"
    assert (
        find_bottleneck(limited, IDLE._replace(cpu_total=99.0, cpu_rest=60.0)).name == "cpu taken by others"
    )


def test_a_rate_that_was_kept_says_nothing_of_the_server(run: Run) -> None:
    paced = replace(run, plan=replace(run.plan, plan=RunPlan(profile="p", rate=50.0)))
    assert find_bottleneck(paced, IDLE).name == "rate"
    missed = replace(paced, summary=replace(paced.summary, scheduled=1000))
    assert find_bottleneck(missed, IDLE).name != "rate"


def test_what_was_not_measured_is_not_told(run: Run) -> None:
    blind = IDLE._replace(
        cpu_total=None,
        threads_running=None,
        statement_shares={},
        waiting_for_locks=None,
        disk_reads_each=None,
    )
    verdict = find_bottleneck(run, blind)
    assert (verdict.name, verdict.evidence) == ("unknown", ())


def test_evidence_comes_from_the_samples(run: Run) -> None:
    found = run_evidence(run)
    assert found.cpu_server == 50.0
    assert found.threads == 8.0
    assert found.log_fsyncs_each is None
    assert list(found.statement_shares) == ["commit"]
    assert found.rates[0] == 51.0


def test_every_chapter_has_something_to_say(run: Run) -> None:
    told = said(run)
    assert list(told) == ["Queries", "Transactions", "Latency", "Fairness", "Bottleneck", "Advice"]
    assert "70 % reads, 20 % writes and 10 % others" in told["Queries"]
    assert "158 transactions were committed in 00:03" in told["Transactions"]
    assert "95 % up to 591 ms" in told["Latency"]
    assert "commit (100 %)" in told["Latency"]


def test_steadiness_is_told_from_the_ticks(run: Run) -> None:
    assert "The rate was steady" in said(run)["Transactions"]
    loads = [
        replace(s.load, transactions_per_second=0.0 if s.number % 3 else 90.0) for s in run.samples if s.load
    ]
    uneven = replace(
        run, samples=tuple(replace(s, load=load) for s, load in zip(run.samples, loads, strict=True))
    )
    told = said(uneven)["Transactions"]
    assert "The rate was uneven" in told
    assert "In 8 of 12 intervals no transaction was done at all." in told


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
def test_errors_are_told_by_their_names(run: Run, errors: ErrorTotals, words: str) -> None:
    assert words in said(run, errors=errors)["Transactions"]


@pytest.mark.parametrize(("deviation", "word"), [(0.1, "evenly"), (8.0, "unevenly")])
def test_fairness(run: Run, deviation: float, word: str) -> None:
    fair = Fairness(events_avg=20.0, events_stddev=deviation, seconds_avg=3.0, seconds_stddev=0.0)
    assert f"Connections got through {word}: 20 transactions each" in said(run, fairness=fair)["Fairness"]


def test_unknown_fairness_has_no_chapter(run: Run) -> None:
    unknown = Fairness(events_avg=0.0, events_stddev=0.0, seconds_avg=0.0, seconds_stddev=0.0)
    assert "Fairness" not in said(run, fairness=unknown)


def test_foreign_traffic_is_told(run: Run) -> None:
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
    assert said(run, **none) == {"Result": "No transaction was committed, so there is nothing to analyse."}


def test_every_figure_of_the_summary_stays_as_it_is(run: Run) -> None:
    before: Summary = run.summary
    analysis(run)
    assert run.summary == before


@pytest.mark.parametrize(
    ("parts", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_lists_in_words(parts: list[str], text: str) -> None:
    assert join_words(parts) == text
