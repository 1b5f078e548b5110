"""The CPU profile of a real server, where perf works."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.integration.support.session_process import session_spec
from tuibench.demo.server import PrivateServer
from tuibench.errors import RunError
from tuibench.model.event import Event
from tuibench.model.message import RecordCpuProfile
from tuibench.model.tick import Sample
from tuibench.session.load_run import LoadRun
from tuibench.waits.cpu_profile import PROFILE, CpuProfile, function_blocks, load_profile, refusal


async def test_the_record_has_the_servers_functions_or_says_why_not(
    tables: PrivateServer, tmp_path: Path
) -> None:
    spec = session_spec(tables.target, "oltp_read_only", threads=2, interval_seconds=0.5)
    spec = replace(spec, plan=replace(spec.plan, seconds=3.0, cpu_profile=True), run_directory=str(tmp_path))
    said: list[str] = []
    async with LoadRun(spec) as run:
        run.watcher.bus.listeners.append(lambda it: said.append(it.text) if isinstance(it, Event) else None)
        await run.run()
    found = profile_of(tmp_path, run.watcher.sampler.server_pid, said)
    assert 1 <= len(found.seconds) <= 60
    assert function_blocks(list(found.seconds.values()))


@pytest.mark.one_flavour
async def test_windows_by_command_are_recorded_and_what_is_between_them_is_not(
    tables: PrivateServer, tmp_path: Path
) -> None:
    spec = session_spec(tables.target, "oltp_read_only", threads=2, interval_seconds=0.25)
    spec = replace(spec, plan=replace(spec.plan, seconds=None), run_directory=str(tmp_path))
    said: list[str] = []
    async with LoadRun(spec) as run:

        async def window(seconds: float) -> None:
            try:
                await run.submit(RecordCpuProfile(seconds))
            except RunError as error:
                said.append(f"no CPU profile: {error}")

        def take(message: object) -> None:
            """A window of 1.5 s, one that a command ends, and 3 s between them."""
            if isinstance(message, Event):
                said.append(message.text)
            if isinstance(message, Sample) and message.number in (2, 22, 30):
                seconds = {2: 1.5, 22: 60.0, 30: 0.0}[message.number]
                run.watcher.tasks.start(window(seconds), "window")
            has_ended = said.count("CPU profile ends") == 2 or any("no CPU profile" in text for text in said)
            if isinstance(message, Sample) and message.number >= 34 and has_ended:
                run.request_stop()

        run.watcher.bus.listeners.append(take)
        await run.run()
    found = profile_of(tmp_path, run.watcher.sampler.server_pid, said)
    marks = [text for text in said if text in ("CPU profile begins", "CPU profile ends")]
    assert marks == ["CPU profile begins", "CPU profile ends"] * 2
    assert len(found.spans()) == 2, found.spans()


def profile_of(folder: Path, pid: int | None, said: Sequence[str]) -> CpuProfile:
    """The profile of the record, which has samples; skips with the reason if perf does not work here."""
    if refusal(pid) is not None or any(text.startswith("no CPU profile") for text in said):
        pytest.skip(f"perf does not work here: {said}")
    assert [path.name for path in folder.glob("cpu_profile*")] == [PROFILE]
    found = load_profile(folder)
    assert sum(sum(stacks.values()) for stacks in found.seconds.values()) > 10
    return found
