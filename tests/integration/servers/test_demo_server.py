"""The private server: what it offers, and that nothing of it is left, whoever is killed."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest
from msgspec.structs import replace

from tests.integration.servers.owner import Owned
from tests.integration.support.processes import gone, stays, until
from tests.integration.support.sbtest import over_tcp
from tests.integration.support.shared import Starter
from tuibench.base.errors import RunError, ServerUnavailableError, SQLError
from tuibench.model.server import ServerLimits, Target
from tuibench.mysql.connection import connect
from tuibench.mysql.rows import Row
from tuibench.servers import landlock
from tuibench.servers.binaries import Binary
from tuibench.servers.process import read_server_options
from tuibench.servers.server import PrivateServer

CAT = [sys.executable, "-c", "import sys; sys.stdin.read()"]


def holder(server: PrivateServer) -> "subprocess.Popen[bytes]":
    """A second owner: a process that does nothing but hold the server's pipe."""
    return subprocess.Popen(CAT, stdin=subprocess.PIPE, pass_fds=[server.watch_fd])


async def ask(target: Target, sql: str) -> list[Row]:
    connection = await connect(target)
    try:
        return list(await connection.query(sql))
    finally:
        await connection.close()


# What it offers


async def test_durable_with_a_binary_log_room_for_connections_and_all_privileges(
    server: PrivateServer,
) -> None:
    asked = "SELECT @@log_bin, @@sync_binlog, @@innodb_flush_log_at_trx_commit, @@table_open_cache"
    assert await ask(server.target, asked) == [(1, 1, 1, 2000)]
    room = "SELECT @@max_connections, @@max_prepared_stmt_count"
    assert await ask(server.target, room) == [(4000, 1048576)]
    await ask(server.target, "SET GLOBAL sync_binlog = 1")
    await ask(server.target, "CREATE USER 'other'@'localhost'")
    await ask(server.target, "GRANT SELECT ON *.* TO 'other'@'localhost'")
    await ask(server.target, "DROP USER 'other'@'localhost'")


async def test_login_over_socket_and_tcp_with_one_account_only(server: PrivateServer) -> None:
    for target, host in ((server.target, "localhost"), (over_tcp(server.target), "127.0.0.1")):
        login = await ask(target, "SELECT CURRENT_USER(), DATABASE()")
        assert login == [(f"tuibench@{host}", "sbtest")]
        for user, password in (("tuibench", ""), ("tuibench", "wrong"), ("root", ""), ("", "")):
            with pytest.raises(ServerUnavailableError, match="refuses"):
                await connect(replace(target, user=user, password=password), use_database=False)


async def test_its_files_are_its_owners_and_its_password_on_no_command_line(server: PrivateServer) -> None:
    names = ("datadir", "tmpdir", "pid_file", "socket", "log_error", "log_bin_basename")
    for (path,) in [(await ask(server.target, f"SELECT @@{name}"))[0] for name in names]:
        assert Path(path).resolve().is_relative_to(server.directory.resolve())
    for pid in (server.pid, server.supervisor_pid):
        assert server.target.password not in " ".join(psutil.Process(pid).cmdline())
    assert server.directory.stat().st_mode & 0o777 == 0o700
    assert server.client_options.stat().st_mode & 0o777 == 0o600
    assert server.target.password in server.client_options.read_text()
    assert not list(server.directory.glob("*.sql"))


@pytest.mark.one_flavour
async def test_no_statement_has_it_write_elsewhere(binary: Binary, base: Path, tmp_path: Path) -> None:
    """Its account may set every variable. A folder that an option names is meant."""
    meant, other = tmp_path / "meant", tmp_path / "other"
    for folder in (meant, other):
        folder.mkdir()
    with landlock.only_writing_below([]) as restrict:
        if restrict is landlock.unrestricted:
            pytest.skip("needs Linux with Landlock")
    options = (f"--slow-query-log-file={meant}/slow", "--slow-query-log=ON")
    server = await PrivateServer.start(binary, base=base, options=options)
    try:
        await ask(server.target, f"SET GLOBAL general_log_file = '{other}/general'")
        with pytest.raises(SQLError, match="Permission denied"):
            await ask(server.target, "SET GLOBAL general_log = 1")
    finally:
        await server.stop()
    assert [path.name for folder in (meant, other) for path in folder.iterdir()] == ["slow"]


# Its life


@pytest.mark.one_flavour
async def test_a_server_made_from_nothing_has_its_option_file_and_its_stop_leaves_nothing(
    binary: Binary, base: Path, tmp_path: Path
) -> None:
    """All others here copy a template. An option of the data directory is needed at its creation, and places
    are our own.
    """
    file = tmp_path / "my.cnf"
    file.write_text(
        "[mysqld]\ninnodb_page_size=8k\ndatadir=/var/lib/mysql\nlog_bin=/var/log/mysql/log\nport=3306\n"
        "[mariadb]\nquery_cache_size=2M\n"
    )
    options, left_out = read_server_options(str(file), binary)
    assert left_out == ("datadir", "port")
    server = await PrivateServer.start(binary, base=base, options=options)
    asked = "SELECT @@innodb_page_size, @@log_bin_basename, @@port"
    ((page_size, log, port),) = await ask(server.target, asked)
    assert (page_size, port) == (8192, server.target.port)
    assert Path(log).is_relative_to(server.directory)
    await server.stop()
    assert not list(base.iterdir())
    assert not psutil.pid_exists(server.pid)
    assert not psutil.pid_exists(server.supervisor_pid)
    with pytest.raises(ServerUnavailableError, match="cannot reach"):
        await connect(over_tcp(server.target))
    await server.stop()
    with pytest.raises(RunError, match="stopped already"):
        await server.restart()


async def test_a_restart_keeps_place_and_data_and_a_kill_what_was_committed(
    restartable: PrivateServer,
) -> None:
    await ask(restartable.target, "CREATE TABLE kept (id INT PRIMARY KEY)")
    first = restartable.pid
    await restartable.restart()
    assert restartable.pid != first
    assert await ask(over_tcp(restartable.target), "SHOW TABLES") == [("kept",)]
    await ask(restartable.target, "INSERT INTO kept VALUES (7)")
    await restartable.kill()
    with pytest.raises(ServerUnavailableError):
        await connect(restartable.target)
    await restartable.start_again()
    assert await ask(restartable.target, "SELECT id FROM kept") == [(7,)]


async def test_options_of_the_caller_win(any_binary: Binary, start: Starter) -> None:
    options = ["--table-open-cache=400", "--skip-log-bin"]
    async with await start(any_binary, options=options) as server:
        assert await ask(server.target, "SELECT @@table_open_cache, @@log_bin") == [(400, 0)]


@pytest.mark.one_flavour
@pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")
async def test_limits_hold_after_a_restart_and_say_how(binary: Binary, start: Starter) -> None:
    limits = ServerLimits(cpus=1, memory_bytes=2**30)
    async with await start(binary, limits=limits) as server:
        for is_restarted in (False, True):
            if is_restarted:
                await server.restart()
            assert await ask(server.target, "SELECT @@innodb_buffer_pool_size") == [(2**29,)]
            assert is_confined(server, 2**30)
        assert server.limited.startswith("1 CPU and 1 GiB of memory by ")


def is_confined(server: PrivateServer, memory_bytes: int) -> bool:
    """By the groups that its words name, else to one processor."""
    groups = [Path(found) for found in re.findall(r"cgroup v[12] \(([^)]*)\)", server.limited)]
    if not groups:
        return len(os.sched_getaffinity(server.pid)) == 1
    limits = {
        file.name: file.read_text().split()
        for group in groups
        for name in ("cpu.max", "memory.max", "cpu.cfs_quota_us", "memory.limit_in_bytes")
        if (file := group / name).exists()
    }
    is_version_2 = {"cpu.max": ["100000", "100000"], "memory.max": [str(memory_bytes)]}
    is_version_1 = {"cpu.cfs_quota_us": ["100000"], "memory.limit_in_bytes": [str(memory_bytes)]}
    is_in_each = all(str(server.pid) in (group / "cgroup.procs").read_text().split() for group in groups)
    return is_in_each and limits in (is_version_2, is_version_1)


async def test_a_failed_start_says_what_the_log_says(any_binary: Binary, base: Path, start: Starter) -> None:
    with pytest.raises(ServerUnavailableError, match=r"did not start; its log ends:\n.*no-such-option"):
        await start(any_binary, options=["--no-such-option"])
    assert not list(base.iterdir())


async def test_a_cancelled_start_leaves_nothing(any_binary: Binary, base: Path, start: Starter) -> None:
    starting = asyncio.create_task(start(any_binary))
    assert await asyncio.to_thread(until, lambda: bool(list(base.iterdir())))
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not list(base.iterdir())


# Its end


def end_an_owner(start: Starter, binary: Binary, number: signal.Signals) -> None:
    """Starts a program that owns a server, sends it a signal, and sees to it that all is gone."""
    program = [sys.executable, "-m", "tests.integration.servers.owner"]
    command = [*program, binary.path, *map(str, start.places(binary))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as owner:
        assert owner.stdout is not None
        owned = msgspec.json.decode(owner.stdout.readline(), type=Owned)
        assert psutil.pid_exists(owned.server_pid)
        owner.send_signal(number)
        assert until(lambda: gone(owned.server_pid) and gone(owned.supervisor_pid))
    assert not Path(owned.directory).exists()


def test_gone_with_an_owner_that_was_killed(any_binary: Binary, start: Starter) -> None:
    end_an_owner(start, any_binary, signal.SIGKILL)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(pytest.param(each, marks=pytest.mark.whole) for each in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_the_server_ends_with_a_terminated_owner(
    any_binary: Binary, start: Starter, number: signal.Signals
) -> None:
    end_an_owner(start, any_binary, number)


async def test_lives_until_the_last_owner_lets_go(any_binary: Binary, start: Starter) -> None:
    server = await start(any_binary)
    with holder(server) as second:
        server.release()
        assert stays(server.supervisor_pid)
        await server.check_login()
        second.kill()
    assert until(lambda: gone(server.pid) and gone(server.supervisor_pid))
    assert not server.directory.exists()


async def test_stop_does_not_wait_for_other_owners(any_binary: Binary, start: Starter) -> None:
    server = await start(any_binary)
    with holder(server) as second:
        await server.stop()
        assert second.poll() is None
        assert not server.directory.exists()
        second.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a child with its parent")
async def test_the_server_dies_with_its_supervisor(any_binary: Binary, start: Starter) -> None:
    server = await start(any_binary)
    psutil.Process(server.supervisor_pid).kill()
    assert until(lambda: gone(server.pid))
    await server.stop()


async def test_the_next_start_removes_what_a_killed_supervisor_left(
    any_binary: Binary, base: Path, start: Starter
) -> None:
    left = await start(any_binary)
    psutil.Process(left.supervisor_pid).kill()
    assert until(lambda: gone(left.supervisor_pid))
    assert left.directory.exists()
    async with await start(any_binary) as server:
        assert list(base.iterdir()) == [server.directory]
        assert gone(left.pid)
    await left.stop()


async def test_a_start_spares_the_servers_that_run(any_binary: Binary, any_server: PrivateServer) -> None:
    async with await PrivateServer.start(any_binary, base=any_server.directory.parent):
        await any_server.check_login()


async def test_a_kept_server_runs_until_its_supervisor_gets_sigterm(
    any_binary: Binary, start: Starter
) -> None:
    async with await start(any_binary, keep=True) as server:
        pass
    assert stays(server.supervisor_pid)
    await server.check_login()
    assert f"kill {server.supervisor_pid} " in server.how_to_reach()
    psutil.Process(server.supervisor_pid).terminate()
    assert until(lambda: gone(server.pid) and gone(server.supervisor_pid))
    assert not server.directory.exists()


async def test_stopping_a_kept_server_keeps_its_files(any_binary: Binary, start: Starter) -> None:
    server = await start(any_binary, keep=True)
    await server.stop()
    assert not psutil.pid_exists(server.pid)
    assert (server.directory / "data").is_dir()
    shutil.rmtree(server.directory)
