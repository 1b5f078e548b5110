"""Options and limits of private servers, in the commands that start them."""

import asyncio
import functools
import json
import re
from pathlib import Path

import pytest

from tests.integration.support import commands
from tuibench.demo.binaries import Binary

SIZE = ("--tables=1", "--table-size=500", "--threads=1", "--client-delay=2ms")


SWEEP_SECONDS = 500.0
"""It starts three servers, each of which may take 60 s on a busy machine."""


@pytest.mark.one_flavour
@pytest.mark.timeout(SWEEP_SECONDS + 60)
async def test_a_sweep_over_private_servers(binary: Binary, tmp_path: Path) -> None:
    """The same program under two names: both are started with the option and the limit."""
    ran = await asyncio.to_thread(
        functools.partial(commands.tuibench, seconds=SWEEP_SECONDS),
        *("sweep", "oltp_point_select", *SIZE, "--time=1", "--warmup-time=0", "--format=json"),
        *(f"--server=one:{binary.path},two:{binary.path}", "--cpus=1"),
        "--mysqld-option=innodb_io_capacity=317",
        env={"TUIBENCH_HOME": str(tmp_path)},
    )
    assert ran.code == 0, ran.err
    assert "each server is limited to 1 CPU by " in ran.err
    assert re.search(r"0 \+ 1 s each, and \d+:\d\d for starts and tables: about ", ran.err)
    sweep = json.loads(ran.out)
    builds = sweep["record"]["servers"]["builds"]
    assert [build["name"] for build in builds] == ["one", "two"]
    assert {build["variables"]["innodb_io_capacity"] for build in builds} == {"317"}
    assert [start["build"] for start in sweep["starts"]] == ["one", "two"]
    assert [result["cell"]["variant"]["name"] for result in sweep["results"]] == ["one", "two"]
    assert {result["outcome"] for result in sweep["results"]} == {"done"}
    commands.assert_nothing_left(tmp_path)


async def test_a_demo_with_options(any_binary: Binary, tmp_path: Path) -> None:
    options = tmp_path / "my.cnf"
    options.write_text("[mysqld]\ninnodb_io_capacity = 317\nport = 1\n")
    ran = await asyncio.to_thread(
        commands.tuibench,
        *("demo", "--headless", *SIZE, "--time=1", f"--server={any_binary.path}"),
        *("--cpus=1", f"--my-cnf={options}", "--mysqld-option=innodb_io_capacity_max=3170"),
        env={"TUIBENCH_HOME": str(tmp_path)},
    )
    assert ran.code == 0, ran.err
    assert "it is limited to 1 CPU by " in ran.err
    assert f"server: not taken from {options}: port" in ran.err


async def test_an_option_that_the_server_does_not_know_ends_the_demo(
    any_binary: Binary, tmp_path: Path
) -> None:
    ran = await asyncio.to_thread(
        commands.tuibench,
        *("demo", "--headless", *SIZE, f"--server={any_binary.path}", "--mysqld-option=no_such_option=1"),
        env={"TUIBENCH_HOME": str(tmp_path)},
    )
    assert ran.code == 3
    assert "no_such_option" in ran.err.replace("-", "_")


def test_limits_are_for_private_servers() -> None:
    for command in ("sweep", "tune"):
        ran = commands.tuibench(command, "oltp_point_select", "--cpus=1")
        assert (ran.code, "--server=mariadbd starts" in ran.err) == (2, True)
