"""`tuibench versions` on real servers: two programs, interrupted, killed, and gone on with."""

import asyncio
import re
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.integration.conftest import Binaries
from tests.integration.support.commands import assert_nothing_left, eventually, finished, started, tuibench
from tests.integration.support.processes import until
from tuibench.base import paths
from tuibench.base.paths import PRIVATE_SERVER_PREFIX
from tuibench.model.server import Flavour
from tuibench.model.sweep import Sweep
from tuibench.record.sweep_folder import load_sweep
from tuibench.servers.binaries import Binary

OPTIONS = (
    "--profile=oltp_point_select,oltp_insert", "--tables=1", "--table-size=500", "--time=0.5",
    "--warmup-time=0", "--interval=0.25", "--workers=1", "--threads=2", "--mysqld-option=sync-binlog=0",
    "--client-delay=2ms",
)  # fmt: skip
MINUTES = 180.0


@pytest.fixture
def servers(base: Path) -> Mapping[str, str]:
    """An environment in which private servers live in a folder that must be empty afterwards."""
    return {"TMPDIR": str(base)}


def only_comparison() -> Path:
    (directory,) = paths.sweeps_dir().iterdir()
    return directory


def levels(sweep: Sweep) -> dict[tuple[str, str], int]:
    """How many starts each test of each build has."""
    found: dict[tuple[str, str], int] = {}
    for result in sweep.done:
        key = (result.cell.variant.name, result.cell.case.name)
        found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.parametrize("flavours", ["one", pytest.param("both", marks=pytest.mark.whole)])
async def test_two_servers_are_compared_and_nothing_is_left(
    server_binaries: Binaries,
    any_binary: Binary,
    servers: Mapping[str, str],
    base: Path,
    tuibench_home: Path,
    flavours: str,
) -> None:
    """One against itself, or both flavours, where the machine has both."""
    found = [any_binary] if flavours == "one" else list(server_binaries.values())
    words = (f"one:{found[0].path}", f"other:{found[-1].path}")
    with started("versions", *words, "--starts=2", *OPTIONS, env=servers) as process:
        ended = await asyncio.to_thread(finished, process, MINUTES)
    assert ended.code == 0, ended.err
    assert "8 runs: 2 tests × 2 servers × 1 number of threads × 2 starts" in ended.err
    assert ended.out.startswith("relative to one (1, with its figure); 95 % intervals over 2 starts\n")
    await asyncio.to_thread(assert_nothing_left, tuibench_home)
    directory = only_comparison()
    sweep = load_sweep(directory)
    assert set(levels(sweep).values()) == {2}
    assert [(one.build, one.start) for one in sweep.starts] == [
        ("one", 1),
        ("other", 1),
        ("other", 2),
        ("one", 2),
    ]
    setup = sweep.record.versions
    assert setup is not None
    assert {build.variables["sync_binlog"] for build in setup.builds} == {"0"}
    assert "one against other" in (directory / "versions.html").read_text()


@pytest.mark.whole
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.whole), signal.SIGKILL])
async def test_what_was_cut_short_goes_on_where_it_was(
    any_binary: Binary, servers: Mapping[str, str], base: Path, tuibench_home: Path, number: signal.Signals
) -> None:
    command = ("versions", f"a:{any_binary.path}", f"b:{any_binary.path}", "--starts=1", *OPTIONS)
    with started(*command, env=servers) as process:

        async def is_second_build() -> bool:
            known = list(paths.sweeps_dir().glob("*/results.jsonl"))
            return bool(known) and len(load_sweep(known[0].parent).starts) == 2

        assert await eventually(is_second_build, MINUTES)
        process.send_signal(number)
        ended = await asyncio.to_thread(finished, process, MINUTES)
    assert ended.code == (130 if number == signal.SIGINT else -signal.SIGKILL)
    assert await asyncio.to_thread(until, lambda: not list(base.glob(f"{PRIVATE_SERVER_PREFIX}*")))
    directory = only_comparison()
    before = load_sweep(directory)
    assert 2 <= len(before.done) < 4
    resumed = await asyncio.to_thread(tuibench, "versions", f"--resume={directory}", env=servers)
    assert resumed.code == 0, resumed.err
    after = load_sweep(directory)
    assert set(levels(after).values()) == {1}
    assert len(after.starts) == 3
    assert after.done[: len(before.done)] == before.done
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


async def test_a_server_that_does_not_start_is_reported_before_any_measurement(
    any_binary: Binary, servers: Mapping[str, str], base: Path, tuibench_home: Path
) -> None:
    ended = await asyncio.to_thread(
        tuibench, "versions", any_binary.path, "--mysqld-option=no-such-option=1", *OPTIONS[:4], env=servers
    )
    assert (ended.code, ended.out) == (3, "")
    assert "did not start; its log ends" in ended.err
    assert "no-such-option" in ended.err
    assert not paths.sweeps_dir().exists() or not list(paths.sweeps_dir().iterdir())


DELAY = {
    Flavour.MARIADB: "--binlog-commit-wait-count=1000 --binlog-commit-wait-usec=8000",
    Flavour.MYSQL: "--binlog-group-commit-sync-delay=8000",
}
"""Options with which each commit takes 8 ms longer."""


@pytest.mark.whole
@pytest.mark.one_flavour
async def test_the_first_bad_of_sixteen_servers_is_found(
    any_binary: Binary, servers: Mapping[str, str], tmp_path: Path, tuibench_home: Path
) -> None:
    words = []
    for number in range(16):
        program = tmp_path / f"server-{number}"
        delay = DELAY[any_binary.flavour] if number >= 11 else ""
        program.write_text(f'#!/bin/sh\nexec {any_binary.path} "$@" {delay}\n')
        program.chmod(0o755)
        words.append(f"b{number}:{program}")
    options = [word for word in OPTIONS if "profile" not in word and "delay" not in word]
    with started(
        "versions", *words, "--bisect", "--first-bad", "--profile=oltp_insert", "--starts=4", *options,
        "--client-delay=4ms", "--mysqld-option=innodb-flush-log-at-trx-commit=0", env=servers,
    ) as process:  # fmt: skip
        ended = await asyncio.to_thread(finished, process, 3 * MINUTES)
    assert ended.code == 0, ended.err
    assert re.match(r"first bad: b11, -\d+\.\d % \(.*\) from b10 on\n", ended.out), ended.out
    sweep = load_sweep(only_comparison())
    assert len({start.build for start in sweep.starts}) <= 6
    await asyncio.to_thread(assert_nothing_left, tuibench_home)
