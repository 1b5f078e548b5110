"""Runs that are compared, and the history of a profile."""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.examples import PLAN, summary
from tests.ticks import measured_tick
from tests.unit.record.steady import steady
from tests.unit.record.written import ENVIRONMENT, plan_record
from tuibench.base.errors import UsageError
from tuibench.features.compare import comparison as comparison_report
from tuibench.features.compare.comparison import compare_figure_of_sides, compare_runs
from tuibench.features.compare.history import history, history_chart, history_text
from tuibench.metrics.figures import figure_named
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.effect import AbTestPlan
from tuibench.model.event import Event, EventKind
from tuibench.model.findings import OperationCost
from tuibench.model.server import HostConditions
from tuibench.model.summary import ComparisonRow, ComparisonVerdict, RunComparison
from tuibench.model.tick import Sample
from tuibench.record.reader import Run, load_run
from tuibench.record.store import RecordedRun

# Recorded runs against each other: what was not the same about them, doubts, figures, words.


def comparison(*places: Path) -> RunComparison:
    return compare_runs([[load_run(place)] for place in places])


def paths_of(found: RunComparison) -> dict[str, tuple[str, ...]]:
    return {f"{one.group}.{one.path}": one.values for one in found.differences}


def test_ticks_hold_what_was_counted(tmp_path: Path) -> None:
    first = next(load_run(steady(tmp_path, "one")).intervals())
    assert (first.seconds, first.sums["completed"], first.sums["queries"], first.errors) == (1.0, 51, 1020, 0)
    assert first.hist("response").count == 51
    assert (first.sums["Innodb_os_log_fsyncs"], first.sums["server.completed"]) == (51.0, 51)
    assert first.sums["host.server_cpu"] == 2.0


def test_each_figure_is_held_against_the_first_run(tmp_path: Path) -> None:
    found = comparison(
        steady(tmp_path, "a"), steady(tmp_path, "b", each=100, us=1_000), steady(tmp_path, "c")
    )
    told = {row.metric: row for row in found.rows}
    assert found.runs == ("a", "b", "c")
    assert told["tps"].first == pytest.approx(51)
    faster, same = told["tps"].others
    assert (faster.verdict, same.verdict) == ("better", "equal")
    assert faster.relative == pytest.approx(101 / 51)
    assert told["p95"].others[0].verdict == "better"
    assert told["cpu"].first == pytest.approx(2000 / 51)
    assert told["fsyncs"].others[0].verdict == "equal"


def test_what_was_not_the_same_is_listed(tmp_path: Path) -> None:
    other = steady(tmp_path, "b", plan=replace(PLAN, threads=16, seed=99))
    environment = replace(
        ENVIRONMENT, variables={"sync_binlog": "0"}, host=replace(ENVIRONMENT.host, cores=8)
    )
    (other / "environment.json").write_bytes(msgspec.json.encode(environment))
    found = comparison(steady(tmp_path, "a"), other)
    assert paths_of(found) == {
        "plan.threads": ("8", "16"),
        "host.cores": ("0", "8"),
        "variables.sync_binlog": ("–", "0"),
    }


def test_the_verdicts_on_different_work_say_so(tmp_path: Path) -> None:
    """Runs of other profiles, or with another number of statements per transaction."""
    first, faster = (load_run(steady(tmp_path, name, each=each)) for name, each in (("a", 50), ("b", 100)))
    other = replace(faster, plan=replace(faster.plan, plan=replace(PLAN, profile="oltp_write_only")))
    found = compare_runs([[first], [other]])
    assert found.caveats == ("but work per transaction differs",)
    text = comparison_report.comparison_text(found)
    (row,) = (line for line in text.splitlines() if line.split()[:1] == ["QPS"])
    assert row.endswith("better, but work per transaction differs")
    (named,) = (one for one in found.audit if one.path == "work per transaction")
    assert named.values == (f"{PLAN.profile}: 20 statements", "oltp_write_only: 20 statements")
    edited = replace(faster, plan=replace(faster.plan, profile_digest="f" * 64))
    assert compare_runs([[first], [edited]]).caveats == ("",), "as many statements, of one profile"
    fewer = replace(edited, samples=tuple(_with_queries(each, 0.3) for each in edited.samples))
    found = compare_runs([[first], [fewer]])
    assert found.caveats == ("but work per transaction differs",)
    assert found.audit[0].values == (f"{PLAN.profile}: 20 statements", f"{PLAN.profile}: 6 statements")


def _with_queries(sample: Sample, share: float) -> Sample:
    """The sample with this share of its queries."""
    sums = {**sample.tick.sums, "queries": share * sample.tick.sums["queries"]}
    return replace(sample, tick=replace(sample.tick, sums=sums))


def test_what_nothing_is_known_of_is_not_listed(tmp_path: Path) -> None:
    """A record without environment, beside one that knows little of its host."""
    first, other = (load_run(steady(tmp_path, name)) for name in ("a", "b"))
    found = compare_runs([[first], [replace(other, environment=None)]])
    assert paths_of(found) == {"client.location": ("local", "–"), "host.name": ("box", "–")}
    trial = replace(PLAN, trial=AbTestPlan(subject="sync_binlog", a="1", b="0"))
    tried = load_run(steady(tmp_path, "tried", plan=trial))
    named = paths_of(compare_runs([[first], [tried]]))
    assert {"plan.trial.subject", "plan.trial.a", "plan.trial.b"} == set(named)


def test_the_load_of_the_host_and_the_options_of_another_profile_are_not_listed(tmp_path: Path) -> None:
    first, other = (load_run(steady(tmp_path, name)) for name in ("a", "b"))
    busy = replace(ENVIRONMENT.host, conditions=HostConditions(load_average=3.5, busy_share=0.9))
    found = compare_runs([[first], [replace(other, environment=replace(ENVIRONMENT, host=busy))]])
    assert paths_of(found) == {}
    plans = [
        replace(PLAN, options={"tables": 4, "skip_trx": True}),
        replace(PLAN, profile="tpcc", options={"tables": 8}),
    ]
    runs = [load_run(steady(tmp_path, plan.profile, plan=plan)) for plan in plans]
    assert set(paths_of(compare_runs([[run] for run in runs]))) == {"plan.profile", "plan.options.tables"}


def test_other_statements_are_reported_where_nothing_else_explains_them(tmp_path: Path) -> None:
    places = [
        steady(tmp_path, name, plan=plan) for name, plan in (("a", PLAN), ("b", replace(PLAN, threads=9)))
    ]
    first, second = map(load_run, places)
    other = replace(second, plan=replace(second.plan, profile_digest="f" * 64))
    assert "plan.statements" not in paths_of(compare_runs([[first], [other]]))
    alike = replace(first, plan=replace(first.plan, profile_digest="f" * 64))
    assert paths_of(compare_runs([[first], [alike]])) == {"plan.statements": ("–", "f" * 12)}


def test_fields_that_are_fractions_are_rounded(tmp_path: Path) -> None:
    places = [
        steady(tmp_path, name, plan=plan) for name, plan in (("a", PLAN), ("b", replace(PLAN, rate=1 / 3)))
    ]
    assert paths_of(comparison(*places))["plan.rate"] == (f"{PLAN.rate:g}", "0.333")


def test_a_figure_stands_in_one_row(tmp_path: Path) -> None:
    run = load_run(steady(tmp_path, "a"))
    cost = OperationCost(per_transaction={"server_cpu_us": 900.0, "log_fsyncs": 1.0, "redo_bytes": 512.0})
    costly = replace(run, summary=replace(run.summary, operation_cost=cost))
    titles = [row.title for row in compare_runs([[costly], [costly]]).rows]
    assert "redo per transaction" in titles
    assert len(set(titles)) == len(titles)


def test_runs_of_one_name_are_distinguished(tmp_path: Path) -> None:
    found = comparison(steady(tmp_path / "x", "run"), steady(tmp_path / "y", "run"))
    assert found.runs == ("run (1)", "run (2)")


def test_measurement_warnings_are_reported(tmp_path: Path) -> None:
    steered = steady(tmp_path, "odd")
    change = Event(at=1.0, elapsed_seconds=3.0, kind=EventKind.THREADS, text="threads 8 → 16", marker=1)
    (steered / "events.jsonl").write_bytes(msgspec.json.encode(change) + b"\n")
    told = comparison(steady(tmp_path, "a", cut_short=True), steered).doubts
    assert [line for line in told if line.startswith("odd")] == [
        "odd was changed 1 time during the run: its figures mix the times before and after",
        "odd: simulated: 20 ms",
    ]
    assert any(line.startswith("a: cut short: ") for line in told)


def test_the_text_begins_with_what_differs(tmp_path: Path) -> None:
    found = comparison(steady(tmp_path, "a"), steady(tmp_path, "b", each=100, plan=replace(PLAN, threads=9)))
    text = comparison_report.comparison_text(found)
    lines = text.splitlines()
    assert lines[:2] == ["A  a", "B  b"]
    assert lines.index("What differs") < lines.index("B against A")
    assert "  plan.threads  8  9" in lines
    assert any(line.startswith("  TPS") and line.endswith("better") for line in lines)


def test_three_runs_have_a_table_of_their_ratios(tmp_path: Path) -> None:
    runs = [load_run(steady(tmp_path, name, each=each)) for name, each in (("a", 50), ("b", 100), ("c", 50))]
    found = compare_runs([[run] for run in runs])
    lines = comparison_report.comparison_text(found).splitlines()
    assert lines.index("Relative to A") < lines.index("B against A") < lines.index("C against A")
    assert any(line.split()[:3] == ["TPS", "51.0", "1.98"] for line in lines)
    assert "## Relative to A" in comparison_report.comparison_markdown(found)
    pair = comparison_report.comparison_text(compare_runs([[run] for run in runs[:2]]))
    assert "Relative to A" not in pair


def test_markdown_tables_are_rectangular(tmp_path: Path) -> None:
    found = comparison(steady(tmp_path, "a"), steady(tmp_path, "b", plan=replace(PLAN, threads=9)))
    tables = comparison_report.comparison_markdown(found).split("\n\n")
    for table in (part.splitlines() for part in tables if part.startswith("|")):
        assert len({line.count("|") for line in table}) == 1
    assert "| plan.threads | 8 | 9 |" in comparison_report.comparison_markdown(found)


def on_start(run: Run, number: int) -> Run:
    """The run as measured on another start of the server."""
    return replace(run, plan=replace(run.plan, started_at=run.plan.started_at + 3600 * number))


def group(folder: Path, name: str, paces: list[int], first_start: int) -> list[Run]:
    return [
        on_start(load_run(steady(folder, f"{name}{place}", each=each)), first_start + place)
        for place, each in enumerate(paces)
    ]


def test_a_single_start_on_a_side_gives_a_difference_but_no_verdict(tmp_path: Path) -> None:
    first, other = group(tmp_path, "a", [50], 0), group(tmp_path, "b", [100], 1)
    found = compare_runs([first, other])
    tps = next(row for row in found.rows if row.metric == "tps").others[0]
    assert (tps.verdict, found.starts) == ("may be the start", (1, 1))
    assert tps.low is not None
    assert tps.low > 0
    assert tps.percent == pytest.approx(100, abs=3)
    assert found.doubts[0].startswith("a0 and b0: only one start of the server per side")


def test_several_starts_a_side_are_judged_by_how_much_starts_differ(tmp_path: Path) -> None:
    first = group(tmp_path, "a", [50, 54, 47], 0)
    better = compare_runs([first, group(tmp_path, "b", [100, 107, 95], 10)])
    tps = next(row for row in better.rows if row.metric == "tps").others[0]
    assert (tps.verdict, better.starts) == ("better", (3, 3))
    assert tps.low is not None
    assert tps.high is not None
    assert tps.low < 100 < tps.high
    assert not any("single start" in doubt for doubt in better.doubts)
    assert better.runs == ("a0, a1, a2", "b0, b1, b2")
    assert "A  a0, a1, a2 (3 starts)" in comparison_report.comparison_text(better)
    alike = compare_runs([first, group(tmp_path, "c", [52, 47, 51], 20)])
    assert next(row for row in alike.rows if row.metric == "tps").others[0].verdict == "cannot tell"


def test_runs_on_one_start_are_one_observation(tmp_path: Path) -> None:
    first = [on_start(run, 0) for run in group(tmp_path, "a", [50, 51], 0)]
    same = [replace(first[0]), replace(first[1], plan=first[0].plan)]
    found = compare_runs([same, group(tmp_path, "b", [100, 101], 5)])
    assert found.starts == (1, 2)
    tps = next(row for row in found.rows if row.metric == "tps").others[0]
    assert (tps.verdict, tps.low) == ("cannot tell", None)


def test_runs_on_one_start_a_side_are_judged_by_how_much_runs_differ(tmp_path: Path) -> None:
    first, other = (
        [load_run(steady(tmp_path, f"{name}{each}", each=each)) for each in paces]
        for name, paces in (("a", [50, 54, 47]), ("b", [100, 107, 95]))
    )
    found = compare_runs([first, other])
    tps = next(row for row in found.rows if row.metric == "tps").others[0]
    assert (tps.verdict, found.starts, found.doubts) == ("better", (1, 1), ())
    mixed = replace(first[0], plan=replace(first[0].plan, plan=replace(PLAN, rate=7.0)))
    assert compare_runs([[mixed, *first[1:]], other]).doubts == (
        "the runs of the side that begins with a50 differ in plan.rate (7, 0)",
    )
    (doubt,) = compare_runs([first, other[:1]]).doubts
    assert doubt.startswith("a50, a54, a47 and b100: only one run on a side, so there is no verdict")


Levels = list[list[float]]


def fsyncs_of(*sides: Levels) -> ComparisonRow:
    """The log fsyncs of sides, each the levels of runs by start."""
    ticks = [
        [[[measured_tick(0.5, 0.5, 40, log_fsyncs=40 * level)] for level in runs] for runs in side]
        for side in sides
    ]
    return compare_figure_of_sides(figure_named("fsyncs"), ticks, [False] * (len(sides) - 1))


@pytest.mark.parametrize(
    "sides",
    [
        [[[1.0, 4.0], [2.5]], [[8.0], [1.0, 1.5], [3.0]]],
        [[[1.0], [1.2, 0.8]], [[0.001], [0.0, 0.02]]],
        [[[1.0, 3.0], [1.2]], [[2.0], [1.5]], [[0.001], [0.03]]],
    ],
    ids=["several runs on a start", "a level near zero", "another side near zero"],
)
def test_a_difference_is_that_of_the_levels_shown(sides: list[Levels]) -> None:
    row = fsyncs_of(*sides)
    for other in row.others:
        assert row.first is not None
        assert other.value is not None
        assert other.low is not None
        assert other.percent is not None
        assert other.low < other.percent == pytest.approx(100 * (other.value / row.first - 1))
        assert other.relative == pytest.approx(other.value / row.first)


def test_what_is_zero_on_both_sides_is_equal(tmp_path: Path) -> None:
    first, other = group(tmp_path, "a", [50, 54, 47], 0), group(tmp_path, "b", [52, 47, 51], 10)
    for count in (1, 3):
        found = compare_runs([first[:count], other[:count]])
        (errors,) = next(row for row in found.rows if row.metric == "errors_percent").others
        assert (errors.value, errors.percent, errors.verdict) == (0, 0, "equal")
        text = comparison_report.comparison_text(found)
        assert any(line.split() == ERRORS_OF_NONE for line in text.splitlines())


ERRORS_OF_NONE = ["errors", "(%)", "0", "0", "0.0", "%", "0.0..0.0", "%", "equal"]


def test_what_was_zero_on_all_starts_has_a_verdict_and_no_percentage() -> None:
    (other,) = fsyncs_of([[0.0], [0.0]], [[1.0], [1.02]]).others
    assert (other.percent, other.verdict) == (None, "worse")


def test_what_one_side_did_not_measure_has_no_difference() -> None:
    ticks = [[[[measured_tick(0.5, 0.5, 40, log_fsyncs=log_fsyncs)]]] for log_fsyncs in (None, 40.0)]
    row = compare_figure_of_sides(figure_named("fsyncs"), ticks, [True])
    assert (row.first, row.others[0].value, row.others[0].percent) == (None, 1.0, None)


# Runs of one plan over time: what belongs together, where the level changed, and a regression.


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


def test_what_took_less_of_a_transaction_is_said(tmp_path: Path) -> None:
    """Of two runs on one start of the server; another start differs by more than its ticks show."""
    runs = [
        _with_commits(load_run(steady(tmp_path, name, each=each)), commit_ms)
        for name, each, commit_ms in (("a", 50, 5.1), ("b", 100, 2.1))
    ]
    found = compare_runs([[run] for run in runs])
    assert found.because[0].startswith("because: commit −3.0 ms (")
    assert found.because[0] in comparison_report.comparison_text(found)
    assert compare_runs([[runs[0]], [runs[0]]]).because == ("",)


@pytest.mark.parametrize("verdict", ComparisonVerdict)
def test_without_a_verdict_on_the_throughput_no_cause_is_named(
    verdict: ComparisonVerdict, tmp_path: Path
) -> None:
    """Commits that took less time are no cause of less throughput either."""
    first, other = (
        [[tuple(_with_commits(load_run(steady(tmp_path, name, each=each)), commit_ms).intervals())]]
        for name, each, commit_ms in (("a", 50, 5.1), ("b", 100, 2.1))
    )
    told = comparison_report._because(first, other, verdict)
    is_told = verdict in (ComparisonVerdict.BETTER, ComparisonVerdict.EQUAL)
    assert (told.startswith("because: commit"), told == "") == (is_told, not is_told)


def _with_commits(run: Run, commit_ms: float) -> Run:
    """The run with an account of time: commits, with a little noise, and as much CPU throughout."""

    def with_time(number: int, sample: Sample) -> Sample:
        done = sample.tick.sums["completed"]
        waits = {wait.key: 0.0 for wait in WaitClass}
        waits |= {"time.commit_us": 1e3 * commit_ms * done * (1 + 0.01 * (number % 3 - 1))}
        sums = sample.tick.sums | waits | {"time.cpu_us": 2e3 * done, "time.completed": done}
        return replace(sample, tick=replace(sample.tick, sums=sums))

    return replace(run, samples=tuple(with_time(number, each) for number, each in enumerate(run.samples)))
