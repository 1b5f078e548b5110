"""From options to a plan: what is allowed, and what the profile gets."""

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.examples import PLAN
from tests.tables import for_each
from tests.unit.cli.plans import planned
from tuibench import paths
from tuibench.cli.options.profile_options import parse_profile_options, split_profile_and_options
from tuibench.cli.options.run_options import SessionOptions, make_plan
from tuibench.cli.parsing.click_command import parse_plan_words
from tuibench.cli.runner.new_session import new_session_spec
from tuibench.errors import UsageError
from tuibench.model.plan import Arrival, Backlog, OnError, RunPlan
from tuibench.model.plan_options import PLAN_COMMANDS
from tuibench.model.sql_errors import IGNORED_ERRORS
from tuibench.model.target import Target


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


@pytest.mark.parametrize("text", ["-1", "101", "nan", "50,inf"])
def test_percentiles_are_between_0_and_100(text: str) -> None:
    with pytest.raises(UsageError, match="--percentile must be between"):
        planned(f"--percentile={text}")


def test_the_refusal_says_the_numbers_in_full() -> None:
    with pytest.raises(UsageError, match="between 1 and 100,000, not 1,000,000"):
        planned("--threads=1000000")


@pytest.mark.parametrize(
    ("text", "codes"), [("1213,1205", (1213, 1205)), ("", ()), (" 1213 , ", (1213,)), ("1062", (1062,))]
)
def test_ignored_errors_are_a_list_of_numbers(text: str, codes: tuple[int, ...]) -> None:
    assert planned(f"--mysql-ignore-errors={text}").ignored_errors == codes


def test_ignored_errors_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="--mysql-ignore-errors takes error numbers"):
        planned("--mysql-ignore-errors=deadlock")


def test_all_errors_are_ignored_by_a_word() -> None:
    assert planned("--mysql-ignore-errors=all").ignored_errors is None


@pytest.mark.parametrize(
    ("text", "percentiles"),
    [
        ("99", (99.0,)),
        ("50,95,99.9", (50.0, 95.0, 99.9)),
        (" 50 , 95 ", (50.0, 95.0)),
        ("0", ()),
        ("0,95", (95.0,)),
        ("100", (100.0,)),
    ],
)
def test_percentiles_are_a_list_and_zero_is_none(text: str, percentiles: tuple[float, ...]) -> None:
    assert planned(f"--percentile={text}").percentiles == percentiles


@pytest.mark.parametrize("text", ["", "p95", "50;95", "50,,95"])
def test_percentiles_that_are_no_numbers_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"--percentile takes numbers separated by commas, not '{text}'"):
        planned(f"--percentile={text}")


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


def test_an_isolation_level_is_the_servers_own_unless_named() -> None:
    assert planned().isolation == ""


@pytest.mark.parametrize(
    ("text", "means"), [("on", True), ("OFF", False), ("1", True), ("0", False), ("True", True)]
)
def test_a_switch_has_many_names(text: str, means: bool) -> None:
    assert planned(f"--histogram={text}").histogram is means


def test_a_switch_that_is_neither_is_refused() -> None:
    with pytest.raises(UsageError, match="--histogram is one of on, off"):
        planned("--histogram=perhaps")


@pytest.mark.parametrize(
    ("spelling", "field", "value"),
    [
        ("--num-threads=3", "threads", 3),
        ("--max-time=7", "seconds", 7.0),
        ("--max-requests=500", "events", 500),
        ("--events=500", "events", 500),
        ("--tx-rate=12.5", "rate", 12.5),
        ("--rate=12.5", "rate", 12.5),
        ("--warmup-time=2", "warmup_seconds", 2.0),
        ("--thread-init-timeout=9", "opening_seconds", 9.0),
        ("--percentile=50,99", "percentiles", (50.0, 99.0)),
        ("--max-retries=0", "max_retries", 0),
    ],
)
def test_sysbenchs_spellings_old_and_new_reach_the_plan(spelling: str, field: str, value: object) -> None:
    assert getattr(parsed("oltp_read_write", spelling), field) == value


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


@pytest.mark.parametrize(
    ("text", "seconds"), [("", ()), ("10", (10,)), ("60, 10,60", (10, 60)), ("0", ()), ("5,", (5,))]
)
def test_checkpoints_are_a_list_of_seconds_in_any_order(text: str, seconds: tuple[int, ...]) -> None:
    assert planned(f"--report-checkpoints={text}").checkpoints == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soon", "takes whole seconds separated by commas, not 'soon'"),
        ("1.5", "takes whole seconds"),
        ("10;20", "takes whole seconds"),
        ("-1", "must be between"),
        ("99999999999", "must be between"),
        pytest.param(
            ",".join(str(second) for second in range(1, 300)), "takes 256 checkpoints at most", id="too many"
        ),
    ],
)
def test_checkpoints_that_make_no_sense_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        planned(f"--report-checkpoints={text}")


def test_only_a_live_session_begins_without_a_thread() -> None:
    plan = planned("--threads=0", command="live")
    assert (plan.starts_idle, plan.shows_traffic, plan.profile_options["threads"]) == (True, True, 1)
    assert not planned("--threads=1", command="live").shows_traffic
    with pytest.raises(UsageError, match="--threads"):
        planned("--threads=0")
