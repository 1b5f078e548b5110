"""The command line of slap: what it would send beside mysqlslap's own words, and what it refuses."""

import re
from pathlib import Path

import pytest

from tests.paths import DATA
from tests.tables import for_each
from tests.unit.cli.program import Program
from tuibench.cli.parsing.arguments import normalize
from tuibench.errors import ExitCode

WORDS = {
    "mixed": "-a -c 2 -i2 --auto-generate-sql-write-number=5 --auto-generate-sql-unique-write-number=2 "
    "--auto-generate-sql-unique-query-number=3 --number-of-queries=6 --commit=2 "
    "--engine=innodb,memory:max_rows=5 --auto-generate-sql-add-autoincrement -x2:1 -y2:1 "
    "--auto-generate-sql-secondary-indexes=2",
    "update": "-a --auto-generate-sql-write-number=2 --auto-generate-sql-unique-query-number=2 "
    "--auto-generate-sql-load-type=update --auto-generate-sql-guid-primary -x1 -y1",
    "read": "-a --no-drop --auto-generate-sql-write-number=2 --auto-generate-sql-load-type=read "
    "--auto-generate-sql-execute-number=3",
}
OWN = (
    "--create=CREATE TABLE a (b int);INSERT INTO a VALUES (1)",
    "--query=SELECT * FROM a;SELECT 2",
    "--delimiter=;",
    "--pre-query=SELECT 3",
    "--post-query=SELECT 4;SELECT 5",
    "-c2",
    "--engine=innodb",
    "--create-schema=own",
)


@pytest.fixture
def slap(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)


def masked(text: str) -> str:
    """Random texts and numbers under the names that the recorded output has for them."""
    return re.sub(r"\b\d{5,}\b", "INTEGER", re.sub(r"'[A-Za-z0-9]{126}'", "'TEXT'", text))


@pytest.mark.parametrize("name", WORDS)
def test_the_same_is_sent_as_by_mysqlslap(slap: Program, name: str) -> None:
    ended = slap("slap", "--only-print", "--rand-seed=1", *WORDS[name].split())
    assert (ended.code, ended.err) == (ExitCode.DONE, "")
    assert masked(ended.out) == (DATA / f"mysqlslap-only-print-{name}.txt").read_text()


def test_the_same_is_sent_of_own_statements(slap: Program) -> None:
    assert slap("slap", "--only-print", *OWN).out == (DATA / "mysqlslap-only-print-own.txt").read_text()


def test_statements_from_files(slap: Program, tmp_path: Path) -> None:
    file = tmp_path / "queries.sql"
    file.write_text("SELECT 1\nSELECT 2\n")
    assert slap("slap", "--only-print", f"--query={file}").out == "SELECT 1;\nSELECT 2;\n"


@for_each(
    ("words", "told"),
    [
        ((), "the clients have no queries to run"),
        (("-a", "--query=SELECT 1"), "generates what --create and --query specify"),
        (("-a", "--auto-generate-sql-load-type=key"), "a load by key needs a key"),
        (("-a", "--auto-generate-sql-load-type=bogus"), "is one of mixed, update, write, key, read"),
        (
            ("-a", "--auto-generate-sql-guid-primary", "--auto-generate-sql-add-autoincrement"),
            "a table has one key",
        ),
        (("-a", "--number-of-queries=5", "--auto-generate-sql-execute-number=5"), "how many queries?"),
        (("-a", "--concurrency=4,x"), "--concurrency takes numbers"),
        (("-a", "--concurrency=0"), "--concurrency must be between 1 and"),
        (("-a", "--iterations=0"), "--iterations must be between 1 and"),
        (("-a", "--number-int-cols=two"), "--number-int-cols is a number of columns"),
        (("-a", "--number-int-cols=0", "--number-char-cols=0"), "a table needs a column"),
        (("-a", "--create-schema=MySQL"), "'MySQL' is a system schema"),
        (("--query=SELECT 1", "--create-schema=sys"), "'sys' is a system schema"),
        (("-a", "--format=xml"), "--format: 'xml' is unknown"),
        (("--query=SELECT 1", "--delimiter="), "--delimiter is empty"),
    ],
)
def test_what_is_refused(slap: Program, words: tuple[str, ...], told: str) -> None:
    ended = slap("slap", "--only-print", *words)
    assert ended.code == ExitCode.USAGE_ERROR
    assert told in ended.err


def test_csv_may_stand_alone() -> None:
    assert normalize(["slap", "-a", "--csv"]) == ["slap", "-a", "--csv=-"]
    assert normalize(["slap", "-a", "--csv=file"]) == ["slap", "-a", "--csv=file"]
    assert normalize(["run", "--csv", "file"]) == ["run", "--csv", "file"]
