"""The CPU profile of a real server, where perf works."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.integration.support.session_process import session_spec
from tuibench.demo.server import PrivateServer
from tuibench.flame.profile import PROFILE, RAW, load_profile, refusal
from tuibench.flame.text import function_blocks
from tuibench.model.event import Event
from tuibench.session.load_run import LoadRun


async def test_the_record_has_the_servers_functions_or_says_why_not(
    tables: PrivateServer, tmp_path: Path
) -> None:
    spec = session_spec(tables.target, "oltp_read_only", threads=2, interval_seconds=0.5)
    spec = replace(spec, plan=replace(spec.plan, seconds=3.0, cpu_profile=True), run_directory=str(tmp_path))
    events: list[Event] = []
    async with LoadRun(spec) as run:
        run.watcher.bus.listeners.append(lambda it: events.append(it) if isinstance(it, Event) else None)
        await run.run()
        pid = run.watcher.sampler.server_pid
    said = [event.text for event in events if "CPU profile" in event.text]
    if refusal(pid) is not None or any(text.startswith("no CPU profile") for text in said):
        assert said
        pytest.skip(f"perf does not work here: {said}")
    found = load_profile(tmp_path)
    assert sum(sum(stacks.values()) for stacks in found.seconds.values()) > 10
    assert 1 <= len(found.seconds) <= 60
    assert function_blocks(list(found.seconds.values()))
    assert (tmp_path / PROFILE).exists()
    assert not (tmp_path / RAW).exists()
