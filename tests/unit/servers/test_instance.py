"""A private server: start, process, end, leftovers."""

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.unit.servers.conftest import Hierarchy, make_spec
from tuibench.base.child_process import end_words
from tuibench.base.clock import SystemClock
from tuibench.base.errors import ServerUnavailableError
from tuibench.model.findings import ErrorMessage
from tuibench.model.server import Flavour, ServerLimits
from tuibench.servers import instance, process
from tuibench.servers.instance import ServerInstance, start_seconds
from tuibench.servers.limits import Confinement
from tuibench.servers.process import DirectoryLayout, find_end, reserve_end, write_end
from tuibench.servers.supervisor import Supervisor

# Why a private server ended, with a shell command that stands for the server.


LIMITS = ServerLimits(memory_bytes=2**30)
KILLED = "the kernel killed MariaDB 11.8.9 .*: it needs more than its 1 GiB of memory"


class Stage:
    """An instance whose server is the command; `kill_for_memory` is what the kernel counts."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
        self.group = tmp_path / "cgroup" / "group"
        self.group.mkdir(parents=True)
        self.kill_for_memory(0)
        self.is_ready = True
        confined = Confinement({"memory": self.group}, limits=LIMITS, root=self.group.parent)
        monkeypatch.setattr(instance, "confine", lambda *_arguments: confined)
        monkeypatch.setattr(instance, "make_data_directory", lambda *_arguments: None)
        monkeypatch.setattr(instance, "write_files", lambda *_arguments: None)
        monkeypatch.setattr(instance, "server_command", lambda *_arguments: ["/bin/sh", "-c", command])
        monkeypatch.setattr(process, "wait_ready", lambda *_arguments: self.is_ready)
        spec = replace(make_spec(base=str(tmp_path)), limits=LIMITS)
        self.server = ServerInstance(spec, SystemClock())

    def kill_for_memory(self, times: int) -> None:
        (self.group / "memory.events").write_text(f"oom 5\noom_kill {times}\n")

    def run(self) -> None:
        """Start the server, and wait for its end without taking its exit code."""
        os.waitid(os.P_PID, self.server.create().pid, os.WEXITED | os.WNOWAIT)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    made = Stage(tmp_path, monkeypatch, "exit 3")
    yield made
    made.server.end(remove=True)


def test_a_server_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch, "exec sleep 600")
    started = stage.server.create()
    assert stage.server.check_running() == started
    stage.server.note_end()
    assert find_end(stage.server.layout) is None
    assert started.limited == f"1 GiB of memory by cgroup v1 ({stage.group})"
    assert stage.server.layout.server_group.read_text() == str(stage.group)
    stage.server.end(remove=True)
    assert not stage.server.layout.root.exists()


def test_a_server_that_ended(stage: Stage) -> None:
    stage.run()
    stage.server.layout.error_log.write_text("2026 [ERROR] no space left\n")
    said = r"MariaDB 11.8.9 .* ended with exit code 3; its log ends:\n  2026 \[ERROR\] no space left"
    with pytest.raises(ServerUnavailableError, match=said):
        stage.server.check_running()
    stage.server.note_end()
    found = find_end(stage.server.layout)
    assert found is not None
    assert found.message.endswith("MariaDB 11.8.9 (/x/sbin/serverd) ended with exit code 3")


def test_a_server_that_the_kernel_killed_for_its_memory(stage: Stage) -> None:
    stage.run()
    stage.kill_for_memory(1)
    with pytest.raises(ServerUnavailableError, match=KILLED) as raised:
        stage.server.check_running()
    assert raised.value.hint == (
        "give it more by --memory, or a smaller buffer pool by --mysqld-option=innodb_buffer_pool_size=…"
    )
    stage.server.note_end()
    found = find_end(stage.server.layout)
    assert found is not None
    assert found.message == f"the private server has ended: {raised.value.message}"
    assert found.hint == raised.value.hint


def test_the_end_is_noted_once_and_forgotten_at_the_next_start(stage: Stage) -> None:
    stage.run()
    stage.server.note_end()
    first = stage.server.layout.server_end.read_bytes()
    stage.kill_for_memory(1)
    stage.server.note_end()
    assert stage.server.layout.server_end.read_bytes() == first
    stage.server.start()
    assert not stage.server.layout.server_end.exists()


def test_a_server_that_needs_too_much_memory_to_start(stage: Stage) -> None:
    stage.is_ready = False
    with pytest.raises(ServerUnavailableError, match="did not start"):
        stage.server.create()

    def killed(*_arguments: object) -> bool:
        stage.kill_for_memory(1)
        return False

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(process, "wait_ready", killed)
        with pytest.raises(ServerUnavailableError, match=KILLED):
            stage.server.start()
    with pytest.raises(ServerUnavailableError, match="did not start"):
        stage.server.start()


def test_a_start_takes_longer_with_less_than_a_processor() -> None:
    assert [start_seconds(ServerLimits(cpus=cpus)) for cpus in (None, 4, 1, 0.25)] == [60, 60, 60, 240]


@pytest.mark.parametrize(
    ("code", "words"),
    [(1, "ended with exit code 1"), (-9, "was killed by SIGKILL"), (-250, "was killed by signal 250")],
)
def test_how_a_process_ended(code: int, words: str) -> None:
    assert end_words(code) == words


# Initialisation of an empty directory.


def share(root: Path, folder: str, prefix: str) -> Path:
    made = root / folder
    made.mkdir(parents=True)
    for number, name in enumerate(instance.SCRIPTS):
        (made / f"{prefix}_{name}").write_text(f"select {number};")
    return made


@pytest.mark.parametrize(
    ("folder", "prefix"),
    [
        ("share/mysql", "mysql"),
        ("share/mariadb", "mariadb"),
        ("share", "mariadb"),
        ("share/mysql", "mariadb"),
    ],
)
def test_sql_files_beside_the_program(tmp_path: Path, folder: str, prefix: str) -> None:
    made = share(tmp_path, folder, prefix)
    assert instance.share_directory(str(tmp_path / "sbin" / "mariadbd")) == made
    sql = instance.bootstrap_sql(made).decode()
    assert sql.startswith("create database mysql;\nuse mysql;\nselect 0;\nselect 1;\nselect 2;\n")


def test_sql_files_of_a_program_behind_a_link(tmp_path: Path) -> None:
    made = share(tmp_path / "cellar", "share/mysql", "mariadb")
    (tmp_path / "cellar" / "bin").mkdir()
    (tmp_path / "cellar" / "bin" / "mariadbd").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mariadbd").symlink_to(tmp_path / "cellar" / "bin" / "mariadbd")
    assert instance.share_directory(str(tmp_path / "bin" / "mariadbd")) == made


def test_missing_sql_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance, "SHARE_NAMES", ("nowhere",))
    with pytest.raises(ServerUnavailableError, match=r"missing.*reinstall"):
        instance.share_directory(str(tmp_path / "sbin" / "mariadbd"))


def test_no_account_of_the_bootstrap_files_remains(tmp_path: Path) -> None:
    last = instance.bootstrap_sql(share(tmp_path, "share", "mariadb")).decode().splitlines()[-2:]
    assert last == ["DELETE FROM global_priv WHERE User <> 'mariadb.sys';", "DELETE FROM proxies_priv;"]


def test_a_template_is_copied_but_for_its_identity(tmp_path: Path, layout: DirectoryLayout) -> None:
    template = tmp_path / "template"
    (template / "mysql").mkdir(parents=True, mode=0o700)
    template.chmod(0o700)
    (template / "mysql" / "user").write_text("tables")
    (template / "auto.cnf").write_text("[auto]\nserver-uuid=1\n")
    spec = msgspec.structs.replace(make_spec(Flavour.MYSQL), template=str(template))
    instance.make_data_directory(spec, layout)
    assert sorted(path.name for path in layout.data.rglob("*")) == ["mysql", "user"]
    assert layout.data.stat().st_mode & 0o777 == 0o700
    assert (template / "auto.cnf").exists()


@pytest.mark.parametrize("flavour", list(Flavour))
def test_accounts(flavour: Flavour) -> None:
    lines = instance.accounts_sql(make_spec(flavour)).splitlines()
    created = [line for line in lines if line.startswith("CREATE USER")]
    assert [line.split()[2] for line in created] == ["'tuibench'@'localhost'", "'tuibench'@'127.0.0.1'"]
    assert all("'s3cret'" in line for line in created)
    assert all(line.endswith(";") for line in lines)
    assert lines[0] == "SET sql_log_bin = 0;"


def test_client_options() -> None:
    text = instance.client_options(make_spec(), DirectoryLayout(Path("/b/d")), 3307)
    assert text == (
        "[client]\nuser=tuibench\npassword=s3cret\nsocket=/b/d/mysql.sock\nport=3307\n\n[tuibench]\ndatabase=sbtest\n"
    )


# Server processes, simulated by shell commands.


def test_feed_returns_the_exit_code(tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as log:
        assert process.run_with_input(["/bin/sh", "-c", "cat; exit 3"], b"the output", log, 10) == 3
    assert (tmp_path / "log").read_text() == "the output"


def test_feed_kills_after_the_timeout(tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as log, pytest.raises(subprocess.TimeoutExpired):
        process.run_with_input(["/bin/sh", "-c", "exec sleep 60"], b"", log, 0.05)


def test_no_such_program(tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as log, pytest.raises(ServerUnavailableError, match="cannot run"):
        process.spawn(["/no/such/program"], log)


def test_terminate_kills_a_process_that_ignores_sigterm(tmp_path: Path) -> None:
    script = "trap '' TERM; echo ready; while :; do read -r line <&3; done 3<>"
    fifo = tmp_path / "fifo"
    subprocess.run(["mkfifo", fifo], check=True)
    with (tmp_path / "log").open("ab") as log:
        stubborn = process.spawn(["/bin/sh", "-c", f"{script}{fifo}"], log)
    while b"ready" not in (tmp_path / "log").read_bytes():
        assert stubborn.poll() is None
    process.shut_down(stubborn, 0.05)
    assert stubborn.returncode == -9


def test_a_process_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    with (tmp_path / "log").open("ab") as log:
        ended = process.spawn(["/bin/sh", "-c", "exit 1"], log)
    assert not process.wait_ready(ended, tmp_path / "no.sock", 60, SystemClock())


@pytest.mark.parametrize(
    ("log", "tail"),
    [
        ("one\ntwo\n", ["one", "two"]),
        ("one\n2026 [ERROR] bad\n2026 [Note] bye\n", ["2026 [ERROR] bad"]),
        ("".join(f"{n}\n" for n in range(20)), [str(n) for n in range(12, 20)]),
        ("", ["(nothing)"]),
        (None, ["(nothing)"]),
    ],
)
def test_tail(tmp_path: Path, log: str | None, tail: list[str]) -> None:
    if log is not None:
        (tmp_path / "log").write_text(log)
    assert process.log_tail(tmp_path / "log") == tail


# How a session notices that its private server has ended.


WATCH, SIGNALS = 1001, 1002
"""Numbers of file descriptors; nothing is read from them."""


@pytest.fixture
def lock(layout: DirectoryLayout) -> Iterator[IO[bytes]]:
    """The supervisor's lock, held as long as this file is open."""
    with layout.supervisor_lock.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def test_a_server_runs_as_long_as_its_supervisor_says_nothing(
    layout: DirectoryLayout, lock: IO[bytes]
) -> None:
    assert find_end(layout) is None
    lock.close()
    assert str(find_end(layout)) == "the private server has ended: its supervisor has ended"


def test_the_reason_that_the_supervisor_wrote(layout: DirectoryLayout, lock: IO[bytes]) -> None:
    reserve_end(layout)
    assert find_end(layout) is None
    write_end(layout, ErrorMessage("MariaDB was killed by SIGKILL", "give it more"))
    error = find_end(layout)
    assert error is not None
    assert (error.message, error.hint, error.exit_code) == (
        "the private server has ended: MariaDB was killed by SIGKILL",
        "give it more",
        3,
    )
    assert sorted(path.name for path in layout.root.iterdir()) == ["server.end", "supervisor.lock", "tmp"]


def test_a_full_disk_does_not_keep_the_reason_from_being_written(
    layout: DirectoryLayout, lock: IO[bytes]
) -> None:
    """What is written at the end has its space since the start."""
    write_end(layout, ErrorMessage("the server of before"))
    assert find_end(layout) is None
    reserve_end(layout)
    (reserved,) = (path for path in layout.root.glob("server.*"))
    before = reserved.stat()
    write_end(layout, ErrorMessage("MariaDB ended with exit code 1"))
    after = layout.server_end.stat()
    assert (after.st_ino, after.st_blocks, after.st_size) == (before.st_ino, before.st_blocks, 4096)
    assert "exit code 1" in str(find_end(layout))
    reserve_end(layout)
    assert find_end(layout) is None


def test_a_reason_that_cannot_be_read(layout: DirectoryLayout, lock: IO[bytes]) -> None:
    layout.server_end.write_bytes(b"{")
    assert str(find_end(layout)) == "the private server has ended"


def test_a_server_that_was_stopped_has_no_directory(tmp_path: Path) -> None:
    gone = DirectoryLayout(tmp_path / "gone")
    write_end(gone, ErrorMessage("x"))
    assert f"it was stopped, and {gone.root} is removed" in str(find_end(gone))


def test_the_supervisor_notes_the_end_of_its_child() -> None:
    """The signal of a child's end makes it look; its own owner still has the pipe."""
    noted: list[str] = []

    class PlayedInstance:
        alive = False

        def note_end(self) -> None:
            noted.append("noted")

    played: Any = PlayedInstance()
    one = Supervisor(WATCH, SIGNALS)
    one._read(SIGNALS, bytes([signal.SIGCHLD]))
    one._instance = played
    one._read(SIGNALS, bytes([signal.SIGCHLD]))
    assert noted == ["noted"]
    assert not one._ended


# Which directories are removed, and which are kept.


def left_behind(layout: DirectoryLayout, *, keep: bool = False) -> None:
    """The state after kill -9 of the supervisor: all files exist, the lock is free."""
    instance.lock_directory(layout, instance.LockOwner(supervisor_pid=1, keep=keep)).close()
    (layout.data / "mysql").mkdir(parents=True)
    layout.error_log.write_text("log")


def test_left_behind(layout: DirectoryLayout) -> None:
    left_behind(layout)
    assert instance.remove_leftovers(layout.root.parent) == [layout.root]
    assert not layout.root.exists()


def test_the_control_group_of_a_killed_supervisor(layout: DirectoryLayout, hierarchy: Hierarchy) -> None:
    group = hierarchy.scope / layout.root.name
    group.mkdir()
    instance.remove_server_group(layout, hierarchy.root)
    assert group.exists()
    layout.server_group.write_text(str(group))
    instance.remove_server_group(layout, hierarchy.root)
    assert not group.exists()


def test_in_use(layout: DirectoryLayout) -> None:
    with instance.lock_directory(layout, instance.LockOwner(supervisor_pid=1, keep=False)):
        assert instance.remove_leftovers(layout.root.parent) == []
    assert layout.root.exists()


def test_to_be_kept(layout: DirectoryLayout) -> None:
    left_behind(layout, keep=True)
    assert instance.remove_leftovers(layout.root.parent) == []
    assert layout.data.exists()


def test_without_a_lock(layout: DirectoryLayout) -> None:
    assert instance.remove_leftovers(layout.root.parent) == []
    assert layout.root.exists()


OLD = 1_000_000_000


@pytest.mark.parametrize("has_lock", [False, True])
def test_killed_before_the_mark(layout: DirectoryLayout, has_lock: bool) -> None:
    if has_lock:
        layout.supervisor_lock.touch()
    assert instance.remove_leftovers(layout.root.parent) == []
    os.utime(layout.root, (OLD, OLD))
    assert instance.remove_leftovers(layout.root.parent) == [layout.root]
    assert not layout.root.exists()


def test_without_a_mark_but_with_something_in_it(layout: DirectoryLayout) -> None:
    layout.supervisor_lock.touch()
    for made in (layout.data, layout.tmp / "something"):
        made.mkdir()
        os.utime(layout.root, (OLD, OLD))
        assert instance.remove_leftovers(layout.root.parent) == []
        made.rmdir()
    assert layout.tmp.exists()


def test_without_a_mark_while_its_supervisor_starts(layout: DirectoryLayout) -> None:
    with layout.supervisor_lock.open("xb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.utime(layout.root, (OLD, OLD))
        assert instance.remove_leftovers(layout.root.parent) == []
    assert layout.supervisor_lock.exists()


def test_of_another_name(layout: DirectoryLayout, tmp_path: Path) -> None:
    left_behind(layout)
    other = layout.root.rename(tmp_path / "demo-x")
    assert instance.remove_leftovers(tmp_path) == []
    assert other.exists()


def test_of_another_user(layout: DirectoryLayout, monkeypatch: pytest.MonkeyPatch) -> None:
    left_behind(layout)
    stranger = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: stranger)
    assert instance.remove_leftovers(layout.root.parent) == []
    assert layout.data.exists()


def test_behind_a_link(layout: DirectoryLayout, tmp_path: Path) -> None:
    left_behind(layout)
    base = tmp_path / "base"
    base.mkdir()
    (base / layout.root.name).symlink_to(layout.root)
    assert instance.remove_leftovers(base) == []
    assert layout.data.exists()


def test_a_reused_pid(layout: DirectoryLayout) -> None:
    left_behind(layout)
    layout.server_pid.write_text(f"{os.getpid()}\n")
    assert instance.server_pid(layout) is None
    assert instance.remove_leftovers(layout.root.parent) == [layout.root]


@pytest.mark.parametrize(
    ("file", "content", "log", "words"),
    [
        (
            "sys/module/apparmor/parameters/enabled",
            "Y",
            "[ERROR] (errno: 13 - Permission denied)",
            "AppArmor may",
        ),
        ("sys/module/apparmor/parameters/enabled", "Y", "", "AppArmor may forbid"),
        (
            "sys/fs/selinux/enforce",
            "1",
            "[ERROR] InnoDB: Operating system error number 13",
            "SELinux may forbid",
        ),
        ("sys/fs/selinux/enforce", "1", "Can't open (Errcode: 13)", "semanage fcontext"),
        ("sys/fs/selinux/enforce", "0", "[ERROR] Permission denied", ""),
        ("sys/fs/selinux/enforce", "1", "[ERROR] unknown variable 'x=13'", ""),
    ],
)
def test_access_control_in_front_of_a_server_is_named(
    file: str, content: str, log: str, words: str, tmp_path: Path
) -> None:
    path, folder = tmp_path / file, tmp_path / "tuibench-demo-x"
    path.parent.mkdir(parents=True)
    path.write_text(f"{content}\n")
    folder.mkdir()
    (folder / "log").write_text(f"{log}\n" if log else "")
    error = process.failure_with_log("mysqld did not start", folder / "log", tmp_path)
    assert words in error.hint
    assert bool(error.hint) is bool(words)
    assert str(folder) in error.hint or not words
