"""Command lines before the parser: their spellings."""

import pytest

from tuibench.cli.parsing.arguments import normalize, raise_unknown_command
from tuibench.errors import UsageError


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
