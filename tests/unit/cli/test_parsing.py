"""Parsing: arguments, typer's commands, the syntax of sysbench."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import pytest
import typer

from tests.tables import for_each
from tests.unit.cli.program import Program
from tuibench.base.errors import ExitCode, UsageError
from tuibench.cli.arguments import normalize, raise_unknown_command
from tuibench.cli.main import COMMANDS
from tuibench.cli.options import parse_profile_options
from tuibench.cli.parameters import help_with_default
from tuibench.cli.sysbench_syntax import (
    ANY,
    IGNORED_OPTIONS,
    RENAMED_OPTIONS,
    command_first,
    is_sysbench_line,
    translate_options,
)
from tuibench.cli.typer_command import OmitOptions, build_command
from tuibench.model.plan import part_options

# Command lines before the parser: their spellings.


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["run", "--table_size=1000"], ["run", "--table-size=1000"]),
        (["--mysql_host", "my_host"], ["--mysql-host", "my_host"]),
        (["--rand_type=a_b"], ["--rand-type=a_b"]),
        (["run", "oltp_read_write", "-u", "my_user"], ["run", "oltp_read_write", "-u", "my_user"]),
        (["-P", "3306", "-p"], ["-P", "3306", "-p"]),
        (["--percentile=99", "--port=1"], ["--percentile=99", "--port=1"]),
        ([], []),
    ],
)
def test_underscores_in_option_names_are_dashes_and_nothing_else_is_touched(
    given: list[str], meant: list[str]
) -> None:
    assert normalize(given) == meant


@pytest.mark.parametrize(
    ("name", "hint"),
    [("rnu", "did you mean 'run'?"), ("prepar", "did you mean 'prepare'?"), ("xyz", "--help")],
)
def test_an_unknown_command_is_answered_with_the_nearest_name(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"no command '{name}'") as caught:
        raise_unknown_command(name, ["run", "prepare", "live"])
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("given", "where"),
    [
        (["run", "--password=s\udcfcss"], "argument 2 (--password) is not valid UTF-8"),
        (["run", "-ps\udcfcss"], "argument 2 is not valid UTF-8"),
        (["\udcff"], "argument 1 is not valid UTF-8"),
    ],
)
def test_bytes_that_are_no_text_are_refused_and_not_shown(given: list[str], where: str) -> None:
    with pytest.raises(UsageError) as caught:
        normalize(given)
    assert caught.value.message == where


# Commands declared as functions: options shared as the fields of a dataclass reach them as one value.


class Shared(msgspec.Struct, frozen=True):
    size: Annotated[int, typer.Option("--size", "-s", help="How big.")] = 3
    loud: Annotated[bool, typer.Option("--loud", help="Shout.")] = False
    names: Annotated[list[str] | None, typer.Option("--name", help="Any number of them.")] = None


Calls = list[tuple[Any, ...]]


def program(received: Calls) -> Callable[[list[str]], Any]:
    def command(
        name: Annotated[str, typer.Argument(help="Of it.")],
        shared: Shared,
        last: Annotated[int, typer.Option()] = 7,
    ) -> None:
        received.append((name, shared, last))

    return lambda arguments: build_command(command).main(arguments, standalone_mode=False)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["x"], ("x", Shared(names=None), 7)),
        (["x", "-s", "9", "--loud", "--last", "1"], ("x", Shared(9, True, None), 1)),
        (["--size=4", "--name=a", "x", "--name=b"], ("x", Shared(4, names=["a", "b"]), 7)),
    ],
)
def test_fields_are_options_of_the_command(arguments: list[str], expected: tuple[str, Shared, int]) -> None:
    received: Calls = []
    program(received)(arguments)
    assert received == [expected]


def test_the_options_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    program([])(["--help"])
    text = capsys.readouterr().out
    assert "How big [3]." in text
    assert "Shout." in text
    assert "Of it." in text
    assert "shared" not in text


def test_fields_that_a_command_omits_keep_their_defaults() -> None:
    received: Calls = []

    def command(
        context: typer.Context,
        shared: Annotated[Shared, OmitOptions("size", "names")],
        size: Annotated[str, typer.Option("--size")] = "own",
    ) -> None:
        received.append((context.args, shared, size))

    build_command(command, context_settings={"allow_extra_args": True}).main(
        ["--loud", "--size", "other", "extra"], standalone_mode=False
    )
    assert received == [(["extra"], Shared(3, True), "other")]


@pytest.mark.parametrize(
    ("default", "expected"), [("", "How."), ("\n", "How."), ("0", "How [0]."), ("10", "How [10].")]
)
def test_a_default_is_shown_unless_it_says_nothing(default: str, expected: str) -> None:
    assert help_with_default("How.", default) == expected


def test_a_default_that_the_help_has_in_words_is_not_repeated() -> None:
    assert help_with_default("Threads [one a processor].", "2") == "Threads [one a processor]."


# sysbench's users keep their command lines, or are told what to write instead.


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
        ("run x --ssl=0", "run x --ssl-mode=disabled"),
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


def test_the_primary_key_of_history_can_be_asked_for() -> None:
    """Servers with sql_require_primary_key refuse the table without it."""
    words = ["prepare", "tpcc", "--force-pk"]
    assert translate_options(words)[0] == words
    assert translate_options(["prepare", "oltp_read_write", "--force-pk"])[0] == [
        *words[:1],
        "oltp_read_write",
    ]


@pytest.mark.parametrize(
    ("line", "notes", "deviations"),
    [
        (
            "tpcc.lua --scale=2 --use-fk=0 --force-pk=1 --trx-level=RC run",
            [
                "read as: tuibench run tpcc --warehouses=2 --foreign-keys=0 --force-pk=1 "
                "--isolation=read-committed --report-interval=0",
            ],
            [],
        ),
        (
            "tpcc.lua prepare",
            [
                "tpcc.lua's own default is --scale=100: add it for the same here",
                "tpcc.lua's own default is --use_fk=1: add it for the same here",
                "read as: tuibench prepare tpcc",
            ],
            [
                "tpcc.lua's own default is --scale=100: add it for the same here",
                "tpcc.lua's own default is --use_fk=1: add it for the same here",
            ],
        ),
        (
            "oltp_insert --db-driver=mysql --thread-stack-size=64K --report-interval=1 run",
            ["ignored: --db-driver=mysql --thread-stack-size=64K"],
            ["--thread-stack-size is ignored"],
        ),
        ("oltp_insert --threads=4 --tables=2 --validate=off run", [], []),
        ("oltp_insert --batch=off --report-interval=1 run", ["ignored: --batch=off"], []),
        ("tpcc --batch --report-interval=1 run", [], []),
        ("--batch=off tpcc --report-interval=1 run", [], []),
        (
            "oltp_insert --validate=on --threads=4 run",
            ["--validate has no effect: the command check validates the tables, and no result of a run"],
            ["--validate has no effect: the command check validates the tables, and no result of a run"],
        ),
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
        ("./mine.lua run", "there is no script ./mine.lua"),
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


def test_a_word_behind_a_question_for_the_password_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--password secret PROFILE`: the password leaves the command line only behind `=`."""
    monkeypatch.setattr("sys.argv", ["tuibench", "run", "-p", "secret", "oltp_read_write"])
    with pytest.raises(UsageError, match="'oltp_read_write' is not an option") as refused:
        parse_profile_options(["oltp_read_write"])
    assert "behind --password=" in refused.value.hint
