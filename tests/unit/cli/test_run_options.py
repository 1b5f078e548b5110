"""Options of a run: load, plan, A/B test, SQL, screen."""

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.examples import PLAN
from tests.tables import for_each
from tests.unit.cli.plans import planned
from tuibench.base import paths
from tuibench.base.errors import UsageError
from tuibench.cli.options import (
    AdhocSqlOptions,
    SessionOptions,
    ab_test_announcement,
    make_plan,
    parse_profile_options,
    split_profile_and_options,
)
from tuibench.cli.run import ReportOptions
from tuibench.cli.runner import new_session_spec
from tuibench.cli.typer_command import PlanValues, parse_plan_words
from tuibench.features.sweep.options import SweepOptions
from tuibench.features.sweep.planning import all_cells, cell_plan
from tuibench.model.effect import AbTestPlan
from tuibench.model.option import At
from tuibench.model.plan import PLAN_COMMANDS, Arrival, Backlog, OnError, RunPlan, option_words, setup_rows
from tuibench.model.schedule import Quantity, RampStage
from tuibench.model.server import IGNORED_ERRORS, Target
from tuibench.workload import library

# From options to a plan: what is allowed, and what the profile gets.


def test_a_format_on_stdout_is_a_file_of_that_name() -> None:
    assert ReportOptions(form="json").json_file == "-"
    assert ReportOptions(form="csv", json_file="run.json").csv_file == "-"
    with pytest.raises(UsageError, match="--format=json is --json=-, not a file"):
        ReportOptions(form="json", json_file="run.json")


def test_the_defaults_are_sysbenchs() -> None:
    made = planned("--rand-seed=5", "--tables=4")
    assert made == RunPlan(
        profile="oltp_read_write",
        options={"tables": "4"},
        threads=1,
        seconds=10,
        percentiles=(95.0,),
        seed=5,
        ignored_errors=IGNORED_ERRORS,
        workers=None,
    )


def test_zeros_mean_no_limit_and_a_choice_of_ours() -> None:
    made = planned("--time=0", "--workers=0", "--percentile=0", "--events=0")
    assert (made.seconds, made.workers, made.percentiles, made.events) == (None, None, (), None)


@pytest.mark.parametrize(("words", "seconds"), [((), None), (("--time=0",), None), (("--time=7.5",), 7.5)])
def test_the_live_monitor_has_no_time_limit_of_its_own(words: tuple[str, ...], seconds: float | None) -> None:
    assert planned(*words, command="live").seconds == seconds


def test_a_seed_of_zero_is_a_new_one_each_time() -> None:
    assert len({planned().seed for _ in range(5)}) > 1
    assert planned("--rand-seed=7").seed == 7


NUMBERS = {
    key: bound
    for key, (_, bound) in PLAN_COMMANDS["run"].options.items()
    if bound.is_number and key != "rand_seed"
}


@for_each("key", NUMBERS)
def test_a_number_out_of_range_is_refused_with_its_limits(key: str) -> None:
    bound = NUMBERS[key]
    beyond: list[float] = [bound.option.low - 1, bound.option.high * 2]
    if bound.kind is float:
        beyond += [math.nan, math.inf]
    for value in beyond:
        with pytest.raises(UsageError, match=f"{bound.name} must be between"):
            planned(f"{bound.name}={value}")


@for_each(
    ("words", "field", "value"),
    [
        ("--mysql-ignore-errors=1213,1205", "ignored_errors", (1213, 1205)),
        ("--mysql-ignore-errors=", "ignored_errors", ()),
        ("--mysql-ignore-errors= 1213 , ", "ignored_errors", (1213,)),
        ("--mysql-ignore-errors=1062", "ignored_errors", (1062,)),
        ("--mysql-ignore-errors=all", "ignored_errors", None),
        ("--percentile=99", "percentiles", (99.0,)),
        ("--percentile=50,95,99.9", "percentiles", (50.0, 95.0, 99.9)),
        ("--percentile= 50 , 95 ", "percentiles", (50.0, 95.0)),
        ("--percentile=0", "percentiles", ()),
        ("--percentile=0,95", "percentiles", (95.0,)),
        ("--percentile=100", "percentiles", (100.0,)),
        ("--report-checkpoints=", "checkpoints", ()),
        ("--report-checkpoints=10", "checkpoints", (10,)),
        ("--report-checkpoints=1m,5s", "checkpoints", (5, 60)),
        ("--report-checkpoints=60, 10,60", "checkpoints", (10, 60)),
        ("--report-checkpoints=0", "checkpoints", ()),
        ("--report-checkpoints=5,", "checkpoints", (5,)),
        ("--client-delay=0", "client_delay_ms", 0),
        ("--client-delay=20ms", "client_delay_ms", 20),
        ("--client-delay=500us", "client_delay_ms", 0.5),
        ("--client-delay=0.18s", "client_delay_ms", 180),
        ("--deadline=0.2s", "deadline_ms", 200),
        ("--deadline=0", "deadline_ms", 0),
        ("--histogram=on", "histogram", True),
        ("--histogram=OFF", "histogram", False),
        ("--histogram=1", "histogram", True),
        ("--histogram=0", "histogram", False),
        ("--histogram=True", "histogram", True),
        ("--threads=1", "isolation", ""),
        ("--num-threads=3", "threads", 3),
        ("--max-time=7", "seconds", 7.0),
        ("--max-requests=500", "events", 500),
        ("--events=500", "events", 500),
        ("--tx-rate=12.5", "rate", 12.5),
        ("--rate=12.5", "rate", 12.5),
        ("--warmup-time=2", "warmup_seconds", 2.0),
        ("--thread-init-timeout=9", "opening_seconds", 9.0),
        ("--max-retries=0", "max_retries", 0),
    ],
)
def test_an_option_reaches_the_plan_in_each_of_its_spellings(words: str, field: str, value: object) -> None:
    """sysbench's, old and new, and ours."""
    assert getattr(planned(words), field) == value


TRIAL = "--ab=sync_binlog=1,0"


@for_each(
    ("words", "told"),
    [
        *(
            ((f"--percentile={text}",), "--percentile must be between")
            for text in ("-1", "101", "nan", "50,inf")
        ),
        *(
            ((f"--percentile={text}",), f"--percentile takes numbers separated by commas, not '{text}'")
            for text in ("", "p95", "50;95", "50,,95")
        ),
        (("--mysql-ignore-errors=deadlock",), "--mysql-ignore-errors takes error numbers"),
        (("--histogram=perhaps",), "--histogram is one of on, off"),
        (("--report-checkpoints=soon",), "takes whole seconds separated by commas, not 'soon'"),
        (("--report-checkpoints=1.5",), "takes whole seconds"),
        (("--report-checkpoints=10;20",), "takes whole seconds"),
        (("--report-checkpoints=-1",), "must be between"),
        (("--report-checkpoints=99999999999",), "must be between"),
        (("--report-checkpoints=" + ",".join(map(str, range(1, 300))),), "takes 256 checkpoints at most"),
        *(((f"--client-delay={text}",), "--client-delay: ") for text in ("20", "-1ms", "11s", "fast", "")),
        *(((f"--deadline={text}",), "--deadline: ") for text in ("20", "2h", "soon", "")),
        (("--plan=8:1s", "--ramp=1..2/1s"), "--plan and --ramp: one plan at a time"),
        (("--ramp=1..2/1s", "--ramp-rate=1..2/1s"), "--ramp and --ramp-rate: one plan"),
        (("--ramp=8:3s",), "--ramp takes one ramp, not '8:3s'"),
        (("--ramp=1..8/3s,8:3s",), "--ramp takes one ramp"),
        (("--ramp-rate=1..8/3",), "--ramp-rate: character 6, '1..8/3': '3' is not a duration"),
        (("--plan=8:30s,x",), "--plan: character 7, 'x': a stage is"),
        *(
            ((f"--ab={text}",), "SETTING=V1,V2")
            for text in ("sync_binlog", "sync_binlog=1", "sync_binlog=1,0,2", "sync_binlog=1,")
        ),
        (("--ab=sync_binlog=1,1",), "two different values"),
        (("--ab=sync_binlgo=1,0",), "sync_binlgo"),
        (("--ab=preset=durable,unsave",), "no preset 'unsave' (valid: "),
        (("--ab=threads=8,many",), "whole numbers"),
        (("--ab=threads=8,0",), "between 1 and"),
        ((TRIAL, "--plan=8:30s,16:30s"), "--ab cannot be combined with a plan"),
        ((TRIAL, "--time=30"), "--time=30 cannot be combined with --ab"),
        ((TRIAL, "--time=30"), "are 100 s"),
        ((TRIAL, "--cycles=3", "--window=10"), "--cycles must be between 4 and"),
        ((TRIAL, "--cycles=1000000", "--window=10"), "between 4 and"),
        ((TRIAL, "--cycles=5", "--window=3"), "too short"),
        ((TRIAL, "--figure=errors"), "of two windows cannot be compared"),
        ((TRIAL, "--figure=backlog"), "cannot be compared"),
        ((TRIAL, "--figure=tpss"), "no figure"),
        ((TRIAL, "--until=soon"), "the tolerance is a percentage"),
        ((TRIAL, "--until=0%"), "the tolerance is a percentage"),
        ((TRIAL, "--until=2%", "--cycles=5"), "--cycles cannot be combined with --until"),
        ((TRIAL, "--until=2%", "--time=30"), "takes between 32 and"),
        (("--until=2%",), "needs --ab"),
    ],
)
def test_what_makes_no_plan_is_refused_by_its_option(words: tuple[str, ...], told: str) -> None:
    with pytest.raises(UsageError) as refusal:
        planned(*words)
    assert told in str(refusal.value)


def test_words_of_choice_become_the_plans() -> None:
    made = planned(
        "--arrival=constant",
        "--backlog=drop",
        "--on-error=continue",
        "--db-ps-mode=disable",
        "--isolation=read-committed",
    )
    assert (made.arrival, made.backlog, made.on_error) == (Arrival.CONSTANT, Backlog.DROP, OnError.CONTINUE)
    assert (made.prepared, made.isolation) == (False, "read-committed")


@pytest.mark.parametrize(
    ("option", "choices"),
    [
        ("arrival", "poisson, constant"),
        ("backlog", "keep, drop"),
        ("on_error", "stop, continue"),
        ("db_ps_mode", "auto, disable"),
        ("isolation", "read-uncommitted, read-committed, repeatable-read, serializable"),
    ],
)
def test_a_word_that_is_no_choice_is_refused_with_the_choices(option: str, choices: str) -> None:
    with pytest.raises(UsageError) as refusal:
        planned(f"--{option.replace('_', '-')}=Sometimes")
    assert str(refusal.value) == f"--{option.replace('_', '-')} is one of {choices}, not 'Sometimes'"


def parsed(*words: str) -> RunPlan:
    """The plan of words among which is the profile."""
    values, (first, *rest) = parse_plan_words("run", words)
    return make_plan(values, *split_profile_and_options(first, rest))


@pytest.mark.parametrize(
    "words",
    [
        ["oltp_read_write", "--tables=4", "--threads=2"],
        ["--tables=4", "oltp_read_write", "--threads=2"],
        ["--tables=4", "--threads=2", "oltp_read_write"],
        ["--threads=2", "--tables", "4", "oltp_read_write"],
        ["--threads", "2", "oltp_read_write", "--tables", "4"],
    ],
    ids=" ".join,
)
def test_the_profile_may_stand_anywhere_among_the_options(words: list[str]) -> None:
    made = parsed(*words)
    assert (made.profile, made.options, made.threads) == ("oltp_read_write", {"tables": "4"}, 2)


def test_a_run_directory_takes_records_only(tmp_path: Path, tuibench_home: Path) -> None:
    SessionOptions(run_dir=str(tmp_path / "here")).keep_records()
    assert new_session_spec(PLAN, Target()).run_directory.startswith(str(tmp_path / "here" / "runs"))
    assert paths.journal_dir().is_relative_to(tuibench_home)
    assert paths.runtime_dir().is_relative_to(tuibench_home)
    assert paths.config_dir().is_relative_to(tuibench_home)


def test_what_happens_at_a_time_has_two_words() -> None:
    words = ("--at", "1m30s", "ALTER TABLE t ADD INDEX (c)", "--at", "0.5s", "exec:ls -l")
    made = planned(*words)
    assert made.interventions == (At(90, "ALTER TABLE t ADD INDEX (c)"), At(0.5, "exec:ls -l"))
    again = option_words(made)
    assert again[again.index("--at") :] == ["--at", "90s", words[2], "--at", "0.5s", "exec:ls -l"]
    assert dict(setup_rows(made))["at"] == "90s ALTER TABLE t ADD INDEX (c), 0.5s exec:ls -l"
    with pytest.raises(UsageError, match="--at: 'soon' is not a duration"):
        planned("--at", "soon", "SELECT 1")


# What the parser left over


@pytest.mark.parametrize(
    ("left", "options"),
    [
        (["--tables=4", "--table-size", "1000"], {"tables": "4", "table_size": "1000"}),
        (["--skip-trx"], {"skip_trx": ""}),
        (["--skip-trx", "--tables=4"], {"skip_trx": "", "tables": "4"}),
        (["--skip-trx", "on"], {"skip_trx": "on"}),
        (["--key=a=b"], {"key": "a=b"}),
        (["--offset", "-5"], {"offset": "-5"}),
        ([], {}),
    ],
)
def test_the_rest_is_the_profiles(left: list[str], options: dict[str, str]) -> None:
    assert parse_profile_options(left) == options


@pytest.mark.parametrize("left", [["oops"], ["--tables=4", "oops"], ["-x"]])
def test_what_is_no_option_is_refused(left: list[str]) -> None:
    with pytest.raises(UsageError, match="is not an option"):
        parse_profile_options(left)


@pytest.mark.parametrize(
    ("first", "rest", "options"),
    [
        ("oltp_read_write", ["--tables=4"], {"tables": "4"}),
        ("--tables=4", ["oltp_read_write"], {"tables": "4"}),
        ("--tables", ["4", "oltp_read_write", "--skip-trx"], {"tables": "4", "skip_trx": ""}),
        ("--skip-trx", ["oltp_read_write"], {"skip_trx": ""}),
        ("--skip-trx", ["on", "oltp_read_write"], {"skip_trx": "on"}),
    ],
)
def test_the_name_is_found_among_the_profiles_options(
    first: str, rest: list[str], options: dict[str, str]
) -> None:
    assert split_profile_and_options(first, rest) == ("oltp_read_write", options)


@pytest.mark.parametrize(("first", "rest"), [("--tables=4", []), ("--tables", ["4"])])
def test_options_without_a_profile_are_refused(first: str, rest: list[str]) -> None:
    with pytest.raises(UsageError, match=r"no profile is named \(give one"):
        split_profile_and_options(first, rest)


# Names of runs


def test_runs_that_start_in_one_second_have_names_of_their_own(tuibench_home: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: new_session_spec(PLAN, Target()), range(40)))
    assert len({spec.session for spec in made}) == 40
    for spec in made:
        assert spec.session == Path(spec.run_directory).name
        assert Path(spec.run_directory).stat().st_mode & 0o777 == 0o700
        assert Path(spec.run_directory).is_relative_to(tuibench_home)


def test_a_profile_file_gives_its_name_not_its_path() -> None:
    spec = new_session_spec(RunPlan(profile="/some/where/mine.toml"), Target())
    assert spec.session.endswith("-mine")
    assert (spec.inherit_fds, spec.private_server) == ((), "")


def test_only_a_live_session_begins_without_a_thread() -> None:
    plan = planned("--threads=0", command="live")
    assert (plan.starts_idle, plan.shows_traffic, plan.profile_options["threads"]) == (True, True, 1)
    assert not planned("--threads=1", command="live").shows_traffic
    with pytest.raises(UsageError, match="--threads"):
        planned("--threads=0")


# `--sql` on the command line: what becomes a plan, and what is refused.


SWEEP, _ = parse_plan_words("sweep", [])
ADHOC_SQL_OPTIONS_PLAN = RunPlan(profile="anything", options={"rand_type": "zipfian"})


def test_without_sql_the_plan_stays_as_it_is() -> None:
    assert AdhocSqlOptions().apply_to(ADHOC_SQL_OPTIONS_PLAN) is ADHOC_SQL_OPTIONS_PLAN
    assert AdhocSqlOptions().profile_and_options("oltp_read_only", ["--tables=2"]) == (
        "oltp_read_only",
        {"tables": "2"},
    )


def test_the_plan_holds_the_profile_so_that_a_record_of_it_can_be_repeated() -> None:
    adhoc = AdhocSqlOptions(sql=["SELECT :id", "DO 1"], sql_param=["id=1..9"], sql_weights="3/1")
    plan = adhoc.apply_to(ADHOC_SQL_OPTIONS_PLAN)
    assert plan.profile == "sql"
    made = library.load_program(plan.profile, plan.profile_options, plan.profile_text)
    assert {each.name: each.weight for each in made.transactions} == {"sql_1": 3.0, "sql_2": 1.0}
    assert plan.sql_words == ("--sql=SELECT :id", "--sql=DO 1", "--sql-param=id=1..9", "--sql-weights=3/1")


def test_files_are_transactions_of_their_name(tmp_path: Path) -> None:
    for name in ("First one.sql", "second.sql"):
        (tmp_path / name).write_text("SELECT 1;\nSELECT 2;\n")
    adhoc = AdhocSqlOptions(sql_file=[str(tmp_path / "First one.sql"), str(tmp_path / "second.sql")])
    plan = adhoc.apply_to(ADHOC_SQL_OPTIONS_PLAN)
    made = library.load_program(plan.profile, {}, plan.profile_text)
    assert [each.name for each in made.transactions] == ["first_one", "second"]


def test_options_of_every_profile_are_taken_beside_sql() -> None:
    assert AdhocSqlOptions(sql=["DO 1"]).profile_and_options("--rand-type", ["zipfian"]) == (
        "sql",
        {"rand_type": "zipfian"},
    )
    assert AdhocSqlOptions(sql=["DO 1"]).profile_and_options("", []) == ("sql", {})


@pytest.mark.parametrize(
    ("adhoc", "told"),
    [
        (AdhocSqlOptions(sql_param=["id=1..2"]), "there is no SQL to go with it"),
        (AdhocSqlOptions(sql_file=["/nowhere/x.sql"]), "--sql-file: cannot read /nowhere/x.sql"),
        (AdhocSqlOptions(sql=["DO 1"], sql_weights="1/2"), "1 weights are required"),
        (AdhocSqlOptions(sql=["DO :x"], sql_param=["x={ make = 'nosuch' }"]), "nosuch"),
    ],
)
def test_what_is_no_load(adhoc: AdhocSqlOptions, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        adhoc.apply_to(ADHOC_SQL_OPTIONS_PLAN)


def test_there_is_one_load() -> None:
    with pytest.raises(UsageError, match="give one of them"):
        AdhocSqlOptions(sql=["DO 1"]).profile_and_options("oltp_read_only", [])
    with pytest.raises(UsageError, match="missing argument"):
        AdhocSqlOptions().profile_and_options("", [])


def test_every_cell_of_a_sweep_runs_the_sql() -> None:
    adhoc = AdhocSqlOptions(sql=["SELECT :id", "DO 1"], sql_param=["id=1..9"])
    plan = SweepOptions(threads="1,4").plan(
        *adhoc.profile_and_options("", ["--rand-type=zipfian"]), SWEEP, adhoc
    )
    cells = all_cells(plan)
    assert [(cell.case.name, cell.threads) for cell in cells] == [("sql", 1), ("sql", 4)]
    run = cell_plan(plan, cells[1])
    made = library.load_program(run.profile, run.profile_options, run.profile_text)
    assert [each.name for each in made.transactions] == ["sql_1", "sql_2"]
    assert (run.options, run.sql_words) == ({"rand_type": "zipfian"}, plan.base.sql_words)


def test_adhoc_sql_takes_no_profile_options_and_has_no_tables_to_create() -> None:
    adhoc = AdhocSqlOptions(sql=["DO 1"])
    with pytest.raises(UsageError, match="unknown option --tables"):
        SweepOptions().plan(*adhoc.profile_and_options("", ["--tables=4"]), SWEEP, adhoc)
    with pytest.raises(UsageError, match="has no tables to create"):
        SweepOptions(prepare=True).plan(*adhoc.profile_and_options("", []), SWEEP, adhoc)


# From the options of a planned load to the plan of the run.


def test_a_run_begins_with_its_plan_and_ends_with_it() -> None:
    made = planned("--plan=8:30s,16:30s,64:1m", "--threads=3")
    assert (made.threads, made.most_threads, made.rate, made.seconds) == (8, 64, 0, 120)


def test_a_plan_of_rates_leaves_the_threads() -> None:
    made = planned("--plan=rate 200:30s,rate 400:30s", "--threads=16")
    assert (made.threads, made.most_threads, made.rate, made.seconds) == (16, 16, 200, 60)


def test_a_rate_that_comes_later_does_not_begin_the_run() -> None:
    assert planned("--plan=threads 8:30s,rate 200:30s").rate == 0
    assert planned("--plan=8:30s", "--rate=50").rate == 50


@pytest.mark.parametrize(
    ("time", "seconds"), [("", 60), ("--time=5", 5.0), ("--time=100", 100.0), ("--time=0", None)]
)
def test_a_time_given_outdoes_the_plans(time: str, seconds: float | None) -> None:
    assert planned("--ramp=1..128/60s", *[time] * bool(time)).seconds == seconds


def test_the_live_monitor_goes_on_after_the_plan() -> None:
    assert planned("--ramp=1..128/60s", command="live").seconds is None


def test_ramps_have_short_forms() -> None:
    assert planned("--ramp=1..128/60s doubling").schedule == (
        RampStage(first=1, last=128, seconds=60, doubling=True),
    )
    assert planned("--ramp-rate=100..2000/60s").schedule == (
        RampStage(quantity=Quantity.RATE, first=100, last=2000, seconds=60),
    )
    assert planned().schedule == ()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"plan": "8:30s", "threads": 3},
            "tuibench: --threads=3 is not used: the plan begins with 8 threads\n",
        ),
        ({"plan": "8:30s", "threads": 8}, ""),
        ({"plan": "8:30s"}, ""),
        ({"ramp_rate": "100..200/60s", "threads": 3}, ""),
    ],
)
def test_threads_replaced_by_the_plan_are_reported(
    given: dict[str, object], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    planned(*(f"--{name.replace('_', '-')}={text}" for name, text in given.items()))
    assert capsys.readouterr().err == told


# What `--ab` takes, and what it refuses before anything is started.


def tried(ab: str, *words: str) -> RunPlan:
    return planned(f"--ab={ab}", "--rand-seed=1", *words)


@pytest.mark.parametrize(
    ("text", "subject", "a", "b"),
    [
        ("innodb_flush_log_at_trx_commit=1,0", "innodb_flush_log_at_trx_commit", "1", "0"),
        ("Sync-Binlog = 1 , 0", "sync_binlog", "1", "0"),
        ("preset=durable,unsafe", "preset", "durable", "unsafe"),
        ("threads=8,16", "threads", "8", "16"),
        ("long_query_time=1,10", "long_query_time", "1", "10"),
    ],
)
def test_what_can_be_tried(text: str, subject: str, a: str, b: str) -> None:
    assert tried(text).trial == AbTestPlan(subject=subject, a=a, b=b, seed=1)


def test_the_time_follows_from_cycles_and_window() -> None:
    plan = tried("sync_binlog=1,0", "--cycles=4", "--window=7.5")
    assert plan.seconds == 60
    assert plan.warmup_seconds == 5
    assert ab_test_announcement(plan) == (
        "A/B: sync_binlog 1 against 0, 4 cycles of 2 windows of 7.5 s: 60 s after 5 s of warm-up"
    )
    assert tried("sync_binlog=1,0", "--time=100").seconds == 100


def test_a_warm_up_that_was_asked_for_is_kept() -> None:
    plan = tried("sync_binlog=1,0", "--warmup-time=20")
    assert plan.warmup_seconds == 20
    assert tried("sync_binlog=1,0", "--warmup-time=0").warmup_seconds == 0


def test_everything_is_made_ready_for_the_most_threads() -> None:
    assert tried("threads=64,16").threads == 64


def test_without_ab_there_is_no_test() -> None:
    assert planned("--time=30").trial is None
    assert ab_test_announcement(PLAN) == ""


@pytest.mark.parametrize("text", ["±2%", "2", "+-2 %", "2.0%"])
def test_until_makes_it_sequential(text: str) -> None:
    plan = tried("sync_binlog=1,0", f"--until={text}", "--time=95")
    assert plan.trial is not None
    assert (plan.trial.is_sequential, plan.trial.tolerance_percent) == (True, 2.0)
    assert (plan.trial.cycles, plan.trial.window_seconds, plan.seconds) == (11, 4.0, 88.0)
    assert "until one is better or they are equal within ±2 %: at most 88 s" in ab_test_announcement(plan)


@pytest.mark.parametrize(
    ("name", "key"), [("p99", "p99_ms"), ("redo_bytes", "redo_bytes_per_transaction"), ("p99.5", "p99.5_ms")]
)
def test_any_figure_of_a_window_may_decide(name: str, key: str) -> None:
    plan = tried("sync_binlog=1,0", f"--figure={name}", "--rate=100")
    assert plan.trial is not None
    assert plan.trial.primary == key


def test_at_a_fixed_rate_latency_decides() -> None:
    plan = tried("sync_binlog=1,0", "--rate=100")
    assert plan.trial is not None
    assert plan.trial.primary == "p95_ms"


def test_values_that_were_replaced_once_are_kept_by_the_next_replacement() -> None:
    """A scene's threads, then the time of a demo without a screen: neither counts as given."""
    values = PlanValues(PLAN_COMMANDS["demo"], {"rate": 7.0}).replaced(threads=16).replaced(time=None)
    assert (values["threads"], values["rate"], values["time"]) == (16, 7.0, None)
    assert values.given == {"rate"}
