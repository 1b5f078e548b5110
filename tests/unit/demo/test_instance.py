"""Why a private server ended, with a shell command that stands for the server."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.unit.demo.conftest import make_spec
from tuibench.clock import SystemClock
from tuibench.demo import instance, process, setup
from tuibench.demo.instance import ServerInstance, start_seconds
from tuibench.demo.limits import Confinement
from tuibench.demo.server_end import find_end
from tuibench.errors import ServerUnavailableError
from tuibench.model.server import ServerLimits

LIMITS = ServerLimits(memory_bytes=2**30)
KILLED = "the kernel killed MariaDB 11.8.9 .*: it needs more than its 1 GiB of memory"


class Stage:
    """An instance whose server is the command; `kill_for_memory` is what the kernel counts."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
        self.group = tmp_path / "cgroup" / "group"
        self.group.mkdir(parents=True)
        self.kill_for_memory(0)
        self.is_ready = True
        confined = Confinement(self.group, words="1 GiB", root=self.group.parent)
        monkeypatch.setattr(instance, "confine", lambda *_arguments: confined)
        monkeypatch.setattr(setup, "make_data_directory", lambda *_arguments: None)
        monkeypatch.setattr(setup, "write_files", lambda *_arguments: None)
        monkeypatch.setattr(setup, "server_command", lambda *_arguments: ["/bin/sh", "-c", command])
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
    assert started.limited == "1 GiB"
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
    assert process.end_words(code) == words
