"""Limits of private servers in real control groups, where this user may create one."""

import asyncio
import functools
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.support.processes import gone, until
from tuibench.base.errors import ServerUnavailableError, UsageError
from tuibench.model.server import ServerLimits
from tuibench.servers import instance, limit_control, limits
from tuibench.servers.binaries import Binary
from tuibench.servers.limits import scope_command
from tuibench.servers.server import PrivateServer

LIMITS = ServerLimits(cpus=1, memory_bytes=2**30)
TOO_LITTLE = "16M"
TRY_GROUP = """
import os
from tuibench.servers import instance, limit_control, limits
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


async def test_limits_by_version_1_change_while_the_server_runs(any_binary: Binary) -> None:
    group, reason = await asyncio.to_thread(limits.make_version_1_group, "memory", f"tuibench-{os.getpid()}")
    if group is None:
        pytest.skip(f"no control group: {reason}")
    limits.remove_group(group)
    async with await PrivateServer.start(any_binary, limits=LIMITS) as server:
        cpu, memory = (Path(path) for path in re.findall(r"cgroup v1 \((.*?)\)", server.limited))
        assert (cpu / "cpu.cfs_quota_us").read_text() == "100000\n"
        assert (memory / "memory.limit_in_bytes").read_text() == f"{LIMITS.memory_bytes}\n"
        for place in (cpu, memory):
            assert str(server.pid) in (place / "cgroup.procs").read_text().split()
        control = limit_control.LimitControl(server.directory / "limit.sock")
        state = await asyncio.to_thread(control.ask, ServerLimits(cpus=0.5, memory_bytes=2**29))
        assert state.words == f"0.5 CPUs and 512 MiB of memory by cgroup v1 ({cpu}) and cgroup v1 ({memory})"
        assert (cpu / "cpu.cfs_quota_us").read_text() == "50000\n"
        assert (memory / "memory.limit_in_bytes").read_text() == f"{2**29}\n"
        control.close()
        assert await asyncio.to_thread(until, lambda: (cpu / "cpu.cfs_quota_us").read_text() == "100000\n")
        assert (memory / "memory.limit_in_bytes").read_text() == f"{LIMITS.memory_bytes}\n"
    assert await asyncio.to_thread(until, lambda: not cpu.exists() and not memory.exists())


HOLD = """
import sys
from pathlib import Path
from tuibench.model.server import ServerLimits
from tuibench.servers.limit_control import LimitControl
control = LimitControl(Path(sys.argv[1]))
control.ask(ServerLimits(cpus=0.5))
print("limited", flush=True)
sys.stdin.read()
"""


async def test_a_killed_session_leaves_no_limits(any_binary: Binary) -> None:
    """Whoever limits a server may be killed: the server goes on without limits."""
    async with await PrivateServer.start(any_binary) as server:
        path = server.directory / "limit.sock"
        holder = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", HOLD, str(path)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert holder.stdout is not None
        assert await holder.stdout.readline() == b"limited\n"
        control = limit_control.LimitControl(path)
        assert (await asyncio.to_thread(control.ask)).limits == ServerLimits(cpus=0.5)
        holder.kill()
        await holder.wait()

        def is_free() -> bool:
            state = control.ask()
            return (state.limits, state.words) == (ServerLimits(), "")

        assert await asyncio.to_thread(until, is_free)
        with pytest.raises(UsageError, match="--cpus must be between"):
            await asyncio.to_thread(control.ask, ServerLimits(cpus=10_000))
        with pytest.raises(UsageError, match="the memory of this server is not limited"):
            await asyncio.to_thread(control.ask, ServerLimits(memory_bytes=2**30))
        control.close()
        await server.check_running()
        group = Path(f"/proc/{server.pid}/cgroup").read_text()
        assert server.directory.name not in group


async def test_a_stopped_server_ends_with_its_supervisor(any_binary: Binary) -> None:
    """A duty cycle stops the server for moments; if its supervisor is killed then, the server ends."""
    server = await PrivateServer.start(any_binary)
    os.kill(server.pid, signal.SIGSTOP)
    os.kill(server.supervisor_pid, signal.SIGKILL)
    assert await asyncio.to_thread(until, functools.partial(gone, server.pid))
    server.release()
    assert server.directory in await asyncio.to_thread(instance.remove_leftovers, server.directory.parent)
