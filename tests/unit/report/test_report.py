"""The report of a run as text and Markdown."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.examples import load_part, summary
from tests.golden import Golden
from tests.ticks import changed
from tests.tui.support.probed import probed
from tests.tui.support.script import COSTS, EFFECT
from tests.tui.support.statements import REPORT
from tests.unit.features.tune.tune_examples import candidate, evaluated
from tests.unit.record.steady import steady
from tests.unit.record.written import ENVIRONMENT, load, plan_record, tick, written
from tuibench.base.document import BAR_CELLS, Bar, bar_text, write_text
from tuibench.features.tune.text import scale, tune_blocks, tune_text
from tuibench.metrics.diagnosis import diagnose
from tuibench.metrics.figures import FIGURES
from tuibench.model.effect import AbTestPair, AbTestResult, Comparison, Verdict
from tuibench.model.event import Event, EventKind
from tuibench.model.findings import Headline, OperationCost, Resource
from tuibench.model.server import RoundTrip
from tuibench.model.summary import (
    ErrorTotals,
    Fairness,
    KindTotals,
    Summary,
    TransactionTotals,
    WatchedTotals,
)
from tuibench.model.tick import Histogram
from tuibench.model.tune import LeftOut, TuneResult, TuneVerdict
from tuibench.record.reader import Run, load_run
from tuibench.record.recorder import RunRecorder
from tuibench.report.analysis import addenda, analysis, join_words, run_evidence, statements_text
from tuibench.report.effects import changes_text, cost_table, effect_line, trial_section, with_sentence
from tuibench.report.html_chart import blocks_markup
from tuibench.report.run_report import run_markdown

# The headline and the kinds of transactions as they stand below sysbench's summary.


TPMC = Headline(
    title="tpmC", note="not audited", transaction="new_order", ideal=12.86, doubt="with waits only"
)
KINDS = {
    "new_order": KindTotals(
        count=450, min=1.0, avg=4.5, p50=4.0, p90=8.0, p95=9.5, p99=20.25, p999=30.0, max=31.0,
        rolled_back=5, retries=12,
    ),
    "stock_level": KindTotals(
        count=40, min=9.0, avg=15.0, p50=14.0, p90=18.0, p95=19.5, p99=120.25, p999=131.0, max=131.0
    ),
}  # fmt: skip
TEXT = """\
tpmC (not audited):                      675.00
    efficiency:                          5248.83 % of 12.86 (with waits only)

Transactions (ms): completed rollbacks   retries       p50       p90       p95       p99       max
    new_order            450         5        12      4.00      8.00      9.50     20.25     31.00
    stock_level           40         0         0     14.00     18.00     19.50    120.25    131.00
NOPM (new orders per minute):            675.00
90th percentiles: within TPC-C's limits (5 s, stock_level 20 s)

"""


def test_the_headline_is_above_its_transactions() -> None:
    assert addenda(summary(headline=TPMC.measured(450, 40.0), by_transaction=KINDS)) == TEXT


def test_a_transaction_beyond_its_limit_is_named() -> None:
    slow = {name: replace(each, p90=19_999.0) for name, each in KINDS.items()}
    text = addenda(summary(headline=TPMC.measured(450, 40.0), by_transaction=slow))
    assert "90th percentiles: beyond TPC-C's limits: new_order 20.0 s of 5 s\n" in text


def test_without_an_ideal_there_is_no_efficiency() -> None:
    bare = Headline(title="orders", transaction="new_order")
    text = addenda(summary(headline=bare.measured(450, 0.0)))
    assert text == "orders:                                  0.00\n\n\n"


def test_other_profiles_have_none() -> None:
    assert addenda(summary(by_transaction=KINDS)) == ""


def test_a_run_that_was_cut_short_has_its_headline(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path / "r1")
    recorder.open(replace(plan_record(), headline=TPMC), ENVIRONMENT)
    for number in (1, 2):
        kinds = {"new_order": Histogram.of([1_000] * 20), "payment": Histogram.of([500] * 30)}
        seen = load(number)
        seen.hists.update({f"trx.{name}": each for name, each in kinds.items()})
        recorder.sample(tick(number, seen))
    recorder.close()
    run = load_run(tmp_path / "r1")
    assert run.summary.headline is not None
    assert run.summary.headline.value == 1200.0
    assert run.plan.headline == TPMC


# What is said of a run follows from its figures: rules, sentences, and silence where nothing is known.


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


def test_a_watched_server_has_times_of_statements_and_no_advice_about_a_load(run: Run) -> None:
    assert "Half of the transactions took" in said(run)["Latency"]
    loaded, watched = said(run)["Advice"], said(run, watched=WatchedTotals())
    assert "Half of the statements took" in watched["Latency"]
    assert "transaction" not in watched["Latency"].partition("median")[0]
    for words in ("There was no warm-up", "Client and server competed"):
        assert words in loaded
        assert words not in watched["Advice"]


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


# Effects, trials and costs, word for word.


def comparison(figure: str = "tps", **changes: Any) -> Comparison:
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
    "p95_ms", before=9.1, after=9.0, delta=-0.1, low=-0.4, high=0.2, percent=-1.2, percent_low=-4.4,
    percent_high=2.2, verdict=Verdict.EQUAL, tolerance_percent=5.0,
)  # fmt: skip
ONLY_ABSOLUTE = comparison(
    "fsyncs_per_transaction", before=0.0, after=1.02, delta=1.02, low=0.98, high=1.05,
    percent=None, percent_low=None, percent_high=None,
)  # fmt: skip


def result(*comparisons: Comparison, left_out: int = 0, pairs: int = 4) -> AbTestResult:
    pair = AbTestPair(cycle=1, order="AB", a={"tps": 100.0}, b={"tps": 138.0}, settling_seconds=1.0)
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
        "p95 equal within ±5 % (−4.4..2.2 %), TPS +43 % (38..49 %), fsyncs/trx +1.02 (0.98..1.05)"
    )


def test_the_line_of_an_effect_has_its_change() -> None:
    assert effect_line(EFFECT) == (
        "effect of 3 (preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0): TPS +55 % (49..61 %), "
        "p95 −54 % (−57..−51 %), fsyncs/trx ÷53 (42..63) (12 s each, 2 s to settle)"
    )


def test_costs_are_one_table_without_what_is_not_known() -> None:
    table = cost_table(COSTS)
    assert table is not None
    assert table.header[1:] == ("transactions", "log fsyncs", "redo", "binlog syncs", "binlog")
    assert len(table.rows) == sum(cost.transactions > 0 for cost in COSTS)
    assert table.rows[1][0] == "innodb_flush_log_at_trx_commit=0"
    assert table.rows[1][2:] == ("0.020", "5.96 KiB", "–", "–")
    assert table.rows[2][4:] == ("0.97", "2.83 KiB")


def test_without_costs_there_is_no_table() -> None:
    assert cost_table(()) is None


def trial_text(found: AbTestResult) -> str:
    return write_text((trial_section(found),))


def test_a_trial_is_a_table_and_a_sentence(golden: Golden) -> None:
    assert trial_text(result(comparison(), NONE, ONLY_ABSOLUTE)) == golden


def test_a_trial_says_what_an_operation_cost_under_either_value() -> None:
    cost_a, cost_b = (
        OperationCost(per_transaction={Resource.SERVER_CPU: cpu, Resource.FSYNCS: fsyncs})
        for cpu, fsyncs in ((2900.0, 1.0), (2100.0, 0.1))
    )
    text = trial_text(msgspec.structs.replace(result(comparison()), cost_a=cost_a, cost_b=cost_b))
    assert "  cost per operation: server CPU 2.9 ms → 2.1 ms, log fsyncs 1.00 → 0.10\n" in text


def test_left_out_cycles_are_said() -> None:
    assert "disturbed cycles, left out: 2\n" in trial_text(result(left_out=2))


def test_a_test_of_a_late_setting_says_what_windows_it_needs() -> None:
    late = msgspec.structs.replace(result(), acts_after_seconds=6.0, needs_window_seconds=20.0)
    assert with_sentence(late).sentence == (
        "sync_binlog 0 against 1: no verdict (4 of 4 cycles): a change may take about 6 s to act, too "
        "long for windows of 10 s; needs windows of 20 s (--window=20)"
    )
    beside = msgspec.structs.replace(late, comparisons=(comparison(figure="fsyncs_per_transaction"),))
    assert "(--window=20); fsyncs/trx +43 %" in with_sentence(beside).sentence
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
    ("pairs", "left_out", "words"),
    [
        (0, 4, "undecided: all 4 cycles were disturbed (host busy); "),
        (0, 1, "undecided: the only cycle was disturbed (host busy); "),
        (1, 3, "undecided: 3 of 4 cycles were disturbed (host busy); "),
    ],
)
def test_disturbed_cycles_are_told_with_what_helps(pairs: int, left_out: int, words: str) -> None:
    found = msgspec.structs.replace(
        result(pairs=pairs), left_out=left_out, disturbances=("host busy",), window_seconds=5.0
    )
    assert f"{words}a quieter host or --window=10 helps" in with_sentence(found).sentence


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "about 1 more second"),
        (47.0, "about 47 more seconds"),
        (150.0, "about 2.5 more minutes"),
        (720.0, "about 12 more minutes"),
        (12_600.0, "about 4 more hours"),
        (None, "the time still needed is unknown"),
    ],
)
def test_an_undecided_test_says_how_much_longer_it_takes(seconds: float | None, words: str) -> None:
    undecided = msgspec.structs.replace(result(), is_sequential=True, more_seconds=seconds)
    assert with_sentence(undecided).sentence.endswith(words)


# The tornado table and the answer of a screening as text and as HTML.


def tune_text_result() -> TuneResult:
    candidates = (
        candidate(1, "innodb_flush_log_at_trx_commit", "2", original="1", change="1 → 2", at_risk=True),
        candidate(2, "innodb_flush_neighbors", "0", change="1 → 0"),
        candidate(3, "innodb_io_capacity", "1000"),
    )
    evaluation = evaluated({1: 1.4, 2: 0.8, 3: 1.0}, candidates=candidates)
    evaluation.left_out = (LeftOut(setting="sql_log_bin", why="only with --allow-risk"),)
    evaluation.is_complete = True
    return evaluation.result(240.0)


def test_the_largest_effects_come_first_with_interval_and_bar() -> None:
    lines = tune_text(tune_text_result()).splitlines()
    assert lines[0] == "Tune: 3 values in 4m, 12 blocks of windows of 5 s, 0 disturbed"
    better = lines.index("Better")
    assert "innodb_flush_log_at_trx_commit 1 → 2" in lines[better + 1]
    assert "+40 % (39..41 %)" in lines[better + 1]
    assert "−29 % (−29..−28 %)" in lines[better + 1]
    assert "▲ can lose data" in lines[better + 1]
    assert "innodb_flush_neighbors 1 → 0" in lines[lines.index("Worse") + 1]
    assert "innodb_io_capacity 200 → 1000" in lines[lines.index("No effect within ±2 %") + 1]
    assert "at most 10 % are false" in lines[1]


def test_it_says_how_to_keep_the_winner_and_what_that_risks() -> None:
    text = tune_text(tune_text_result())
    assert "  innodb_flush_log_at_trx_commit = 2\n" in text
    assert "  SET GLOBAL innodb_flush_log_at_trx_commit = 2;\n" in text
    assert "  innodb_flush_log_at_trx_commit: It may be too much.\n" in text
    assert "  sql_log_bin  only with --allow-risk\n" in text


def test_without_a_winner_nothing_is_recommended() -> None:
    text = tune_text(msgspec.structs.replace(tune_text_result(), winner=(), is_complete=False))
    assert "No tested value is known to be better." in text
    assert "SET GLOBAL" not in text
    assert "--resume continues it" in text


def test_it_says_what_was_not_restored() -> None:
    """Neither with a winner nor without one does it say that every setting was restored."""
    for winner in (tune_text_result().winner, ()):
        text = tune_text(
            msgspec.structs.replace(tune_text_result(), winner=winner, not_restored="The server is gone")
        )
        assert "The server is gone.\n" in text
        assert "was restored" not in text
        assert "Every setting was restored" in tune_text(
            msgspec.structs.replace(tune_text_result(), winner=winner)
        )


def test_a_bar_has_zero_in_its_middle_and_ends_at_its_edges() -> None:
    drawn = bar_text(Bar(38.0, 40.0, 42.0, 50.0))
    assert len(drawn) == BAR_CELLS
    assert drawn[BAR_CELLS // 2] == "│"
    assert drawn.index("●") == round(BAR_CELLS // 2 * (1 + 40 / 50))
    assert bar_text(Bar(800.0, 900.0, 1000.0, 50.0)).endswith("●")


def test_an_interval_beyond_the_chart_ends_in_arrows_and_every_estimate_is_within_it() -> None:
    known = tune_text_result()
    one = known.results[0]
    wide = [
        msgspec.structs.replace(each, percent=70.0, percent_low=-95.0, percent_high=120.0)
        for each in one.comparisons
    ]
    open_one = msgspec.structs.replace(one, verdict=TuneVerdict.CANNOT_TELL, comparisons=tuple(wide))
    most = scale(msgspec.structs.replace(known, results=(open_one, *known.results[1:])))
    assert 70 <= most < 95
    drawn = bar_text(Bar(-95.0, 70.0, 120.0, most))
    assert (drawn[0], drawn[-1]) == ("◂", "▸")


def test_the_page_has_a_bar_for_each_candidate() -> None:
    drawing = str(blocks_markup(tune_blocks(tune_text_result())))
    assert drawing.count("<circle") == drawing.count("<rect") == 3
    assert 'class="bar better"' in drawing
    most = scale(tune_text_result())
    assert f"{most:g} %</text>" in drawing
    assert drawing.index("innodb_flush_log") < drawing.index("innodb_io_capacity")


# What stands below a run's summary.


def test_the_summary_of_a_run_tells_its_probes_answer() -> None:
    over = probed().over
    assert over.result is not None
    told = addenda(summary(probe=over.result))
    assert over.result.lines[0] in told
    assert told.endswith("\n")


def test_a_plain_run_has_nothing_there() -> None:
    assert addenda(summary()) == ""


# The statements as a table of text.


def test_a_line_for_each_statement_with_the_span_before() -> None:
    head, columns, first, commit, own, gap = statements_text(REPORT).splitlines()
    assert head == "5.0 s since preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0"
    assert columns.split()[:4] == ["calls", "total", "avg", "p95"]
    assert first.split()[:2] == ["3,520", "410"]
    assert commit.split()[-8:] == ["–", "–", "10.8", "ms", "22.9", "ms", "digest", "COMMIT"]
    assert own.split()[-4:] == ["–", "–", "client", "commit"]
    assert gap.endswith("are prepared statements")


def test_without_a_change_there_is_no_span_before() -> None:
    text = statements_text(replace(REPORT, change="", before_seconds=0.0))
    assert text.startswith("5.0 s since statements were first requested\n")
    assert "before" not in text


def test_a_statement_cannot_steer_the_terminal() -> None:
    hostile = replace(REPORT.rows[0], text="SELECT \x1b[2J")
    assert "\x1b" not in statements_text(replace(REPORT, rows=(hostile,)))


# A run as Markdown.


def test_warnings_come_first_and_every_table_is_whole(tmp_path: Path) -> None:
    written(tmp_path / "r1", ended=False)
    text = run_markdown(load_run(tmp_path / "r1"))
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# oltp_read_write on MariaDB 10.11.19",
        "## Changes",
        "## Result",
        "## Analysis",
        "### Queries",
        "### Transactions",
        "### Latency",
        "### Bottleneck",
        "### Advice",
        "## All figures",
        "## Environment",
        "## Method",
        "## Commands",
    ]
    assert "- cut short: the session ended without a summary" in text
    assert "| 00:02 | 1 | sync_binlog 1 → 0 |" in text
    assert "| transactions | 150 | 50.00 |" in text
    assert "| client | box, on the server's host; tuibench 1.2.3, Python  |" in text
    for block in text.split("\n\n"):
        widths = {line.count("|") for line in block.splitlines() if line.startswith("|")}
        assert len(widths) <= 1
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_every_measured_figure_is_in_the_report(tmp_path: Path) -> None:
    written(tmp_path / "r1")
    run = load_run(tmp_path / "r1")
    told = replace(run.summary, figures=dict.fromkeys(FIGURES, 12.5) | {"com_load": 0.0})
    text = run_markdown(replace(run, summary=told)).partition("## All figures")[2].partition("##")[0]
    named = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")]
    assert set(FIGURES) - set(named) == {"com_load"}
    assert "| p95 | p95 | 12.5 ms |" in text
    assert named.index("p95") < named.index("questions")


def test_of_a_watched_server_commits_and_statements_are_reported(tmp_path: Path) -> None:
    written(tmp_path / "r1")
    run = load_run(tmp_path / "r1")
    told = replace(run.summary, figures={"p95": 12.5, "tps": 51.96}, watched=WatchedTotals(), latency_ms=None)
    plan = replace(run.plan, plan=replace(run.plan.plan, is_watch=True))
    text = run_markdown(replace(run, summary=told, plan=plan))
    assert text.startswith("# Traffic of MariaDB")
    assert "| load | the server's own traffic |" in text
    assert "| tps | TPS | 52.0/s |" in text
    assert not any(words in text for words in ("Latency, ms", "No statement failed", "Other clients sent"))
    assert "| p95 | p95 | 12.5 ms | 1 of 20 statements is slower |" in text
    assert "\n52.0 commits per second" in text
    assert "| commits | " in text
    assert "52.0 transactions per second" not in text
    assert "| transactions | " not in text


def test_a_run_without_a_change_has_no_table_of_them(tmp_path: Path) -> None:
    written(tmp_path / "r1", ticks=1)
    text = run_markdown(load_run(tmp_path / "r1"))
    assert "| at | no. |" not in text
    assert "Nothing was changed during the run." in text


def test_an_effect_that_was_not_measured_is_one_sentence(tmp_path: Path) -> None:
    written(tmp_path / "r1")
    run = load_run(tmp_path / "r1")
    text = "effect of sync_binlog 1 → 0 not measured: the load was paused while it was measured"
    missing = Event(at=3.0, elapsed_seconds=3.0, kind=EventKind.EFFECT, text=text, marker=1, not_measured="…")
    assert f"| 00:03 | 1 | {text} |" in run_markdown(replace(run, events=(*run.events, missing)))
