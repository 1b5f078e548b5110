"""The scheduling policy of a worker, tried in processes of its own."""

import os
import subprocess
import sys

import pytest

from tests.unit.load.programs import SINGLE, begin
from tuibench.load.messages import ApplyRate, RequestReport
from tuibench.load.workers.worker_process import WorkerProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the policy")

ASK = """
import os
from tuibench.load.workers.worker import use_batch_scheduling
{first}
names = {{os.SCHED_OTHER: "other", os.SCHED_BATCH: "batch", os.SCHED_IDLE: "idle"}}
for wanted in (True, False):
    use_batch_scheduling(wanted)
    print(names[os.sched_getscheduler(0)])
"""


def policies(first: str = "") -> list[str]:
    """The policies after asking for several answers at a time, and after asking for each."""
    command = [sys.executable, "-c", ASK.format(first=first)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_answers_are_taken_several_at_a_time_or_each_as_it_comes() -> None:
    assert policies() == ["batch", "other"]


PRETENDED_IDLE = """
held = [os.SCHED_IDLE]
os.sched_getscheduler = lambda _: held[0]
os.sched_setscheduler = lambda _, policy, parameters: held.__setitem__(0, policy)
"""
"""A process that is really idle would wait for a processor that nobody else wants."""


def test_a_scheduling_policy_set_by_the_user_is_kept() -> None:
    assert policies(PRETENDED_IDLE) == ["idle", "idle"]


def test_a_system_that_forbids_it_is_no_obstacle() -> None:
    forbid = "def no(*_): raise PermissionError\nos.sched_setscheduler = no"
    assert policies(forbid) == ["other", "other"]


async def test_a_worker_takes_several_at_a_time_unless_it_works_on_a_schedule() -> None:
    worker = await WorkerProcess.start()
    worker.channel.send(begin(SINGLE))
    policies = []
    for rate in (0.0, 50.0, 0.0):
        worker.channel.send(ApplyRate(rate))
        worker.channel.send(RequestReport())
        await worker.report()
        policies.append(os.sched_getscheduler(worker.process.pid))
    await worker.end()
    assert policies == [os.SCHED_BATCH, os.SCHED_OTHER, os.SCHED_BATCH]
