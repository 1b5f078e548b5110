"""A worker's process: what keeps it from being started is said in words."""

import errno
import sys

import pytest

from tuibench.errors import RunError
from tuibench.load.workers.worker_process import WorkerProcess


async def test_a_process_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(RunError, match=r"cannot start a worker process: No such file .*ulimit"):
        await WorkerProcess.start()


async def test_no_open_files_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("socket.socketpair", refuse)
    with pytest.raises(RunError, match="cannot start a worker process: Too many open files"):
        await WorkerProcess.start()
