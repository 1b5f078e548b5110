"""Limits of private servers in real control groups, where this user may create one."""

import asyncio
import functools
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.support.processes import gone, until
from tuibench.base.errors import ServerUnavailableError
from tuibench.model.server import ServerLimits
from tuibench.servers import limits
from tuibench.servers.binaries import Binary
from tuibench.servers.limits import scope_command
from tuibench.servers.server import PrivateServer

LIMITS = ServerLimits(cpus=1, memory_bytes=2**30)
TOO_LITTLE = "16M"
TRY_GROUP = """
import os
from tuibench.servers import limits
group, why_not = limits.make_group({"cpu.max": "max", "memory.max": "max"}, f"tuibench-test-{os.getpid()}")
if group is not None:
    limits.remove_group(group)
print(why_not, end="")
"""
"""In a process of its own, as in the supervisor: it forks, which a process with threads should not."""


@functools.cache
def why_no_group() -> str:
    """Why this user has no control groups; empty if there is one."""
    if scope_command()[0]:
        return ""
    return subprocess.run(
        [sys.executable, "-c", TRY_GROUP], capture_output=True, text=True, check=True
    ).stdout


async def test_limits_are_seen_in_the_servers_group(any_binary: Binary) -> None:
    """The kernel kills a server that needs more than its limit; nothing of the group is left."""
    if reason := await asyncio.to_thread(why_no_group):
        pytest.skip(f"no control group: {reason}")
    async with await PrivateServer.start(any_binary, limits=LIMITS) as server:
        own = Path(f"/proc/{server.pid}/cgroup").read_text().splitlines()[-1]
        group = limits.ROOT / own.removeprefix("0::/")
        assert server.limited == f"1 CPU and 1 GiB of memory by cgroup v2 ({group})"
        assert (group / "cpu.max").read_text().split() == ["100000", "100000"]
        assert int((group / "memory.max").read_text()) == LIMITS.memory_bytes
        await server.check_running()
        await asyncio.to_thread((group / "memory.max").write_text, TOO_LITTLE)
        assert await asyncio.to_thread(until, functools.partial(gone, server.pid))
        with pytest.raises(ServerUnavailableError, match=r"the kernel killed .* of memory"):
            await server.check_running()
        (group / "memory.max").write_text(str(LIMITS.memory_bytes))
        await server.start_again()
        await server.check_running()
    assert await asyncio.to_thread(until, lambda: not group.exists())
