"""The host: processor, memory, disks, limits, processes."""

import os
import socket
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Never

import msgspec
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import examples
from tests.fakes import FakeClock
from tests.ticks import figures, known
from tuibench.base.clock import SystemClock
from tuibench.base.errors import RunError
from tuibench.metrics.figures import core_shares, read
from tuibench.model.server import Flavour, ServerInfo, Target
from tuibench.model.tick import HOST, Tick
from tuibench.observe import host as host_module
from tuibench.observe import host_facts as facts_module
from tuibench.observe.host import (
    STORED,
    CpuTime,
    GroupLimits,
    HostCounters,
    HostSampler,
    ProcessTimes,
    ServerProcess,
    counted_devices,
    cpu_time,
    disk_totals,
    find_server_process,
    group_levels,
    group_path,
    grown_switches,
    host_tick,
    is_server_process,
    net_bytes,
    own_limits,
    parse_limits,
    storage_bytes,
    stored_bytes,
    thread_switches,
    throttled_seconds,
)
from tuibench.observe.host_facts import (
    disk_facts,
    host_conditions,
    host_facts,
    is_recorded_variable,
    measure_disk,
    read_environment,
)

# How the host's totals become shares and rates.


SERVER, OURS, VIEWER, NOBODY = 100, 200, 201, 2**22 + 1
DISK = ("read_bytes", "written_bytes", "reads", "writes", "read_ms", "write_ms")


class FakeMachine:
    """A machine of four cores whose totals are set by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = FakeClock()
        self.machine = CpuTime(0.0, 0.0)
        self.seconds = {SERVER: 50.0, OURS: 10.0}
        self.disk: dict[str, float] = dict.fromkeys(DISK, 0.0)
        self.cores: tuple[CpuTime, ...] = (CpuTime(0.0, 0.0),) * 2
        monkeypatch.setattr(psutil, "cpu_count", lambda: 4)
        monkeypatch.setattr(host_module, "cpu_time", lambda: self.machine)
        monkeypatch.setattr(host_module, "disk_totals", lambda: self.disk)
        monkeypatch.setattr(host_module, "core_cpu_times", lambda: self.cores)
        monkeypatch.setattr(host_module, "net_bytes", lambda: {"received_bytes": 0, "sent_bytes": 0})
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
    machine.disk = dict(zip(DISK, (100, 4000, 0, 4, 0, 10), strict=True))
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
    machine.disk = {}
    sampling = sampler(machine)
    machine.pass_time(1.0, busy=0.0)
    part = sampled(sampling)
    assert figures(part, "disk_read", "disk_write") == (None, None)


def totals(
    at: float,
    machine: CpuTime = CpuTime(0, 0),  # noqa: B008 (frozen)
    processes: dict[int, float] | None = None,
    **sums: float,
) -> HostCounters:
    return HostCounters(
        at_ns=round(at * 1e9),
        sums=machine._asdict() | sums,
        levels={"memory_used": 1, "memory_total": 2},
        processes=processes or {},
        server_pid=SERVER if processes else None,
    )


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_share_is_a_percentage_or_unknown(
    busy: float, idle: float, more_busy: float, more_idle: float
) -> None:
    after = CpuTime(busy + more_busy, busy + more_busy + idle + more_idle)
    found = host_tick(totals(1, CpuTime(busy, busy + idle)), totals(2, after), cores=2)
    assert found is None or 0.0 <= known("cpu_total", found.moved("", HOST)) <= 100.0


def test_what_went_back_is_unknown() -> None:
    """A process number that was taken again, and a counter of the network."""
    found = host_tick(
        totals(1, CpuTime(1, 2), {SERVER: 50.0}, received_bytes=10, sent_bytes=10),
        totals(3, CpuTime(2, 4), {SERVER: 0.5}, received_bytes=5, sent_bytes=30),
        cores=2,
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


# What a host is, read from the files of hosts that are not this one.


CPUINFO = "processor\t: 0\nmodel name\t: AMD  EPYC 7763\nflags\t\t: fpu sse hypervisor\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_host_says_what_it_is(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("container", raising=False)
    put(
        root,
        {
            "etc/os-release": 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
            "proc/cpuinfo": CPUINFO,
            "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/memory.max": "1048576\n",
            "proc/1/cgroup": "0::/kubepods/burstable/pod1\n",
        },
    )
    facts = host_facts(root=root)
    assert (facts.os, facts.cpu_model) == ("Debian GNU/Linux 12 (bookworm)", "AMD EPYC 7763")
    assert (facts.virtualisation, facts.container) == ("Amazon EC2", "kubepods")
    assert (facts.cpu_limit, facts.memory_limit_bytes) == (1.5, 1 << 20)


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"sys/class/dmi/id/product_name": "Standard PC (QEMU)"}, "KVM"),
        ({"sys/hypervisor/type": "xen"}, "Xen"),
        ({"proc/cpuinfo": CPUINFO}, "a hypervisor"),
        ({"proc/cpuinfo": "model name: x\n", "sys/class/dmi/id/sys_vendor": "Dell Inc."}, "none"),
        ({}, ""),
    ],
)
def test_the_hypervisor_is_named(root: Path, files: dict[str, str], name: str) -> None:
    put(root, files)
    assert host_facts(root=root).virtualisation == name


def test_without_limits_there_are_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("container", raising=False)
    put(root, {"sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/memory.max": "max\n"})
    facts = host_facts(root=root)
    assert (facts.cpu_limit, facts.memory_limit_bytes, facts.container) == (None, None, "")
    assert facts.cores > 0


def test_control_groups_of_the_first_kind(root: Path) -> None:
    put(
        root,
        {
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            "run/.containerenv": "",
        },
    )
    facts = host_facts(root=root)
    assert (facts.cpu_limit, facts.container) == (None, "podman")


MOUNTS = (
    "1 0 253:0 / / rw - ext4 /dev/vda rw\n2 1 259:3 / {folder} rw,noatime - xfs /dev/nvme0n1p1 rw,nobarrier\n"
)


@pytest.mark.parametrize(
    ("disk", "turns", "kind"),
    [
        ("nvme0n1", "0", "NVMe SSD"),
        ("sda", "0", "SSD"),
        ("sdb", "1", "HDD"),
        ("vdb", "1", "virtual disk"),
        ("dm-0", "", ""),
    ],
)
def test_the_disk_below_a_folder(root: Path, disk: str, turns: str, kind: str) -> None:
    data = root / "data"
    data.mkdir()
    put(
        root,
        {
            "proc/self/mountinfo": MOUNTS.format(folder=data),
            f"sys/devices/{disk}/queue/rotational": turns,
            f"sys/devices/{disk}/{disk}p1/partition": "1",
        },
    )
    (root / "sys/dev/block").mkdir(parents=True)
    (root / "sys/dev/block/259:3").symlink_to(root / f"sys/devices/{disk}/{disk}p1")
    facts = disk_facts(str(data), root)
    assert facts is not None
    assert (facts.mount, facts.file_system, facts.device) == (str(data), "xfs", f"{disk}p1")
    assert facts.kind == kind
    assert facts.options == ("rw", "noatime", "nobarrier")
    assert facts.total_bytes


@pytest.mark.parametrize(
    ("file_system", "kind"), [("tmpfs", "memory"), ("nfs4", "network"), ("overlay", "overlay")]
)
def test_a_file_system_without_a_disk(root: Path, file_system: str, kind: str) -> None:
    put(root, {"proc/self/mountinfo": f"1 0 0:5 / / rw - {file_system} none rw\n"})
    facts = disk_facts("/", root)
    assert facts is not None
    assert (facts.device, facts.kind) == ("", kind)


def test_a_mac_lists_its_mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"/": "apfs", "/dev": "devfs"}
    mounts = [
        SimpleNamespace(mountpoint=mount, fstype=kind, opts="rw,local") for mount, kind in listed.items()
    ]
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: mounts)
    facts = disk_facts("/")
    assert facts is not None
    assert (facts.mount, facts.file_system, facts.device, facts.kind) == ("/", "apfs", "", "")
    assert facts.options == ("rw", "local")
    assert facts.total_bytes


def test_a_folder_that_cannot_be_seen(root: Path) -> None:
    assert disk_facts("", root) is None
    assert disk_facts("/nowhere", root) is None


# Switches and storage bytes of a process, from a /proc of the test's own and from this one.


IO = "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"


def put_thread(proc: Path, thread: int, voluntary: int, involuntary: int) -> None:
    folder = proc / "7" / "task" / str(thread)
    folder.mkdir(parents=True)
    (folder / "status").write_text(
        f"Name:\tmysqld\nvoluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
    )


def test_the_switches_of_all_threads_are_read(tmp_path: Path) -> None:
    put_thread(tmp_path, 7, 100, 5)
    put_thread(tmp_path, 8, 20, 1)
    assert thread_switches(7, tmp_path) == {7: (100, 5), 8: (20, 1)}


def test_a_thread_that_has_just_ended_is_left_out(tmp_path: Path) -> None:
    put_thread(tmp_path, 7, 100, 5)
    (tmp_path / "7" / "task" / "9").mkdir()
    assert thread_switches(7, tmp_path) == {7: (100, 5)}


def test_too_many_threads_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "MOST_THREADS", 1)
    put_thread(tmp_path, 7, 100, 5)
    put_thread(tmp_path, 8, 20, 1)
    assert thread_switches(7, tmp_path) is None


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert thread_switches(7, tmp_path) is None
    assert storage_bytes(7, tmp_path) == {}
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "io").write_text("rchar: 9\n")
    assert storage_bytes(7, tmp_path) == {}


def test_storage_is_what_reached_it(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "io").write_text(IO)
    assert storage_bytes(7, tmp_path) == {"server_read_bytes": 4096, "server_written_bytes": 8192}


def test_switches_grow_by_thread() -> None:
    before, after = {1: (10, 1), 2: (50, 5)}, {1: (15, 1), 3: (4, 2)}
    assert grown_switches(before, after) == (9, 2), "thread 2 has ended, thread 3 is new"
    assert grown_switches(None, after) == grown_switches(before, None) == (None, None)


def test_totals_that_went_back_are_of_another_process() -> None:
    def grown(*sums: dict[str, float]) -> dict[str, float]:
        before, after = (
            totals(at, CpuTime(at, 2 * at), None, **each) for at, each in zip((1, 3), sums, strict=True)
        )
        tick = host_tick(before, after, cores=2)
        assert tick is not None
        return {name: value for name, value in tick.sums.items() if name in STORED}

    def stored(read: int, written: int) -> dict[str, float]:
        return stored_bytes((f"read_bytes: {read}", f"write_bytes: {written}"))

    assert grown(stored(1, 2), stored(4, 8)) == stored(3, 6)
    assert grown(stored(5, 2), stored(4, 8)) == grown({}, stored(1, 1)) == {}


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="no /proc here")
def test_this_process_is_read() -> None:
    switches = thread_switches(os.getpid())
    assert switches
    assert os.getpid() in switches
    assert storage_bytes(os.getpid()).keys() == set(STORED)


# This test's own process plays the server: it works in its data directory and listens.


ME = os.getpid()

"""Above the largest process number of Linux."""

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems keep these tables from us")


@pytest.fixture
def info(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServerInfo:
    monkeypatch.chdir(tmp_path)
    return ServerInfo(
        flavour=Flavour.MYSQL,
        version="9.7.4",
        version_text="9.7.4",
        where="localhost:3306",
        identity="db",
        datadir=f"{tmp_path}/",
        pid_file=str(tmp_path / "db.pid"),
        socket=str(tmp_path / "db.sock"),
        port=1,
        is_local=True,
        uptime_seconds=int(time.time() - psutil.Process(ME).create_time()),
    )


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process belongs to somebody else: neither its folder nor its connections can be read."""

    def refuse(*_: object) -> str:
        raise psutil.AccessDenied(ME)

    monkeypatch.setattr(psutil.Process, "cwd", refuse)
    monkeypatch.setattr(psutil, "net_connections", refuse)


@pytest.fixture
def listening(info: ServerInfo) -> Iterator[None]:
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(info.socket)
        server.listen()
        yield


def test_by_pid_file(info: ServerInfo) -> None:
    Path(info.pid_file).write_text(f"{ME}\n")
    assert find_server_process(info) == ServerProcess(pid=ME)


@linux
@pytest.mark.usefixtures("listening")
def test_by_socket_where_there_is_no_pid_file(info: ServerInfo) -> None:
    assert find_server_process(info) == ServerProcess(pid=ME)


@linux
def test_by_port_where_there_is_no_socket_either(info: ServerInfo) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        info = msgspec.structs.replace(info, port=server.getsockname()[1])
        assert find_server_process(info) == ServerProcess(pid=ME)


@linux
@pytest.mark.usefixtures("listening")
def test_a_pid_file_from_another_container_is_passed_over(info: ServerInfo) -> None:
    Path(info.pid_file).write_text("1\n")
    assert find_server_process(info) == ServerProcess(pid=ME)


@linux
@pytest.mark.usefixtures("listening", "unreadable")
def test_a_server_of_another_account_is_found_by_its_socket(info: ServerInfo) -> None:
    assert find_server_process(info) == ServerProcess(pid=ME)


@pytest.mark.usefixtures("unreadable")
def test_a_process_of_another_account_must_be_as_old_as_the_server(info: ServerInfo) -> None:
    assert is_server_process(ME, info)
    assert info.uptime_seconds is not None
    assert not is_server_process(ME, msgspec.structs.replace(info, uptime_seconds=info.uptime_seconds + 3600))
    assert not is_server_process(ME, msgspec.structs.replace(info, uptime_seconds=None))


def test_a_process_elsewhere_is_not_the_server(info: ServerInfo, tmp_path: Path) -> None:
    Path(info.pid_file).write_text(str(ME))
    found = find_server_process(msgspec.structs.replace(info, datadir=str(tmp_path / "elsewhere")))
    assert found == ServerProcess(pid=None, note=f"the process of its pid file ({ME}) is another one")


@pytest.mark.parametrize("text", ["", "mysqld", str(NOBODY)])
def test_a_pid_file_that_names_no_process(info: ServerInfo, text: str) -> None:
    Path(info.pid_file).write_text(text)
    assert find_server_process(info).pid is None


def test_nothing_to_go_by(info: ServerInfo) -> None:
    info = msgspec.structs.replace(info, pid_file="", socket="")
    assert find_server_process(info) == ServerProcess(pid=None, note="the server's process was not found")


def test_a_server_elsewhere_is_not_looked_for(info: ServerInfo) -> None:
    Path(info.pid_file).write_text(str(ME))
    found = find_server_process(msgspec.structs.replace(info, is_local=False))
    assert found == ServerProcess(pid=None, note="the server runs on another host")


# No byte of a disk or a card is counted twice.


def kernel(tmp_path: Path, **hardware: bool) -> Path:
    """A folder as the kernel lists whole devices: with a `device` where there is hardware behind."""
    for name, is_hardware in hardware.items():
        (tmp_path / name / "device" if is_hardware else tmp_path / name).mkdir(parents=True)
    return tmp_path


def test_partitions_and_volumes_are_left_to_their_disk(tmp_path: Path) -> None:
    folder = kernel(tmp_path, sda=True, nvme0n1=True, md0=False, loop0=False)
    names = ["sda", "sda1", "nvme0n1", "nvme0n1p2", "md0", "loop0", "dm-0"]
    assert counted_devices(names, folder) == ["sda", "nvme0n1"]


def test_bridges_are_left_to_their_card(tmp_path: Path) -> None:
    folder = kernel(tmp_path, eth0=True, docker0=False, lo=False)
    assert counted_devices(["lo", "eth0", "docker0"], folder) == ["eth0"]


def test_in_a_container_all_but_the_loopback_counts(tmp_path: Path) -> None:
    assert counted_devices(["lo", "eth0"], kernel(tmp_path, lo=False, eth0=False)) == ["eth0"]


def test_without_the_kernels_folder_all_but_the_loopback_counts(tmp_path: Path) -> None:
    assert counted_devices(["lo0", "en0", "disk0"], tmp_path / "none") == ["en0", "disk0"]


def test_this_hosts_totals_never_go_back() -> None:
    for reader in (disk_totals, net_bytes):
        first, second = reader(), reader()
        assert first.keys() == second.keys()
        assert all(second[name] >= first[name] >= 0 for name in first)


# The limits of control groups, from their files.


def test_the_least_of_all_levels_holds() -> None:
    files = {
        "/g/a/b/cpu.max": "400000 100000",
        "/g/a/cpu.max": "150000 100000\n",
        "/g/a/b/memory.max": "max",
        "/g/memory.max": "1000",
        "/g/a/b/cpu.stat": "throttled_usec 500000",
        "/g/a/cpu.stat": "throttled_usec 9000000",
    }
    assert parse_limits(files, "/a/b", "/g") == GroupLimits(
        cpu_cores=1.5, memory_bytes=1000, throttled_seconds=9.0
    )


@pytest.mark.parametrize("text", ["max 100000", "", "100000", "x y", "100000 0"])
def test_what_is_no_limit_is_none(text: str) -> None:
    assert parse_limits({"/g/cpu.max": text}, "/", "/g").cpu_cores is None


def test_levels() -> None:
    assert group_levels("/a/b") == ["/a/b", "/a", ""]
    assert group_levels("/") == [""]
    assert group_path(["4:memory:/x", "0::/a/b:c"]) == "/a/b:c"
    assert group_path(["4:memory:/x"]) == ""


def test_the_limits_of_this_process_in_version_2_and_1(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("0::/box\n")
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "cpu.max").write_text("50000 100000\n")
    assert own_limits(own, tmp_path) == GroupLimits(cpu_cores=0.5)
    (tmp_path / "box" / "cpu.max").unlink()
    for folder, name, value in (
        ("cpu", "cpu.cfs_quota_us", "200000"),
        ("cpu", "cpu.cfs_period_us", "100000"),
        ("memory", "memory.limit_in_bytes", "9223372036854771712"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text(f"{value}\n")
    own.write_text("3:cpu,cpuacct:/box\n0::/\n")
    assert own_limits(own, tmp_path) == GroupLimits(cpu_cores=2.0)
    (tmp_path / "cpu" / "box").mkdir()
    (tmp_path / "cpu" / "box" / "cpu.cfs_quota_us").write_text("50000\n")
    (tmp_path / "cpu" / "box" / "cpu.cfs_period_us").write_text("100000\n")
    assert own_limits(own, tmp_path) == GroupLimits(cpu_cores=0.5)


# What this host tells of itself, and that nothing breaks where it does not.


def test_what_the_kernel_says(tmp_path: Path) -> None:
    source = tmp_path / "devices/system/clocksource/clocksource0/current_clocksource"
    source.parent.mkdir(parents=True)
    source.write_text("hpet\n")
    for cpu, governor in enumerate(("powersave", "performance", "powersave")):
        folder = tmp_path / f"devices/system/cpu/cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{governor}\n")
    pages = tmp_path / "kernel/mm/transparent_hugepage/enabled"
    pages.parent.mkdir(parents=True)
    pages.write_text("always [madvise] never\n")
    found = host_conditions(str(tmp_path), tmp_path)
    assert (found.clocksource, found.governors) == ("hpet", ("performance", "powersave"))
    assert found.huge_pages == "madvise"
    assert found.disk_free_bytes is not None
    assert found.disk_total_bytes is not None
    assert 0 <= found.disk_free_bytes <= found.disk_total_bytes
    assert found.files_soft is None or found.files_soft > 0


def test_a_host_that_tells_little(tmp_path: Path) -> None:
    found = host_conditions(str(tmp_path / "missing"), tmp_path / "nothing")
    assert (found.clocksource, found.governors, found.disk_free_bytes) == ("", (), None)
    assert host_conditions("").disk_free_bytes is None


# How long a control group was held back by its CPU limit, and what the hypervisor took.


@pytest.mark.parametrize(
    ("own", "statistics", "seconds"),
    [
        ("0::/bench\n", "usage_usec 9\nthrottled_usec 2500000\n", 2.5),
        ("1:cpu:/old\n0::/bench\n", "nr_throttled 1\nthrottled_usec 0\n", 0.0),
        ("0::/bench\n", "usage_usec 9\n", None),
        ("0::/elsewhere\n", "throttled_usec 1\n", None),
        ("1:cpu:/old\n", "throttled_usec 1\n", None),
        ("0::/bench/inner\n", "throttled_usec 2500000\n", 2.5),
        ("1:cpu,cpuacct:/deep/old\n0::/\n", "throttled_time 1500000000\n", None),
        ("1:cpu:/deep/old\n", "", 0.75),
        ("1:cpuacct:/deep\n", "", None),
    ],
)
def test_the_time_is_that_of_our_own_group_or_one_above_it(
    tmp_path: Path, own: str, statistics: str, seconds: float | None
) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "cpu.stat").write_text(statistics)
    if not statistics:
        (tmp_path / "cpu" / "deep").mkdir(parents=True)
        (tmp_path / "cpu" / "deep" / "cpu.stat").write_text("nr_throttled 5\nthrottled_time 750000000\n")
    (tmp_path / "cgroup").write_text(own)
    assert throttled_seconds(tmp_path / "cgroup", tmp_path) == seconds


def test_steal_is_a_share_of_all_time() -> None:
    before, after = totals(0, CpuTime(10.0, 100.0, 1.0)), totals(50, CpuTime(60.0, 200.0, 13.0))
    tick = host_tick(before, after, cores=2)
    assert tick is not None
    assert read("steal", tick.moved("", HOST)) == pytest.approx(12.0)


# Measuring a disk: with a clock of its own, on the test's own folder.


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_module, "READ_FILE_BYTES", facts_module.MIB)
    monkeypatch.setattr(facts_module, "LOG_BYTES", facts_module.MIB)
    monkeypatch.setattr(facts_module, "FREE_BYTES", 4 * facts_module.MIB)


class Steps:
    """A clock that advances by a millisecond with each reading."""

    def __init__(self) -> None:
        self.readings = 0

    def __call__(self) -> float:
        self.readings += 1
        return self.readings / 1000


@pytest.mark.usefixtures("small")
def test_flushes_are_counted_and_timed_and_nothing_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    found = measure_disk(str(folder), seconds=0.3, clock=Steps())
    assert found.flushes_per_second == pytest.approx(1000)
    assert found.flush_p50_us == pytest.approx(1000)
    assert found.flush_max_us == pytest.approx(1000)
    assert found.reads_per_second is None or found.reads_per_second > 0
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert not list(folder.iterdir())


@pytest.mark.usefixtures("small")
def test_a_folder_that_is_not_there_or_full_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RunError, match="cannot be read: No such file"):
        measure_disk(str(tmp_path / "none"))
    monkeypatch.setattr(facts_module, "FREE_BYTES", 2**60)
    with pytest.raises(RunError, match="too little space is free"):
        measure_disk(str(tmp_path))


# The server's part of where a run takes place: what is kept of it, and that a refusal is no end.


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("innodb_flush_log_at_trx_commit", True),
        ("sync_binlog", True),
        ("version_comment", True),
        ("binlog_format", True),
        ("innodb_data_home_dir", False),
        ("innodb_ft_cache_size", False),
        ("last_insert_id", False),
        ("slave_net_timeout", False),
    ],
)
def test_variables_that_matter_are_kept(name: str, kept: bool) -> None:
    assert is_recorded_variable(name) is kept


async def test_a_server_that_does_not_answer_leaves_a_gap() -> None:
    nobody = Target(socket="/nowhere/server.sock")
    found = await read_environment(nobody, examples.SERVER, SystemClock().now_ns)
    assert (found.variables, found.round_trip, found.location) == ({}, None, "local")
    assert "round trip" in found.gaps[0]
    assert found.host.cores > 0


async def test_a_disk_that_cannot_be_found_leaves_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_module, "disk_facts", lambda datadir: None)
    nobody = Target(socket="/nowhere/server.sock")
    found = await read_environment(nobody, examples.SERVER, SystemClock().now_ns)
    assert examples.SERVER.datadir
    assert (found.disk, examples.SERVER.datadir in found.gaps[-1]) == (None, True)


# Systems of containers and sandboxes, which lack files of /proc or fill them otherwise.


def not_told(*of: object) -> Never:
    raise NotImplementedError("couldn't find /proc/diskstats on this system")


def test_processor_time_that_goes_back_is_a_gap_with_a_reason(machine: FakeMachine) -> None:
    """lxcfs, after a change of the container's processors."""
    machine.pass_time(900.0, busy=100.0)
    sampling = sampler(machine)
    machine.pass_time(1.0, busy=1.0)
    assert read("cpu_total", sampled(sampling)) == 25.0
    machine.machine = CpuTime(1.0, 5.0)
    machine.clock.advance(1.0)
    assert sampling.sample() is None
    assert sampling.note == "the system's processor time went back"
    machine.pass_time(1.0, busy=2.0)
    assert read("cpu_total", sampled(sampling)) == 50.0
    assert sampling.note == ""


def test_a_system_that_tells_no_processor_time_tells_it_later(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(host_module, "cpu_time", not_told)
        sampling = sampler(machine)
        assert sampling.sample() is None
        assert "couldn't find /proc/diskstats" in sampling.note
    machine.pass_time(1.0, busy=2.0)
    assert sampling.sample() is None
    machine.pass_time(1.0, busy=2.0)
    assert read("cpu_total", sampled(sampling)) == 50.0


@pytest.mark.parametrize(
    ("name", "figure", "of_tick"),
    [
        ("disk_io_counters", "disk_read", "read_bytes"),
        ("net_io_counters", "net_sent", "sent_bytes"),
        ("swap_memory", "swap_used", "swap_used"),
        ("virtual_memory", "memory_used", "memory_used"),
    ],
)
def test_one_figure_that_is_missing_leaves_the_others(
    name: str, figure: str, of_tick: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(**how: object) -> Never:
        raise ValueError("not sure how to interpret line '   8       0 sda 0 0 0 0 46 0 977 34 0 2 0 0 0 0'")

    clock, machine = FakeClock(), [CpuTime(1.0, 2.0), CpuTime(2.0, 4.0), CpuTime(3.0, 6.0), CpuTime(4.0, 8.0)]
    monkeypatch.setattr(host_module, "cpu_time", lambda: machine.pop(0))
    with monkeypatch.context() as patch:
        patch.setattr(psutil, name, odd)
        sampling = HostSampler(None, list, clock)
        clock.advance(1.0)
        part = sampled(sampling)
    assert read("cpu_total", part) == 50.0
    assert read(figure, part) is None
    assert part.missing[HOST + of_tick].startswith(
        "this system does not tell: not sure how to interpret line"
    )
    for _ in range(2):
        clock.advance(1.0)
        part = sampled(sampling)
    assert read(figure, part) is not None
    assert HOST + of_tick not in part.missing


def test_warnings_of_psutil_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def warned() -> int:
        warnings.warn(
            "'sin' and 'sout' swap memory stats couldn't be determined", RuntimeWarning, stacklevel=1
        )
        return 1

    assert host_module.read_system(warned) == (1, "")


def test_a_process_that_proc_hides_is_named(
    info: ServerInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(pid: int, signal: int) -> None:
        raise PermissionError

    Path(info.pid_file).write_text(str(NOBODY))
    monkeypatch.setattr(os, "kill", refused)
    found = find_server_process(info)
    assert found.pid is None
    assert found.note == f"the process of its pid file ({NOBODY}) cannot be seen: /proc hides it (hidepid)"
