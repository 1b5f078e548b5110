"""A worker that is a fork of its session: shown as a worker, with nothing of the session's, ended with it.

Each session is a process of its own: that of the tests has threads.
"""

import os
import select
import signal
import subprocess
import sys

import pytest

from tests.paths import ROOT
from tests.tables import for_each

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks workers")

PATIENCE_SECONDS = 60.0
SESSION = """
import asyncio, os, signal, sys, threading
from tests.unit.load.programs import SINGLE, begin
from tuibench.load import prepared_worker
from tuibench.load.fleet import WorkerProcess
from tuibench.load.messages import RequestReport

def open_files(pid):
    return [os.readlink(f"/proc/{{pid}}/fd/{{number}}") for number in os.listdir(f"/proc/{{pid}}/fd")]

async def session():
    worker = await WorkerProcess.start()
    worker.channel.send(begin(SINGLE))
    worker.channel.send(RequestReport())
    await worker.report()
    command = open(f"/proc/{{worker.pid}}/cmdline").read().split(chr(0))
    {while_it_runs}
    await worker.end()
    print(worker.process.returncode)

{before}
prepared_worker.prepare(keeps_stdout=False)
print("prepared" if prepared_worker._waiting else "not prepared")
asyncio.run(session())
"""


def session(while_it_runs: str = "pass", before: str = "") -> list[str]:
    """What a session prints that prepares a worker and runs a load on it."""
    program = SESSION.format(while_it_runs=while_it_runs, before=before)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=PATIENCE_SECONDS,
    )
    return done.stdout.splitlines()


def test_it_runs_a_load_and_ends_with_it() -> None:
    assert session() == ["prepared", "0"]


def test_it_is_shown_as_a_worker_that_leads_its_process_session() -> None:
    """A session's Ctrl-C does not reach it, and operators find it as they find any worker."""
    shown = session("print(command[1:4], os.getsid(worker.pid) == worker.pid)")
    assert shown == ["prepared", "['-P', '-m', 'tuibench.load.worker'] True", "0"]


def test_it_holds_nothing_that_the_session_has_inherited() -> None:
    """The end of an inherited pipe is the session's end to others: the supervisor of a private server."""
    held = session(
        "print(name in open_files(worker.pid))",
        before="kept = os.pipe(); name = os.readlink(f'/proc/self/fd/{kept[1]}')",
    )
    assert held == ["prepared", "False", "0"]


def test_the_signal_that_ends_it_is_known() -> None:
    killed = session("os.kill(worker.pid, signal.SIGKILL); await worker.learn_end(); print(worker.gone())")
    assert "ended unexpectedly (it was killed by SIGKILL)" in killed[1]
    assert killed[2] == "-9"


def test_it_ends_when_its_session_is_killed() -> None:
    program = SESSION.format(
        while_it_runs="print(worker.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)", before=""
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        prepared, pid = process.stdout.read().split()
    assert (process.returncode, prepared) == (-signal.SIGKILL, "prepared")
    try:
        descriptor = os.pidfd_open(int(pid))
    except ProcessLookupError:
        return
    ended, _, _ = select.select([descriptor], [], [], PATIENCE_SECONDS)
    os.close(descriptor)
    assert ended


@for_each(
    "before",
    [
        "threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "sys.argv = ['tuibench', 'run', 'oltp_read_only']",
    ],
)
def test_where_a_fork_is_not_safe_or_not_found_its_worker_is_started(before: str) -> None:
    """With another thread, or in a process that shows the command line of something else."""
    shown = session("print(command[1:4])", before=before)
    assert shown == ["not prepared", "['-P', '-m', 'tuibench.load.worker']", "0"]
