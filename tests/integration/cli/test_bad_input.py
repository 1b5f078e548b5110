"""Mistakes on a command line, on real servers: one line that helps, the right exit code, nothing left."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.integration.support import sbtest
from tests.integration.support.commands import Finished, ask, assert_nothing_left, tuibench
from tuibench.base import paths
from tuibench.model.server import Target
from tuibench.servers.server import PrivateServer

RUN = ("run", "oltp_read_write", "--time=1", "--tables=2", "--table-size=500")
RUN_FAILED, USAGE_ERROR, SERVER_UNAVAILABLE = 1, 2, 3


@pytest.fixture(autouse=True)
def _nothing_left(tuibench_home: Path) -> Iterator[None]:
    """A mistake starts nothing, records nothing and leaves nothing."""
    yield
    assert_nothing_left(tuibench_home)
    assert not list(paths.runs_dir().glob("*"))


def complaint(done: Finished, code: int) -> str:
    """The one line on stderr; it is all that the program may have to say."""
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith("tuibench: ")
    assert done.code == code, line
    return line


# Wrong usage: the real program, where `tests/unit/cli` goes through all mistakes in one process


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rnu", "oltp_read_write"), "there is no command 'rnu' (did you mean 'run'?)"),
        ((*RUN, "--threads=0"), "--threads must be between 1 and 100,000, not 0"),
        (("live", "oltp_read_write"), "needs a terminal (without one: tuibench run with the same options"),
    ],
    ids=["command", "value", "terminal"],
)
def test_wrong_usage(arguments: tuple[str, ...], words: str) -> None:
    assert words in complaint(tuibench(*arguments), USAGE_ERROR)


def test_a_summary_that_cannot_be_written_is_no_traceback(any_tables: PrivateServer) -> None:
    """It is found out before the run, not after it."""
    line = complaint(tuibench(*RUN, "--json=/no/such/folder/x.json", target=any_tables.target), USAGE_ERROR)
    assert "cannot write /no/such/folder/x.json: No such file or directory" in line


# The server cannot be reached or refuses us


def test_no_such_socket() -> None:
    target = Target(socket="/no/such.sock", user="tuibench")
    line = complaint(tuibench(*RUN, target=target), SERVER_UNAVAILABLE)
    assert "cannot reach a server at socket /no/such.sock" in line
    assert "is it running?" in line


@pytest.mark.parametrize("over_tcp", [False, True])
def test_wrong_password(tables: PrivateServer, over_tcp: bool) -> None:
    target = sbtest.over_tcp(tables.target) if over_tcp else tables.target
    wrong = msgspec.structs.replace(target, password="guessed")
    line = complaint(tuibench(*RUN, target=wrong), SERVER_UNAVAILABLE)
    assert "refuses user 'tuibench'" in line
    assert "guessed" not in line


@pytest.mark.one_flavour
@pytest.mark.parametrize("command", ["run", "prepare"])
def test_missing_database(tables: PrivateServer, command: str) -> None:
    elsewhere = msgspec.structs.replace(tables.target, database="nowhere")
    line = complaint(tuibench(command, *RUN[1:2], target=elsewhere), SERVER_UNAVAILABLE)
    assert "the database 'nowhere' does not exist" in line
    assert "tuibench prepare oltp_read_write --tables=1 --table-size=10000 --" in line
    assert " --database=nowhere --create-database)" in line


@pytest.mark.one_flavour
async def test_the_hint_for_a_missing_database_works(tables: PrivateServer) -> None:
    made = msgspec.structs.replace(tables.target, database="made")
    done = tuibench("prepare", "oltp_read_write", "--table-size=100", "--create-database", target=made)
    assert done.code == 0, done.err
    assert await ask(made, "SELECT COUNT(*) FROM sbtest1") == [(100,)]
    await ask(tables.target, "DROP DATABASE made")


@pytest.fixture
async def reader(tables: PrivateServer, database: Target) -> AsyncIterator[Target]:
    """A login that may read the tables and an empty database, and nothing else."""
    await ask(
        tables.target,
        "CREATE USER reader@localhost IDENTIFIED BY 'pass'",
        f"GRANT SELECT ON {tables.target.database}.* TO reader@localhost",
        f"GRANT SELECT ON {database.database}.* TO reader@localhost",
    )
    yield msgspec.structs.replace(tables.target, user="reader", password="pass")
    await ask(tables.target, "DROP USER reader@localhost")


@pytest.mark.one_flavour
def test_no_write_privilege(reader: Target, database: Target) -> None:
    line = complaint(tuibench(*RUN, target=reader), SERVER_UNAVAILABLE)
    assert "denied" in line
    assert "grant the privilege, or log in as another user" in line
    bare = msgspec.structs.replace(reader, database=database.database)
    assert "denied" in complaint(tuibench("prepare", "oltp_read_write", target=bare), SERVER_UNAVAILABLE)


# The tables are not those that the run needs


def test_tables_not_prepared(any_tables: PrivateServer) -> None:
    asked = ("run", "oltp_read_write", "--time=1", "--tables=3", "--table-size=500")
    line = complaint(tuibench(*asked, target=any_tables.target), RUN_FAILED)
    assert "sbtest3 in the database 'sbtest': no such table" in line
    assert "2 of 3 exist: run with --tables=2, or drop them with: tuibench cleanup" in line
    assert "tuibench prepare oltp_read_write --tables=3 --table-size=500 --" in line
    assert f"--user={any_tables.target.user} --database=sbtest" in line


def test_tables_too_small(any_tables: PrivateServer) -> None:
    asked = ("run", "oltp_read_write", "--time=1", "--tables=2", "--table-size=5000")
    line = complaint(tuibench(*asked, target=any_tables.target), RUN_FAILED)
    assert "sbtest1 in the database 'sbtest' has 500 rows, this run needs 5,000" in line
    assert "tuibench prepare oltp_read_write --tables=2 --table-size=5000" in line


def test_tables_there_already(any_tables: PrivateServer) -> None:
    asked = ("prepare", "oltp_read_write", "--tables=2", "--table-size=500")
    line = complaint(tuibench(*asked, target=any_tables.target), RUN_FAILED)
    assert "the tables already exist" in line
    assert "tuibench cleanup oltp_read_write --tables=2" in line
