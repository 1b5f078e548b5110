"""How the host's totals become shares and rates."""

import os
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ticks import figures, known
from tests.unit.observe.fakes import FakeClock
from tuibench.metrics.figures import core_shares, read
from tuibench.model.tick import HOST, Tick
from tuibench.observe.host import sampler as host_module
from tuibench.observe.host.figures import HostTotals, MemoryUse, host_tick
from tuibench.observe.host.sampler import HostSampler
from tuibench.observe.host.server_process import ServerProcess
from tuibench.observe.host.totals import CpuTime, DiskTotals, ProcessTimes, cpu_time

SERVER, OURS, VIEWER, NOBODY = 100, 200, 201, 2**22 + 1


class FakeMachine:
    """A machine of four cores whose totals are set by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = FakeClock()
        self.machine = CpuTime(0.0, 0.0)
        self.seconds = {SERVER: 50.0, OURS: 10.0}
        self.disk: DiskTotals | None = DiskTotals(0, 0, 0, 0, 0, 0)
        self.cores: tuple[CpuTime, ...] = (CpuTime(0.0, 0.0),) * 2
        monkeypatch.setattr(psutil, "cpu_count", lambda: 4)
        monkeypatch.setattr(host_module, "cpu_time", lambda: self.machine)
        monkeypatch.setattr(host_module, "disk_totals", lambda: self.disk)
        monkeypatch.setattr(host_module, "core_cpu_times", lambda: self.cores)
        monkeypatch.setattr(host_module, "net_bytes", lambda: (0, 0))
        monkeypatch.setattr(ProcessTimes, "read", self._read)

    def _read(self, pids: set[int]) -> dict[int, float]:
        return {pid: seconds for pid, seconds in self.seconds.items() if pid in pids}

    def pass_time(self, seconds: float, busy: float) -> None:
        """All cores together were busy for so many seconds."""
        self.clock.advance(seconds)
        self.machine = CpuTime(self.machine.busy + busy, self.machine.total + 4 * seconds)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    return FakeMachine(monkeypatch)


def sampler(machine: FakeMachine, server: int | None = SERVER, note: str = "") -> HostSampler:
    return HostSampler(ServerProcess(pid=server, note=note), lambda: {OURS, VIEWER}, machine.clock)


def sampled(sampling: HostSampler) -> Tick:
    tick = sampling.sample()
    assert tick is not None
    return tick.moved("", HOST)


def test_processor_time_is_split(machine: FakeMachine) -> None:
    sampling = sampler(machine)
    machine.pass_time(2.0, busy=6.0)
    machine.seconds = {SERVER: 53.0, OURS: 11.0}
    machine.disk = DiskTotals(100, 4000, 0, 4, 0, 10)
    machine.cores = (CpuTime(1.0, 2.0), CpuTime(0.5, 2.0))
    part = sampled(sampling)
    assert (part.levels.get(HOST + "cores"), read("cpu_total", part)) == (4, 75.0)
    assert figures(part, "cpu_server", "cpu_tuibench", "cpu_rest") == (
        37.5,
        12.5,
        25.0,
    )
    assert figures(part, "disk_read", "disk_write") == (50.0, 2000.0)
    assert figures(part, "disk_read_ms", "disk_write_ms") == (None, 2.5)
    assert core_shares(part) == (50.0, 25.0)
    assert part.missing.get(HOST + "server_cpu", "") == ""


def test_a_process_that_came_is_counted_from_the_next_tick(machine: FakeMachine) -> None:
    sampling = sampler(machine)
    machine.pass_time(1.0, busy=1.0)
    machine.seconds[VIEWER] = 99.0
    first = sampled(sampling)
    machine.pass_time(1.0, busy=1.0)
    machine.seconds[VIEWER] = 99.4
    second = sampled(sampling)
    assert read("cpu_tuibench", first) == 0.0
    assert read("cpu_tuibench", second) == pytest.approx(10.0)


def test_a_server_that_was_not_found_has_no_share_and_a_reason(machine: FakeMachine) -> None:
    sampling = sampler(machine, server=None, note="the server runs on another host")
    machine.pass_time(1.0, busy=2.0)
    part = sampled(sampling)
    assert figures(part, "cpu_server", "cpu_rest") == (None, 50.0)
    assert part.missing.get(HOST + "server_cpu", "") == "the server runs on another host"


def test_a_server_that_ended_has_no_share_until_the_next_is_followed(machine: FakeMachine) -> None:
    sampling = sampler(machine)
    del machine.seconds[SERVER]
    machine.pass_time(1.0, busy=2.0)
    ended = sampled(sampling)
    machine.seconds[101] = 5.0
    sampling.follow(ServerProcess(pid=101))
    machine.pass_time(1.0, busy=2.0)
    sampling.sample()
    machine.seconds[101] = 6.0
    machine.pass_time(1.0, busy=2.0)
    followed = sampled(sampling)
    assert (read("cpu_server", ended), ended.missing[HOST + "server_cpu"]) == (
        None,
        "the server's process 100 has ended or cannot be read",
    )
    assert (read("cpu_server", followed), followed.missing) == (25.0, {})


def test_two_calls_at_once_are_one_sample(machine: FakeMachine) -> None:
    sampling = sampler(machine)
    assert sampling.sample() is None
    machine.pass_time(1.0, busy=4.0)
    part = sampled(sampling)
    assert read("cpu_total", part) == 100.0


def test_cores_that_come_or_go_have_no_share_in_that_tick(machine: FakeMachine) -> None:
    sampling = sampler(machine)
    machine.pass_time(1.0, busy=1.0)
    machine.cores = (CpuTime(1.0, 1.0),) * 3
    part = sampled(sampling)
    assert core_shares(part) == ()


def test_disks_that_cannot_be_read_have_no_rate(machine: FakeMachine) -> None:
    machine.disk = None
    sampling = sampler(machine)
    machine.pass_time(1.0, busy=0.0)
    part = sampled(sampling)
    assert figures(part, "disk_read", "disk_write") == (None, None)


def totals(at: float, machine: CpuTime = CpuTime(0, 0), **fields: Any) -> HostTotals:  # noqa: B008 (frozen)
    return HostTotals(at_ns=round(at * 1e9), machine=machine, memory=MemoryUse(used=1, total=2), **fields)


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_share_is_a_percentage_or_unknown(
    busy: float, idle: float, more_busy: float, more_idle: float
) -> None:
    after = CpuTime(busy + more_busy, busy + more_busy + idle + more_idle)
    found = host_tick(totals(1, CpuTime(busy, busy + idle)), totals(2, after), cores=2, server_pid=None)
    assert found is None or 0.0 <= known("cpu_total", found.moved("", HOST)) <= 100.0


def test_what_went_back_is_unknown() -> None:
    """A process number that was taken again, and a counter of the network."""
    found = host_tick(
        totals(1, CpuTime(1, 2), processes={SERVER: 50.0}, net=(10, 10)),
        totals(3, CpuTime(2, 4), processes={SERVER: 0.5}, net=(5, 30)),
        cores=2,
        server_pid=SERVER,
    )
    assert found is not None
    seen = found.moved("", HOST)
    assert figures(seen, "cpu_server", "net_received") == (None, None)


def test_processor_time_of_a_process_that_lives() -> None:
    times = ProcessTimes()
    used = times.read([os.getpid(), NOBODY])
    assert set(used) == {os.getpid()}
    assert used[os.getpid()] > 0


def test_the_machine_is_never_busier_than_its_cores() -> None:
    now = cpu_time()
    assert 0 < now.busy < now.total


def test_this_host() -> None:
    clock = FakeClock()
    sampling = HostSampler(ServerProcess(pid=os.getpid()), lambda: (), clock)
    burn_until_processor_time_passes()
    clock.advance(1)
    part = sampled(sampling)
    assert part.levels.get(HOST + "cores") == psutil.cpu_count()
    assert read("cpu_server", part) is not None
    assert 0 < known("cpu_total", part) <= 100
    assert 0 < known("memory_used", part) < part.levels[HOST + "memory_total"]


def burn_until_processor_time_passes() -> None:
    """The system counts in hundredths of a second."""
    start = cpu_time()
    while cpu_time().busy - start.busy < 0.05:
        pass
