"""Where runs are recorded: names of their own in one second; records elsewhere, and all else in one place."""

import os
import signal
from functools import partial
from pathlib import Path

from tests.integration.support.commands import (
    Finished,
    ask,
    assert_nothing_left,
    finished,
    ours,
    started,
    tuibench,
)
from tests.integration.support.processes import gone, until
from tuibench.model.server import Target
from tuibench.servers.server import PrivateServer

SMALL = ("--tables=2", "--table-size=500")
LOAD = ("oltp_read_write", *SMALL, "--threads=1", "--client-delay=2ms")
ASK = "SELECT @@GLOBAL.innodb_io_capacity"
OTHER = 555
GUARDIAN = "tuibench.tuning.guardian"
"""Killed first: it would put the setting back."""


def side_by_side(number: int, *words: str, target: Target) -> list[Finished]:
    """The same command several times at once."""
    processes = [started(*words, target=target) for _ in range(number)]
    return [finished(process) for process in processes]


def test_runs_of_one_second_do_not_collide(any_tables: PrivateServer, tuibench_home: Path) -> None:
    ended = side_by_side(3, "run", *LOAD, "--time=1", target=any_tables.target)
    assert [each.code for each in ended] == [0] * 3, ended
    assert len(list((tuibench_home / "data" / "runs").glob("*/summary.json"))) == 3


def test_sweeps_of_one_second_do_not_collide(any_tables: PrivateServer, tuibench_home: Path) -> None:
    words = ("sweep", "oltp_read_only", *SMALL, "--threads=1", "--time=1", "--client-delay=2ms")
    ended = side_by_side(2, *words, target=any_tables.target)
    assert [each.code for each in ended] == [0] * 2, ended
    assert len(list((tuibench_home / "data" / "sweeps").iterdir())) == 2


def test_a_run_that_could_not_begin_leaves_no_folder(tuibench_home: Path) -> None:
    assert tuibench("run", "oltp_read_write", "--host=127.0.0.1", "--port=1").code == 3
    assert list((tuibench_home / "data" / "runs").iterdir()) == []


async def test_a_plain_restore_finds_what_a_run_recorded_elsewhere_left(
    any_tables: PrivateServer, tuibench_home: Path, tmp_path: Path
) -> None:
    """Two sessions recorded in two places see each other; both are killed, and one command puts all back."""
    target = any_tables.target
    before = await ask(target, ASK)
    names = []
    for place in ("a", "b"):
        words = ("--time=60", "--detach", f"--run-dir={tmp_path / place}")
        detached = tuibench("live", *LOAD, *words, target=target)
        assert detached.code == 0, detached.err
        names.append(detached.out.strip())
        assert "--run-dir" not in detached.err
        assert (tmp_path / place / "runs" / names[-1] / "plan.json").exists()
    assert sorted(line.split()[0] for line in tuibench("sessions").out.splitlines()[1:]) == sorted(names)
    assert tuibench("ctl", names[0], "set", f"innodb_io_capacity={OTHER}").code == 0
    assert len(list((tuibench_home / "state" / "journal").iterdir())) == 1
    processes = ours(tuibench_home)
    for pid in sorted(processes, key=lambda pid: processes[pid] != GUARDIAN):
        os.kill(pid, signal.SIGKILL)
        assert until(partial(gone, pid))
    assert await ask(target, ASK) == [(OTHER,)]
    restored = tuibench("restore", target=target)
    assert restored.code == 0, restored
    assert await ask(target, ASK) == before
    for name in names:
        (tuibench_home / "run" / f"{name}.sock").unlink(missing_ok=True)
    assert_nothing_left(tuibench_home)
