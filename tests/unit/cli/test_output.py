"""Output: closed streams, pipes, log."""

import array
import errno
import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.unit.cli.program import Program
from tuibench.base.errors import ExitCode
from tuibench.cli import output
from tuibench.cli.output import PipeSafeStdout, failure, info

# A program that was started with its standard streams closed, as by a careless daemon.


SOCKETS = """
import os, socket, sys
from tuibench.cli import output
output.open_closed_streams()
print("nobody reads this", file=sys.stderr)
print(sys.stdin.read() + "data", flush=True)
sock = socket.socket()
os.write(9, str(sock.fileno()).encode())
"""


FOREIGN = """
import sys
from tuibench.cli import output
output.open_closed_streams()
print("1 × 2 → 3 …")
print("×…", file=sys.stderr)
output.echo_json({"place": "4 × 100 …"})
"""


def test_a_character_that_the_terminal_lacks_is_no_reason_to_end() -> None:
    """Data for programs is UTF-8 all the same."""
    done = subprocess.run(
        [sys.executable, "-c", FOREIGN],
        env={**os.environ, "PYTHONIOENCODING": "iso8859-1"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.startswith("1 × 2 ? 3 ?\n".encode("latin-1"))
    assert done.stdout.endswith('"4 × 100 …"\n}\n'.encode())
    assert done.stderr == "×?\n".encode("latin-1")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_nothing_that_is_opened_later_takes_the_place_of_a_closed_one(closed: str) -> None:
    """The number that a socket was given is told through a further descriptor."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" 9>&1 {closed}', sys.executable, SOCKETS],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done
    assert int(done.stdout.split()[-1]) > 2


LONG = """
from tuibench.cli import output
output.open_closed_streams()
output.echo_json("x" * 1_000_000)
"""


def waiting_bytes(descriptor: int) -> int:
    """What lies in a pipe unread."""
    count = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, count)
    return count[0]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_signal_in_the_middle_of_a_long_output_loses_nothing(unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen([sys.executable, "-c", LONG], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        deadline = time.monotonic() + 60
        while waiting_bytes(process.stdout.fileno()) < 65_536 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        process.send_signal(signal.SIGCONT)
        assert len(process.stdout.read()) == 1_000_003


# Whoever reads what a command prints may go away: `| head -1`.


def broken(_: str) -> None:
    raise BrokenPipeError


def test_what_is_read_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    ends: list[str] = []
    reader = PipeSafeStdout(lambda: ends.append("gone"))
    reader.write("one\n")
    assert (capsys.readouterr().out, ends, reader.is_gone) == ("one\n", [], False)
    assert reader.judged(ExitCode.INTERRUPTED) is ExitCode.INTERRUPTED


def test_a_closed_stdout_ends_a_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[str] = []
    reader = PipeSafeStdout(lambda: ends.append("gone"))
    monkeypatch.setattr(output, "write_stdout", broken)
    monkeypatch.setattr(output, "discard_output", lambda: None)
    reader.write("one\n")
    reader.write("two\n")
    assert ends == ["gone"]


def test_a_run_whose_output_finds_no_room_is_ended_and_has_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    ends: list[str] = []
    reader = PipeSafeStdout(lambda: ends.append("gone"))
    monkeypatch.setattr(output, "write_stdout", full)
    monkeypatch.setattr(output, "discard_output", lambda: None)
    reader.write("one\n")
    reader.write("two\n")
    assert ends == ["gone"]
    assert capsys.readouterr().err == (
        "tuibench: cannot write the output: No space left on device (is the disk full?)\n"
    )
    assert reader.judged(ExitCode.DONE) is ExitCode.RUN_FAILED
    assert reader.judged(ExitCode.SERVER_UNAVAILABLE) is ExitCode.SERVER_UNAVAILABLE


@pytest.mark.parametrize(
    ("code", "judged"),
    [
        (ExitCode.INTERRUPTED, ExitCode.BROKEN_PIPE),
        (ExitCode.DONE, ExitCode.BROKEN_PIPE),
        (ExitCode.RUN_FAILED, ExitCode.RUN_FAILED),
        (ExitCode.THRESHOLD_CROSSED, ExitCode.THRESHOLD_CROSSED),
    ],
)
def test_a_failure_tells_more_than_a_reader_that_is_gone(code: ExitCode, judged: ExitCode) -> None:
    reader = PipeSafeStdout(lambda: None)
    reader.is_gone = True
    assert reader.judged(code) is judged


@pytest.mark.parametrize("line", ["--help", "--version", "run --help", "profiles", "profiles --format=json"])
def test_the_program_ends_as_by_sigpipe_without_a_word(line: str) -> None:
    """Its output is a pipe whose other end is closed from the beginning."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tuibench", *line.split()]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (128 + 13, "")


def test_a_closed_stderr_ends_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "tuibench", "profiles", "show"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=writing, check=False)
    os.close(writing)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE_ERROR, b"")


@pytest.mark.parametrize("line", ["--help", "--version", "profiles --format=json"])
def test_output_that_finds_no_room_is_a_sentence(line: str) -> None:
    command = [sys.executable, "-m", "tuibench", *line.split()]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == ExitCode.RUN_FAILED
    assert done.stderr == "tuibench: cannot write the output: No space left on device (is the disk full?)\n"


def test_talk_that_finds_no_room_is_no_failure() -> None:
    command = [sys.executable, "-c", "from tuibench.cli.output import info; info('x'); print('data')"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "data\n")


# Messages on stderr: whole, and none that pretends to be another one.


def test_the_lines_of_a_failure_are_lines_and_those_of_others_are_indented(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failure("mariadbd did not start; its log ends:\n  [ERROR] no space left\nwarning: \x1b[31mall is lost")
    assert capsys.readouterr().err == (
        "tuibench: mariadbd did not start; its log ends:\n"
        "  [ERROR] no space left\n"
        "  warning: \\x1b[31mall is lost\n"
    )


def test_a_message_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    info("a\nb")
    assert capsys.readouterr().err == "a\\nb\n"


# A named pipe in place of each file that a user names: refused at once, instead of a wait for its writer.


SERVER = ("--host=127.0.0.1", "--port=1", "--user=u")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", "--sql-file={}", *SERVER), 2),
        (("run", "{}.toml", *SERVER), 2),
        (("profiles", "check", "{}.toml"), 2),
        (("run", "oltp_read_only", "--defaults-file={}", *SERVER), 2),
        (("run", "oltp_read_only", "--config-file={}", *SERVER), 2),
        (("run", "oltp_read_only", "--ssl-mode=verify-ca", "--ssl-ca={}", *SERVER), 2),
        (("profiles", "from-slow-log", "{}"), 2),
        (("sweep", "--resume={}", *SERVER), 2),
    ],
)
def test_a_named_pipe(tuibench: Program, tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    for name in ("pipe", "pipe.toml"):
        os.mkfifo(tmp_path / name)
    ended = tuibench(*(word.replace("{}", str(tmp_path / "pipe")) for word in words))
    assert (ended.code, ended.out) == (code, "")
    assert str(tmp_path / "pipe") in ended.err
    assert "a bug" not in ended.err
