"""The wall clock is set back during a run: rates, the time axis and the record do not notice.

The clock is the session's own (`time.time` in its processes): the machine's belongs to others, too.
"""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from tests.faults.detached import detached
from tests.integration.support.commands import assert_nothing_left
from tests.ticks import known
from tuibench.record.reader import load_run
from tuibench.servers.server import PrivateServer

BACK_SECONDS = 3600
SWITCH = "FAULTY_CLOCK"
CUSTOMIZED = f"""
import os, time
real, switch = time.time, os.environ[{SWITCH!r}]
time.time = lambda: real() - {BACK_SECONDS} * os.path.exists(switch)
"""


async def test_a_clock_that_is_set_back(
    any_tables: PrivateServer, tuibench_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(CUSTOMIZED)
    switch = tmp_path / "set-back"
    env = {"PYTHONPATH": str(tmp_path), SWITCH: str(switch)}
    async with detached(any_tables.target, env=env) as load:
        before = load.watcher.samples[-1]
        switch.touch()
        await load.watcher.until(lambda: load.watcher.samples[-1].at < before.at - BACK_SECONDS / 2)
        await load.watcher.ticks(4)
        summary = await load.stop()
        run = await asyncio.to_thread(load_run, load.watcher.directory)
    rates = [known("tps", each.load) for each in run.samples if each.load]
    assert all(0 <= rate <= 4 * load.rate_before for rate in rates)
    assert all(one.elapsed_seconds < two.elapsed_seconds for one, two in pairwise(run.samples))
    assert 0 < summary.seconds < BACK_SECONDS
    assert (run.cut_short, run.unreadable_lines) == (False, 0)
    await asyncio.to_thread(assert_nothing_left, tuibench_home)
