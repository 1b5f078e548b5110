"""sysbench's users keep their command lines, or are told what to write instead."""

import pytest

from tests.tables import for_each
from tests.unit.cli.program import Program
from tuibench.cli.main import COMMANDS
from tuibench.cli.parsing.sysbench_syntax import (
    ANY,
    IGNORED_OPTIONS,
    RENAMED_OPTIONS,
    command_first,
    is_sysbench_line,
    translate_options,
)
from tuibench.errors import ExitCode, UsageError
from tuibench.model.plan_options import part_options


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("oltp_read_write run", "run oltp_read_write"),
        ("oltp_read_write --threads=4 --tables=2 run", "run oltp_read_write --threads=4 --tables=2"),
        ("--threads 4 oltp_read_write prepare --tables=2", "prepare --threads 4 oltp_read_write --tables=2"),
        ("tpcc cleanup", "cleanup tpcc"),
        ("run oltp_read_write", "run oltp_read_write"),
        ("live prepare", "live prepare"),
        ("ctl 2026 mark run", "ctl 2026 mark run"),
        ("oltp_read_write --threads=4", "oltp_read_write --threads=4"),
        ("--version", "--version"),
        ("", ""),
    ],
)
def test_the_command_comes_first(given: str, meant: str) -> None:
    assert command_first(given.split(), COMMANDS) == meant.split()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("run x --db-driver=mysql --debug=off --forced-shutdown=off", "run x"),
        ("run x --histogram --tables=2", "run x --histogram=on --tables=2"),
        ("run x --histogram", "run x --histogram=on"),
        ("run x --histogram off", "run x --histogram off"),
        ("run x --histogram=off", "run x --histogram=off"),
        ("run x --mysql-ssl", "run x --ssl-mode=required"),
        ("run x --mysql-ssl=off", "run x --ssl-mode=disabled"),
        ("run x --mysql-ssl=VERIFY_CA", "run x --ssl-mode=verify_ca"),
        ("run x --mysql-ssl-ca=a.pem --mysql-ssl-key k.pem", "run x --ssl-ca=a.pem --ssl-key k.pem"),
        ("slap --debug=off", "slap --debug=off"),
        ("ctl mark --validate=off", "ctl mark --validate=off"),
        ("", ""),
    ],
)
def test_options_are_in_our_own_words(given: str, meant: str) -> None:
    assert translate_options(given.split()) == (meant.split(), [])


def test_an_alias_of_an_option_is_shown_by_its_name() -> None:
    aliases = {alias: bound.name for bound in part_options("") for alias in bound.option.names[1:]}
    assert {alias: RENAMED_OPTIONS.get(alias) for alias in aliases} == aliases


@for_each(
    "option",
    [
        "--db-driver=pgsql",
        "--validate",
        "--validate=on",
        *(name for name, (allowed, _, _) in IGNORED_OPTIONS.items() if allowed != ANY),
    ],
)
def test_what_cannot_be_had_is_refused_with_the_reason(option: str) -> None:
    with pytest.raises(UsageError, match=option.partition("=")[0]) as refused:
        translate_options(["run", "oltp_read_write", option])
    assert refused.value.hint


@pytest.mark.parametrize(
    ("test", "profile"),
    [
        ("oltp", "oltp_point_select"),
        ("tests/db/oltp.lua", "oltp_read_only"),
        ("oltp.lua", "oltp_read_only"),
        ("tests/db/update_index.lua", "oltp_update_index"),
        ("tests/db/insert", "oltp_insert"),
    ],
)
def test_the_modes_apply_to_the_test_that_has_them(test: str, profile: str) -> None:
    """The scripts of 0.5 ignore the test mode, and all but oltp.lua the switches."""
    words = ["run", f"--test={test}", "--oltp-read-only=on", "--oltp-test-mode=nontrx", "--threads=2"]
    assert translate_options(words)[0] == ["run", profile, "--threads=2"]


@pytest.mark.parametrize(
    ("line", "notes", "deviations"),
    [
        (
            "tpcc.lua --use-fk=0 --force-pk=1 --trx-level=RC run",
            [
                "read as: tuibench run tpcc --isolation=read-committed --report-interval=0",
                "ignored: --use-fk=0 --force-pk=1",
            ],
            ["--force-pk is ignored"],
        ),
        (
            "oltp_insert --db-driver=mysql --thread-stack-size=64K --report-interval=1 run",
            ["ignored: --db-driver=mysql --thread-stack-size=64K"],
            ["--thread-stack-size is ignored"],
        ),
        ("oltp_insert --threads=4 --tables=2 run", [], []),
    ],
)
def test_what_is_ignored_and_what_differs_is_named(
    line: str, notes: list[str], deviations: list[str]
) -> None:
    found: list[str] = []
    words = command_first(line.split(), COMMANDS)
    assert translate_options(words, is_sysbenchs=True, deviations=found)[1] == notes
    assert found == deviations


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("oltp_insert run", ["--report-interval=0"]),
        ("oltp_insert --report-interval=2 run", []),
        ("oltp_insert prepare", []),
        ("run oltp_insert", []),
    ],
)
def test_a_line_in_sysbenchs_form_prints_interval_lines_on_request_only(line: str, word: list[str]) -> None:
    given = line.split()
    words = command_first(given, COMMANDS)
    meant, _ = translate_options(words, is_sysbenchs=is_sysbench_line(given, COMMANDS))
    assert meant == [*words, *word]


@pytest.mark.parametrize(
    ("line", "is_said"),
    [
        ("oltp_insert --mysql-host=127.0.0.2 run", True),
        ("oltp_insert --mysql-host=127.0.0.2 --mysql-ssl=off run", False),
        ("oltp_insert --mysql-host=127.0.0.1 run", False),
        ("run oltp_insert --mysql-host=127.0.0.2", False),
    ],
)
def test_a_connection_that_may_be_encrypted_is_named_before_the_run(
    tuibench: Program, line: str, is_said: bool
) -> None:
    ended = tuibench(*line.split(), "--mysql-port=1", "--no-defaults", "--connect-timeout=1")
    assert ended.code == ExitCode.SERVER_UNAVAILABLE
    assert ("differs from sysbench: the connections are encrypted" in ended.err) == is_said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("oltp_read_write", "'oltp_read_write' is a profile, not a command (run it: tuibench run oltp_read"),
        ("tpcc --warehouses=3", "run it: tuibench run tpcc --warehouses=3)"),
        ("oltp_read_rwite run", "there is no profile 'oltp_read_rwite' (did you mean 'oltp_read_write'?)"),
        ("oltp_read_write --db-driver=pgsql run", "--db-driver: only MySQL and MariaDB are supported"),
        ("./mine.lua run", "there is no profile file ./mine.lua (Lua is not supported)"),
    ],
)
def test_an_error_is_reported_in_one_line(tuibench: Program, line: str, words: str) -> None:
    code, out, err = tuibench(*line.split())
    assert (code, out, err.count("\n")) == (ExitCode.USAGE_ERROR, "", 1)
    assert words in err


def test_sysbenchs_own_line_reaches_the_server(tuibench: Program) -> None:
    """The one of its manual, with a port where nobody listens."""
    line = (
        "oltp_read_write --db-driver=mysql --mysql-host=127.0.0.1 --mysql-port=1 --mysql-db=x "
        "--table_size=1000000 --tables=2 --threads=8 --report-interval=1 --histogram --rand-type=uniform run"
    )
    assert tuibench(*line.split()).code == ExitCode.SERVER_UNAVAILABLE


@pytest.mark.parametrize(
    ("asked", "start"), [(("help",), ""), (("help", "run"), "run "), (("help", "-x"), "")]
)
def test_help_is_a_command_too(tuibench: Program, asked: tuple[str, ...], start: str) -> None:
    code, out, _ = tuibench(*asked)
    if asked[-1] != "-x":
        assert (code, out.startswith(f"Usage: tuibench {start}")) == (ExitCode.DONE, True)
    else:
        assert code == ExitCode.USAGE_ERROR


def test_a_test_is_asked_for_help_as_sysbench_has_it(tuibench: Program) -> None:
    code, out, _ = tuibench("oltp_read_only", "help")
    assert (code, out) == (ExitCode.DONE, tuibench("profiles", "show", "oltp_read_only").out)
    assert "--range-size" in out


def test_the_version_is_a_word_too(tuibench: Program) -> None:
    assert tuibench("version") == tuibench("--version")
