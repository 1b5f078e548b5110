"""The real program as a subprocess, and what it must not leave behind."""

import asyncio
import itertools
import os
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple, Self

import psutil

from tests.integration.support.forked import Fork, forks, program_command
from tests.integration.support.processes import gone, poll_pauses, until
from tuibench.model.server import Target
from tuibench.mysql.connection import connect
from tuibench.mysql.rows import Row

DEADLINE_SECONDS = 60.0
OUR_PROGRAMS = (
    "tuibench",
    "tuibench.session.service",
    "tuibench.load.worker",
    "tuibench.tuning.guardian",
)
"""The modules that our processes run, apart from the supervisor of a private server."""


class Finished(NamedTuple):
    """What a program left: its exit code, its data and its talk."""

    code: int
    out: str
    err: str


def reach(target: Target) -> list[str]:
    """The options that lead to a server; the password goes through the environment."""
    place = f"--socket={target.socket}" if target.socket else f"--host={target.host}"
    return [place, f"--port={target.port}", f"--user={target.user}", f"--database={target.database}"]


def tuibench(
    *arguments: str,
    target: Target | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float = DEADLINE_SECONDS,
) -> Finished:
    """Runs the program to its end, in a fork of a process that has imported it."""
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err, open(os.devnull) as nothing:
        fork = forks().start(
            words_for(arguments, target),
            environment(target, env),
            [nothing.fileno(), out.fileno(), err.fileno()],
        )
        if (code := fork.ended(seconds)) is None:
            fork.kill()
            raise subprocess.TimeoutExpired(arguments, seconds)
        out.seek(0)
        err.seek(0)
        return Finished(code, out.read(), err.read())


class Running:
    """The program, running in a fork: what the tests use of a Popen."""

    def __init__(self, fork: Fork, out: int, err: int) -> None:
        self.pid = fork.pid
        self.stdout, self.stderr = open(out), open(err)  # noqa: SIM115
        self._fork = fork

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self._fork.ended(DEADLINE_SECONDS)

    def _close(self) -> None:
        self.stdout.close()
        self.stderr.close()

    @property
    def returncode(self) -> int | None:
        return self._fork.ended()

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._fork.kill()

    def communicate(self, timeout: float = DEADLINE_SECONDS) -> tuple[str, str]:
        """Its data and its talk up to its end."""
        with ThreadPoolExecutor(2) as threads:
            read = [threads.submit(stream.read) for stream in (self.stdout, self.stderr)]
            if self._fork.ended(timeout) is None:
                self.kill()
                raise subprocess.TimeoutExpired("tuibench", timeout)
            out, err = (each.result() for each in read)
        self._close()
        return out, err


def started(*arguments: str, target: Target | None = None, env: Mapping[str, str] | None = None) -> Running:
    """The program, running in a fork; its data and its talk come through pipes."""
    out, err = os.pipe(), os.pipe()
    with open(os.devnull) as nothing:
        fork = forks().start(
            words_for(arguments, target), environment(target, env), [nothing.fileno(), out[1], err[1]]
        )
    os.close(out[1])
    os.close(err[1])
    return Running(fork, out[0], err[0])


def started_anew(
    *arguments: str, target: Target | None = None, env: Mapping[str, str] | None = None
) -> "subprocess.Popen[str]":
    """The program in a process of its own from its start: /proc shows what it was given."""
    return subprocess.Popen(
        program_command(*words_for(arguments, target)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(target, env),
    )


def words_for(arguments: Sequence[str], target: Target | None) -> list[str]:
    return [*arguments, *(reach(target) if target is not None else [])]


def environment(target: Target | None, env: Mapping[str, str] | None) -> dict[str, str]:
    login = {"MYSQL_PWD": target.password} if target is not None else {}
    return {**os.environ, **login, **(env or {})}


def wait_for_output(process: Running, words: str) -> None:
    """Reads the talk of a program up to a line with these words; its end fails, with all that was said."""
    talk = ""
    while words not in talk:
        line = process.stderr.readline()
        assert line, talk
        talk += line


def finished(process: "Running | subprocess.Popen[str]", seconds: float = DEADLINE_SECONDS) -> Finished:
    """Waits for the end of a program; kills one that hangs, which fails the test."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode is not None
    return Finished(process.returncode, out, err)


def ours(home: Path) -> dict[int, str]:
    """Our processes that live in a TUIBENCH_HOME, by pid: the module each of them runs."""
    found = {}
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            modules = [after for before, after in itertools.pairwise(command) if before == "-m"]
            if not modules or modules[0] not in OUR_PROGRAMS:
                continue
            if process.environ().get("TUIBENCH_HOME") == str(home) and not gone(process.pid):
                found[process.pid] = modules[0]
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def none_left(home: Path) -> bool:
    """Waits until none of our processes lives in a TUIBENCH_HOME; False if one does not end in time.

    A look at all processes of the machine takes long: the next one is when those that were found have ended.
    """
    deadline = time.monotonic() + DEADLINE_SECONDS
    while found := ours(home):
        if not until(lambda found=found: all(map(gone, found)), deadline - time.monotonic()):  # type: ignore[misc]
            return False
    return True


def assert_nothing_left(home: Path) -> None:
    """No process of ours, no journal, no socket."""
    assert none_left(home), ours(home)
    assert sorted((home / "state" / "journal").glob("*")) == []
    assert sorted((home / "run").glob("*")) == []


async def ask(target: Target, *statements: str) -> list[Row]:
    """The rows of the last statement, over a connection of its own."""
    connection = await connect(target)
    try:
        rows: list[Row] = []
        for sql in statements:
            rows = list(await connection.query(sql))
        return rows
    finally:
        await connection.close()


async def eventually(condition: Callable[[], Awaitable[bool]], seconds: float = DEADLINE_SECONDS) -> bool:
    """Polls a condition on the outer world; False if it does not hold in time."""
    deadline = time.monotonic() + seconds
    pauses = poll_pauses()
    while not await condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(next(pauses))
    return True


async def eventually_asked(target: Target, sql: str, row: Row, seconds: float = DEADLINE_SECONDS) -> bool:
    """Asks until the answer is this one row."""

    async def is_so() -> bool:
        return await ask(target, sql) == [row]

    return await eventually(is_so, seconds)
