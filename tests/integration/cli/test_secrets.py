"""What others on the host may read of us: no password of any process, and no file of a run."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.support.commands import ours, reach, started_anew, tuibench
from tests.integration.support.processes import until
from tuibench.servers.server import PrivateServer

SMALL = ("--tables=2", "--table-size=500")
LOAD = ("oltp_read_write", *SMALL, "--threads=2", "--client-delay=2ms")
WORKER, GUARDIAN = "tuibench.load.worker", "tuibench.tuning.guardian"


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """The usual one of a login, whatever ours is."""
    previous = os.umask(0o022)
    yield
    os.umask(previous)


def told_to_others(pid: int) -> bytes:
    """A process's arguments and environment."""
    return Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("way", ["environment", "option"])
def test_no_process_shows_the_password(any_tables: PrivateServer, tuibench_home: Path, way: str) -> None:
    target = any_tables.target
    given = {"MYSQL_PWD": target.password} if way == "environment" else {}
    words = [f"--password={target.password}"] if way == "option" else []
    assert target.password
    detached = tuibench("live", *LOAD, "--time=60", "--detach", *reach(target), *words, env=given)
    assert detached.code == 0, detached.err
    session = detached.out.strip()
    try:
        assert tuibench("ctl", session, "set", "innodb_io_capacity=555").code == 0
        modules = ours(tuibench_home)
        assert {"tuibench.session.service", WORKER, GUARDIAN} <= set(modules.values())
        for pid, module in modules.items():
            assert target.password.encode() not in told_to_others(pid), module
    finally:
        assert tuibench("ctl", session, "stop", "--wait").code == 0


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("way", ["environment", "option"])
def test_a_run_in_the_foreground_shows_none(any_tables: PrivateServer, tuibench_home: Path, way: str) -> None:
    """Its own process had the password in its arguments, or has it in its environment."""
    target = any_tables.target
    given = {"MYSQL_PWD": target.password} if way == "environment" else {}
    words = [f"--password={target.password}"] if way == "option" else []
    with started_anew("run", *LOAD, "--time=60", *reach(target), *words, env=given) as process:
        try:
            assert until(lambda: WORKER in ours(tuibench_home).values())
            for pid in (process.pid, *ours(tuibench_home)):
                assert target.password.encode() not in told_to_others(pid)
        finally:
            process.terminate()
            process.communicate()


def test_only_the_owner_may_read_what_is_written(any_tables: PrivateServer, tuibench_home: Path) -> None:
    words = ("--threads=1", "--time=1", "--client-delay=2ms", *SMALL)
    for command in (("run", "oltp_read_only", *words), ("sweep", "oltp_read_only", *words)):
        ended = tuibench(*command, target=any_tables.target)
        assert ended.code == 0, ended.err
    detached = tuibench("live", *LOAD, "--time=1", "--detach", target=any_tables.target)
    tuibench("ctl", detached.out.strip(), "stop", "--wait")
    records = [*(tuibench_home / "data" / "runs").iterdir(), *(tuibench_home / "data" / "sweeps").iterdir()]
    assert len(records) == 3
    written = [path for record in records for path in (record, *record.rglob("*"))]
    written.append(tuibench_home / "state" / "sessions.log")
    open_to_others = [path for path in written if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert open_to_others == []
