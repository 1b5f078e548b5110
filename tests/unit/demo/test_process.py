"""Server processes, simulated by shell commands."""

import subprocess
from pathlib import Path

import pytest

from tuibench.clock import SystemClock
from tuibench.demo import process
from tuibench.errors import ServerUnavailableError


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
