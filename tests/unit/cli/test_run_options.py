"""From options to a plan: what is allowed, and what the profile gets."""

import math
import os
from pathlib import Path
from typing import Any

import pytest

from tests.examples import PLAN
from tuibench.cli.run_options import RunOptions, profile_options, session_spec
from tuibench.errors import UsageError
from tuibench.model.plan import IGNORED_ERRORS, Plan
from tuibench.model.target import Target


def plan(**given: Any) -> Plan:
    return RunOptions(**given).plan("oltp_read_write", {"tables": 4})


def test_the_defaults_are_sysbenchs() -> None:
    made = plan(rand_seed=5)
    assert made == Plan(
        profile="oltp_read_write",
        options={"tables": 4},
        threads=1,
        seconds=10,
        percentile=95,
        seed=5,
        ignored_errors=IGNORED_ERRORS,
        workers=None,
    )


def test_zeros_mean_no_limit_and_a_choice_of_ours() -> None:
    made = plan(time=0, workers=0, percentile=0)
    assert (made.seconds, made.workers, made.percentile) == (None, None, 0)


def test_a_seed_of_zero_is_a_new_one_each_time() -> None:
    assert len({plan().seed for _ in range(5)}) > 1
    assert plan(rand_seed=7).seed == 7


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("threads", 0),
        ("threads", -1),
        ("threads", 1_000_000),
        ("time", -1),
        ("time", math.nan),
        ("interval", 0),
        ("interval", math.nan),
        ("interval", math.inf),
        ("percentile", -1),
        ("percentile", 101),
        ("percentile", math.nan),
        ("workers", -1),
        ("workers", 5000),
    ],
)
def test_a_number_out_of_range_is_refused_with_its_limits(option: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"--{option} must be between"):
        plan(**{option: value})


def test_the_refusal_says_the_numbers_in_full() -> None:
    with pytest.raises(UsageError, match="between 1 and 100,000, not 1,000,000"):
        plan(threads=1_000_000)


@pytest.mark.parametrize(
    ("text", "codes"), [("1213,1205", (1213, 1205)), ("", ()), (" 1213 , ", (1213,)), ("1062", (1062,))]
)
def test_ignored_errors_are_a_list_of_numbers(text: str, codes: tuple[int, ...]) -> None:
    assert plan(mysql_ignore_errors=text).ignored_errors == codes


def test_ignored_errors_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="--mysql-ignore-errors takes error numbers"):
        plan(mysql_ignore_errors="deadlock")


def test_a_run_directory_takes_everything(tmp_path: Path) -> None:
    plan(run_dir=str(tmp_path / "here"))
    assert os.environ["TUIBENCH_HOME"] == str(tmp_path / "here")
    assert session_spec(PLAN, Target()).run_directory.startswith(str(tmp_path / "here"))


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
    assert profile_options(left) == options


@pytest.mark.parametrize("left", [["oops"], ["--tables=4", "oops"], ["-x"]])
def test_what_is_no_option_is_refused(left: list[str]) -> None:
    with pytest.raises(UsageError, match="is not an option"):
        profile_options(left)


# Names of runs


def test_runs_that_start_in_one_second_have_names_of_their_own(tuibench_home: Path) -> None:
    made = []
    for _ in range(3):
        made.append(session_spec(PLAN, Target()))
        Path(made[-1].run_directory).mkdir(parents=True)
    assert len({spec.session for spec in made}) == 3
    for spec in made:
        assert spec.session == Path(spec.run_directory).name
        assert Path(spec.run_directory).is_relative_to(tuibench_home)


def test_a_profile_file_gives_its_name_not_its_path() -> None:
    spec = session_spec(Plan(profile="/some/where/mine.toml"), Target(), (7,))
    assert spec.session.endswith("-mine")
    assert spec.inherit_fds == (7,)
