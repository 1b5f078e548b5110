"""The CPU profile of a real server, where perf works."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from tests.integration.support.session_process import FULL_SPEED_MS, session_spec
from tuibench.base.errors import RunError
from tuibench.model.event import Event
from tuibench.model.message import RecordCpuProfile
from tuibench.model.tick import Sample
from tuibench.observe.cpu_profile import PROFILE, CpuProfile, function_blocks, load_profile, refusal
from tuibench.servers.server import PrivateServer
from tuibench.session.load_run import LoadRun


async def test_the_record_has_the_servers_functions_or_says_why_not(
    tables: PrivateServer, tmp_path: Path
) -> None:
    spec = session_spec(
        tables.target, "oltp_read_only", threads=2, interval_seconds=0.5, delay_ms=FULL_SPEED_MS
    )
    spec = replace(spec, plan=replace(spec.plan, seconds=None, cpu_profile=True), run_directory=str(tmp_path))
    said: list[str] = []
    async with LoadRun(spec) as run:
        begun = cpu_seconds(tables.pid)

        def take(message: object) -> None:
            if isinstance(message, Event):
                said.append(message.text)
            if isinstance(message, Sample) and cpu_seconds(tables.pid) > begun + ENOUGH_CPU_SECONDS:
                run.request_stop()

        run.watcher.bus.listeners.append(take)
        await run.run()
    found = profile_of(tmp_path, run.watcher.sampler.server_pid, said)
    assert function_blocks(list(found.seconds.values()))


ENOUGH_CPU_SECONDS = 1.0
"""Of the server, however long it takes: a hundred samples, less those before perf is ready. perf needs some
0.2 s of its own for that; the server's two threads get about twice as much meanwhile.
"""


def cpu_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


@pytest.mark.one_flavour
async def test_windows_by_command_are_recorded_and_what_is_between_them_is_not(
    tables: PrivateServer, tmp_path: Path
) -> None:
    spec = session_spec(
        tables.target, "oltp_read_only", threads=2, interval_seconds=0.25, delay_ms=FULL_SPEED_MS
    )
    spec = replace(spec, plan=replace(spec.plan, seconds=None), run_directory=str(tmp_path))
    said: list[str] = []
    async with LoadRun(spec) as run:

        async def window(seconds: float) -> None:
            try:
                await run.submit(RecordCpuProfile(seconds))
            except RunError as error:
                said.append(f"no CPU profile: {error}")

        steps = [(60.0, 0), (0.0, 0), (60.0, 1), (0.0, 1), (0.5, 2)]
        """Two windows that a command ends, one that ends by itself; how many have ended before each."""
        worked, at = cpu_seconds(tables.pid), 0.0

        def take(message: object) -> None:
            """Each step after some work of the server: there is something to record, or to leave out."""
            nonlocal worked, at
            if isinstance(message, Event):
                said.append(message.text)
            if not isinstance(message, Sample):
                return
            ended = said.count("CPU profile ends")
            if ended == 3 or any("no CPU profile" in text for text in said):
                run.request_stop()
            elif (
                steps
                and steps[0][1] == ended
                and cpu_seconds(tables.pid) > worked + ENOUGH_CPU_SECONDS
                and message.elapsed_seconds > at + 2.5
            ):
                run.watcher.tasks.start(window(steps.pop(0)[0]), "window")
                worked, at = cpu_seconds(tables.pid), message.elapsed_seconds

        run.watcher.bus.listeners.append(take)
        await run.run()
    found = profile_of(tmp_path, run.watcher.sampler.server_pid, said)
    marks = [text for text in said if text in ("CPU profile begins", "CPU profile ends")]
    assert marks == ["CPU profile begins", "CPU profile ends"] * 3
    seconds = [second for begun, ended in found.spans() for second in range(begun, ended)]
    assert max(later - sooner for sooner, later in pairwise(seconds)) > 1, "what is between them is left out"


def profile_of(folder: Path, pid: int | None, said: Sequence[str]) -> CpuProfile:
    """The profile of the record, which has samples; skips with the reason if perf does not work here."""
    if refusal(pid) is not None or any(text.startswith("no CPU profile") for text in said):
        pytest.skip(f"perf does not work here: {said}")
    assert [path.name for path in folder.glob("cpu_profile*")] == [PROFILE]
    found = load_profile(folder)
    assert sum(sum(stacks.values()) for stacks in found.seconds.values()) > 10
    return found
