"""Options and limits of private servers, in the commands that start them."""

import asyncio
import functools
import json
import re
from pathlib import Path

import pytest

from tests.integration.support import commands
from tuibench.features.sweep.tables import version_comparisons
from tuibench.model.effect import Verdict
from tuibench.record.sweep_folder import load_sweep
from tuibench.servers.binaries import Binary

SIZE = ("--tables=1", "--table-size=500", "--threads=1", "--client-delay=2ms")


SWEEP_SECONDS = 500.0
"""It starts three servers, each of which may take 60 s on a busy machine."""


@pytest.mark.timeout(SWEEP_SECONDS + 60)
@pytest.mark.one_flavour
async def test_a_setting_that_needs_a_restart_is_an_axis(binary: Binary, tmp_path: Path) -> None:
    """Each value is a server of its own, started with the option and the limit, and what differs is meant."""
    ran = await asyncio.to_thread(
        functools.partial(commands.tuibench, seconds=SWEEP_SECONDS),
        *("sweep", "oltp_insert", *SIZE, "--time=1", "--warmup-time=0", "--format=json"),
        *(f"--server={binary.path}", "--setting=log_bin=on,off", "--setting=sync_binlog=0", "--cpus=1"),
        "--mysqld-option=innodb_io_capacity=317",
        env={"TUIBENCH_HOME": str(tmp_path)},
    )
    assert ran.code == 0, ran.err
    assert "each server is limited to 1 CPU by " in ran.err
    assert re.search(r"0 \+ 1 s each, and \d+:\d\d for starts and tables: about ", ran.err)
    sweep = json.loads(ran.out)
    builds = sweep["record"]["servers"]["builds"]
    assert [(build["name"], build["settings"]) for build in builds] == [
        ("log_bin=on", {"log_bin": "ON"}),
        ("log_bin=off", {"log_bin": "OFF"}),
    ]
    assert {build["variables"]["innodb_io_capacity"] for build in builds} == {"317"}
    assert [build["variables"]["log_bin"] for build in builds] == ["ON", "OFF"]
    assert [start["build"] for start in sweep["starts"]] == ["log_bin=on", "log_bin=off"]
    written = [result["figures"].get("binlog_bytes_per_transaction", 0) for result in sweep["results"]]
    assert written[0] > 0 == written[1]
    assert "binary log" in {found["path"] for found in sweep["audit"]}
    assert all(found["intended"] for found in sweep["audit"] if found["has_weight"])
    assert [one["build"] for one in sweep["comparisons"]] == ["log_bin=on", "log_bin=off"]
    commands.assert_nothing_left(tmp_path)


@pytest.mark.whole
@pytest.mark.parametrize("axis", ["binary log", "redo log"])
@pytest.mark.timeout(2 * SWEEP_SECONDS)
async def test_a_known_effect_is_found_over_starts(binary: Binary, tmp_path: Path, axis: str) -> None:
    """Without a binary log a commit has one flush less; a redo log of 8 MiB is full all the time."""
    load = ("--threads=4", "--tables=1", "--table-size=1000", "--interval=0.5", "--warmup-time=1")
    words: tuple[str, ...]
    if axis == "binary log":
        words = ("run", "oltp_insert", *load, "--ab=log_bin=ON,OFF", "--cycles=5", "--window=4")
    else:
        for name, size in (("small", "8M"), ("large", "512M")):
            (tmp_path / f"{name}.cnf").write_text(
                f"[mariadb]\ninnodb_log_file_size={size}\n[mysqld-9.7]\ninnodb_redo_log_capacity={size}\n"
                "[mysqld]\ninnodb_flush_log_at_trx_commit=0\nskip_log_bin\n"
            )
        sizes = (f"--my-cnf={tmp_path}/small.cnf,{tmp_path}/large.cnf", "--repeat=5", "--time=8")
        large = [word.replace("size=1000", "size=200000") for word in load]
        words = ("sweep", "oltp_update_non_index", *large, *sizes)
    ran = await asyncio.to_thread(
        functools.partial(commands.tuibench, seconds=2 * SWEEP_SECONDS),
        *(*words, f"--server={binary.path}"),
        env={"TUIBENCH_HOME": str(tmp_path)},
    )
    assert ran.code == 0, ran.err
    (directory,) = (tmp_path / "data/sweeps").iterdir()
    reference, other = version_comparisons(load_sweep(directory))
    assert reference.relative == 1
    assert (other.verdict, other.caveat) == (Verdict.HIGHER, ""), (ran.out, other)
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
