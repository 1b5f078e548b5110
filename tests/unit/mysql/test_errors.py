"""What the server's error numbers mean to a user: which class, which exit code, which remedy."""

import pytest

from tuibench.errors import ConnectionLostError, DeniedError, ExitCode
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
    error = errors.refusal(code, text)
    assert isinstance(error, DeniedError)
    assert error.exit_code is ExitCode.SERVER_UNAVAILABLE
    assert (error.code, error.message) == (code, text)
    assert remedy in error.hint


def test_an_option_that_is_not_read_only_has_no_such_remedy() -> None:
    assert "read_only" not in errors.refusal(1290, READ_ONLY_OPTION.format("secure-file-priv")).hint


def test_a_lost_connection_and_any_other_refusal_are_told_apart() -> None:
    assert isinstance(errors.refusal(2013, "gone"), ConnectionLostError)
    assert errors.refusal(1213, "Deadlock found").exit_code is ExitCode.RUN_FAILED
