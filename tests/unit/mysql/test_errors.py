"""What the server's error numbers mean to a user: which class, which exit code, which remedy."""

import pytest
from asyncmy import errors as driver

from tuibench.errors import ConnectionLostError, DeniedError, ExitCode, SQLError
from tuibench.model.target import Target
from tuibench.mysql import errors

READ_ONLY_OPTION = "The MySQL server is running with the --{} option so it cannot execute this statement"


@pytest.mark.parametrize(
    ("code", "text", "remedy"),
    [
        (1142, "INSERT command denied to user 'app'", "grant the privilege"),
        (1820, "You must SET PASSWORD", "ALTER USER"),
        (1290, READ_ONLY_OPTION.format("read-only"), "SET GLOBAL read_only = OFF"),
        (1290, READ_ONLY_OPTION.format("super-read-only"), "SET GLOBAL read_only = OFF"),
        (1792, "Cannot execute statement in a READ ONLY transaction", "transaction_read_only = OFF"),
        (1836, "Running in read-only mode", "without innodb_read_only"),
        (1874, "InnoDB is in read only mode.", "without innodb_read_only"),
        (3989, "Schema 'sbtest' is in read only mode.", "READ ONLY = 0"),
    ],
)
def test_a_server_that_refuses_says_how_to_mend_it(code: int, text: str, remedy: str) -> None:
    error = errors.error_for_code(code, text)
    assert isinstance(error, DeniedError)
    assert error.exit_code is ExitCode.SERVER_UNAVAILABLE
    assert (error.code, error.message) == (code, text)
    assert remedy in error.hint


def test_an_option_that_is_not_read_only_has_no_such_remedy() -> None:
    assert "read_only" not in errors.error_for_code(1290, READ_ONLY_OPTION.format("secure-file-priv")).hint


@pytest.mark.parametrize(
    ("code", "text", "remedy"),
    [
        (1040, "Too many connections", "max_connections"),
        (1203, "User app already has more than 'max_user_connections' active connections", "each account"),
        (1226, "User 'app' has exceeded the 'max_user_connections' resource", "WITH MAX_USER_CONNECTIONS"),
        (1226, "User 'app' has exceeded the 'max_connections_per_hour' resource", "MAX_CONNECTIONS_PER_HOUR"),
    ],
)
def test_a_server_that_is_full_says_what_gives_room(code: int, text: str, remedy: str) -> None:
    error = errors.connect_error(driver.OperationalError(code, text), Target(host="db1"))
    assert isinstance(error, SQLError)
    assert (error.code, error.message) == (
        code,
        f"the server at db1:3306 accepts no more connections: {text}",
    )
    assert remedy in error.hint


def test_a_lost_connection_differs_from_other_errors() -> None:
    assert isinstance(errors.error_for_code(2013, "gone"), ConnectionLostError)
    assert errors.error_for_code(1213, "Deadlock found").exit_code is ExitCode.RUN_FAILED


@pytest.mark.parametrize("code", [1064, 1045, 1040, 1142, 2013, 9999])
def test_a_servers_megabytes_are_cut(code: int) -> None:
    text = "x" * 16_000_000
    raised = driver.OperationalError(code, text)
    for error in (
        errors.error_for_code(code, text),
        errors.statement_error(raised),
        errors.connect_error(raised, Target()),
    ):
        assert f"{'x' * 500} … (16,000,000 characters)" in error.message
        assert len(error.message) < 700
    assert len(errors.statement_error(ValueError(text)).message) < 700
