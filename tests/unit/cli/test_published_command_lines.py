"""Published command lines of sysbench and mysqlslap are accepted, or refused with the reason."""

import shlex
from pathlib import Path

from tests.tables import for_each
from tests.unit.cli.program import Program
from tests.unit.cli.published_command_lines import (
    MYSQLSLAP,
    REFUSED,
    SYSBENCH_04,
    SYSBENCH_05,
    SYSBENCH_10,
)
from tuibench.base.errors import ExitCode
from tuibench.cli.arguments import normalize
from tuibench.cli.main import COMMANDS
from tuibench.cli.sysbench_syntax import (
    NONTRX_MODE,
    OLD_OPTIONS,
    RENAMED_OPTIONS,
    SSL,
    SWITCHED_PROFILES,
    TEST,
    TEST_MODE,
    TPCC_OPTIONS,
    command_first,
    translate_options,
)

NOBODY = ("--no-defaults", "--host=127.0.0.1", "--port=1", "--connect-timeout=1")
OLD = (*SYSBENCH_04, *SYSBENCH_05)


def words_of(line: str, tmp_path: Path) -> list[str]:
    """The arguments, with the files that the line names in place."""
    config, sql = tmp_path / "config", tmp_path / "queries.sql"
    config.write_text("# sbtest\nthreads=4\nmysql_db = sbtest\n\ntime=10\n")
    sql.write_text("SELECT * FROM a;SELECT b FROM a;")
    words = shlex.split(
        line.replace("@CONFIG@", str(config)).replace("@SQL@", str(sql)).replace("=;", "=';'")
    )
    return words[1:] if words[0] == "sysbench" else ["slap", *words[1:]]


@for_each("line", [*SYSBENCH_10, *OLD, *MYSQLSLAP])
def test_a_published_line_reaches_the_server(tuibench: Program, tmp_path: Path, line: str) -> None:
    """A server that is not there is the first thing that can be wrong with it."""
    code, _, err = tuibench(*words_of(line, tmp_path), *NOBODY)
    accepted = ExitCode.DONE if "--only-print" in line else ExitCode.SERVER_UNAVAILABLE
    assert (code, err.splitlines()[-1:]) == (accepted, err.splitlines()[-1:])


@for_each(("line", "reason"), REFUSED.items())
def test_a_line_that_cannot_be_had_is_refused_with_the_reason(
    tuibench: Program, tmp_path: Path, line: str, reason: str
) -> None:
    code, out, err = tuibench(*words_of(line, tmp_path), *NOBODY)
    assert (code, out) == (ExitCode.USAGE_ERROR, "")
    assert reason in err


CHANGED = {*RENAMED_OPTIONS, *TPCC_OPTIONS, *SWITCHED_PROFILES, TEST, SSL, TEST_MODE, NONTRX_MODE}
"""Options that a line has under another name, or as another profile: it is shown in its modern form."""


@for_each("line", [line for line in (*SYSBENCH_10, *OLD) if line.endswith(" run")])
def test_no_option_of_a_line_is_dropped_silently(line: str) -> None:
    given = normalize([word for word in line.split()[1:] if not word.startswith("--config-file")])
    meant, notes = translate_options(command_first(given, COMMANDS), is_sysbenchs=True)
    kept = {word.partition("=")[0] for word in meant}
    lost = {word.partition("=")[0] for word in given if word.startswith("--")} - kept
    unsaid = [name for name in lost - CHANGED if name not in " ".join(notes)]
    assert not unsaid
    assert not lost & (CHANGED - {SSL, *set(RENAMED_OPTIONS) - OLD_OPTIONS}) or "read as" in " ".join(notes)


@for_each("line", OLD)
def test_an_old_line_is_shown_in_its_modern_form(tuibench: Program, tmp_path: Path, line: str) -> None:
    """What is shown is accepted, and shown no further."""
    err = tuibench(*words_of(line, tmp_path), *NOBODY).err
    (shown,) = [each for each in err.splitlines() if each.startswith("tuibench: read as: ")]
    again = tuibench(*shlex.split(shown.partition("tuibench: read as: tuibench ")[2]))
    assert again.code == ExitCode.SERVER_UNAVAILABLE
    assert "read as" not in again.err


def test_the_lines_are_many() -> None:
    assert len({*SYSBENCH_10, *OLD, *MYSQLSLAP, *REFUSED}) >= 60
