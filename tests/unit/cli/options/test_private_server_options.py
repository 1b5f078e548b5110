"""How private servers are set up by options."""

from pathlib import Path

import pytest

from tuibench.cli.options.private_server_options import PrivateServerOptions, server_option
from tuibench.demo.binaries import Binary
from tuibench.errors import UsageError
from tuibench.model.notation import parse_size
from tuibench.model.server import Flavour, ServerLimits

BINARY = Binary(path="/x/mysqld", flavour=Flavour.MYSQL, version="8.4.3")


def test_options_given_win_over_those_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\nsync_binlog=0\nport=3306\n")
    options = PrivateServerOptions(my_cnf=str(file), mysqld_option=["--sync_binlog=100", "skip-log-bin"])
    assert options.server_options(BINARY) == ("--sync-binlog=0", "--sync_binlog=100", "--skip-log-bin")
    assert options.left_out(BINARY) == ("port",)


def test_nothing_given() -> None:
    options = PrivateServerOptions()
    assert options.server_options(BINARY) == options.left_out(BINARY) == ()
    assert options.limits() == ServerLimits()


def test_limits() -> None:
    assert PrivateServerOptions(cpus=1, memory="1G").limits() == ServerLimits(cpus=1, memory_bytes=2**30)


@pytest.mark.parametrize("memory", ["many", "-1G", "1 G", ""])
def test_no_size(memory: str) -> None:
    with pytest.raises(UsageError, match="is not a size"):
        parse_size(memory)


def test_a_memory_that_is_none() -> None:
    with pytest.raises(UsageError, match="--memory: 'lots' is not a size"):
        PrivateServerOptions(memory="lots").limits()


@pytest.mark.parametrize(("text", "size"), [("4G", 2**32), ("512m", 2**29), ("1.5GiB", 3 * 2**29), ("7", 7)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "--", "=5", "a b=1", "--x;rm=1"])
def test_no_option(text: str) -> None:
    with pytest.raises(UsageError, match="--mysqld-option takes NAME=VALUE"):
        server_option(text)
