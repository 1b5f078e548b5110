"""Whoever reads what a command prints may go away: `| head -1`."""

import errno
import os
import subprocess
import sys

import pytest

from tuibench.cli.output import stdio
from tuibench.cli.output.stdio import PipeSafeStdout
from tuibench.errors import ExitCode


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
    monkeypatch.setattr(stdio, "write_stdout", broken)
    monkeypatch.setattr(stdio, "discard_output", lambda: None)
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
    monkeypatch.setattr(stdio, "write_stdout", full)
    monkeypatch.setattr(stdio, "discard_output", lambda: None)
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
    command = [sys.executable, "-c", "from tuibench.cli.output.log import info; info('x'); print('data')"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "data\n")
