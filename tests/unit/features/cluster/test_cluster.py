"""Several hosts: connecting, carriers, packing, merging, clocks."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from tests.integration.support.processes import gone, until
from tests.unit.features.cluster.played import HELLO, PlayedHost, playing
from tests.unit.load.test_messages import REPORT
from tests.virtual import VirtualClock, in_no_time
from tuibench.base.clock import NS_PER_SECOND, SystemClock, listener
from tuibench.base.errors import RunError, TuibenchError, UsageError
from tuibench.features.cluster.agent import agent_hello, is_same_machine
from tuibench.features.cluster.carrier import (
    CommandCarrier,
    HostUnreachableError,
    Wire,
    carriers_of,
    exec_carrier,
    ssh_carrier,
)
from tuibench.features.cluster.fleet import Cluster
from tuibench.features.cluster.host import (
    WINDOW,
    ClockOffset,
    CommandTiming,
    HostLink,
    check_files,
    local_endpoint,
)
from tuibench.features.cluster.messages import (
    MAGIC,
    PROTOCOL,
    PackedHistogram,
    ReportMerger,
    pack,
    sum_by_name,
)
from tuibench.load.messages import CompletionGaps, Counters, FairnessStats, Gap, WorkerReport
from tuibench.model.cluster import ClusterPlan
from tuibench.model.findings import ErrorMessage
from tuibench.model.server import Endpoint, Target
from tuibench.model.tick import Histogram, SlowTransaction, Tick, merge_histograms
from tuibench.session.account import Account
from tuibench.session.load_ticks import LoadTicks

# Commands that carry an agent's bytes: their words, their environment, what they say when they fail.


def words(carrier: object) -> tuple[str, ...]:
    assert isinstance(carrier, CommandCarrier)
    return carrier._words


@pytest.mark.parametrize(
    ("host", "end"),
    [
        ("a", ("--", "a")),
        ("ann@a.example", ("--", "ann@a.example")),
        ("a:2222", ("-p", "2222", "--", "a")),
        ("[::1]:22", ("-p", "22", "--", "::1")),
        ("fe80::1", ("--", "fe80::1")),
    ],
)
def test_ssh_asks_no_question_and_takes_a_port(host: str, end: tuple[str, ...]) -> None:
    given = words(ssh_carrier(host, "/opt/tb/bin/tuibench"))
    assert given[0] == "ssh"
    assert "BatchMode=yes" in given
    assert given[-len(end) - 1 :] == (*end, "/opt/tb/bin/tuibench agent")


def test_each_place_has_its_carrier() -> None:
    plan = ClusterPlan(places=("ssh:a", "exec:docker exec -i x tuibench agent"), program="tb")
    assert [words(carrier)[-1] for carrier in carriers_of(plan)] == ["tb agent", "agent"]


async def test_the_passwords_of_our_environment_stay_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MYSQL_PWD", "secret")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/agent")
    seen = tmp_path / "environment"
    script = f"import os; open({str(seen)!r}, 'w').write(repr(dict(os.environ)))"
    wire = await CommandCarrier("a", (sys.executable, "-c", script), "").open()
    await wire.reader.read()
    await wire.close()
    assert "secret" not in seen.read_text()
    assert "/tmp/agent" in seen.read_text()


async def connect(command: str) -> None:
    plan = ClusterPlan(places=("exec:x",))
    await HostLink.connect(exec_carrier(command, "east"), plan, CommandTiming(SystemClock()))


async def test_a_failed_command_is_reported_with_its_last_lines() -> None:
    with pytest.raises(
        RunError, match=r"host east runs no agent: Permission denied \(publickey\)\..*try: sh -c"
    ):
        await connect(
            "sh -c 'echo hello; echo connecting >&2; echo \"Permission denied (publickey).\" >&2; exit 255'"
        )


async def test_a_failed_command_without_output_is_reported_with_its_exit_code() -> None:
    with pytest.raises(RunError, match="its command ended with exit code 7"):
        await connect("sh -c 'exit 7'")


async def test_a_command_that_is_not_there() -> None:
    with pytest.raises(RunError, match="/nowhere/kubectl cannot be started: No such file"):
        await connect("/nowhere/kubectl exec")


async def test_a_command_that_sends_no_frames_is_refused() -> None:
    script = "printf '\\ntuibench agent speaks\\nGarbage and more garbage'"
    with pytest.raises(RunError, match="host east runs no agent"):
        await connect(f'sh -c "{script}"')


async def test_an_agent_ends_with_its_stdin_and_leaves_no_process() -> None:
    command = f"{sys.executable} -m tuibench agent"
    host = await HostLink.connect(
        exec_carrier(command, "east"),
        ClusterPlan(places=("exec:x",), lease_seconds=60.0),
        CommandTiming(SystemClock()),
    )
    assert host.hello.cores >= 1
    assert host.offset.is_known
    process = host._wire.process  # type: ignore[attr-defined]
    await host.end()
    assert process.returncode == 0


HANGS = "import time; time.sleep(600)"


@pytest.mark.parametrize("leaves", ["", "os.setsid(); "])
async def test_a_command_that_hangs_at_its_end_is_killed_with_what_it_started(leaves: str) -> None:
    """A process that has left its group stays, and is not waited for."""
    child = f"import os; {leaves}print(os.getpid(), flush=True); {HANGS}"
    command = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}]); {HANGS}"
    wire = await CommandCarrier("east", (sys.executable, "-c", command), "").open()
    pid = int(await wire.reader.readline())
    told: list[str] = []
    token = listener.set(told.append)
    try:
        async with asyncio.timeout(60):
            await wire.close()
            await wire.close()
    finally:
        listener.reset(token)
    assert told == ["east has not ended within 2 s of its load, and is killed"]
    if leaves:
        os.kill(pid, signal.SIGKILL)
    assert until(lambda: gone(pid))


async def test_a_failed_command_whose_child_goes_on_is_an_error(tmp_path: Path) -> None:
    """No cancellation, which would end the program without a word."""
    pid_file = tmp_path / "pid"
    with pytest.raises(RunError, match="its command ended with exit code 1"):
        await connect(f"sh -c 'setsid sleep 600 & echo $! > {pid_file}; exit 1'")
    os.kill(int(pid_file.read_text()), signal.SIGKILL)


async def test_an_agent_by_hand_says_what_it_is_for() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tuibench",
        "agent",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, talk = await process.communicate()
    assert process.returncode == 2
    assert b"a session starts it: tuibench run PROFILE --cluster ssh:host1,host2" in talk


# Packed histograms and their sums are exact, however many and however wide.


latencies = st.lists(st.integers(0, 2**40), max_size=60)
shapes = st.lists(latencies.map(Histogram.of), max_size=6)


def total(packed: Iterable[PackedHistogram]) -> Histogram:
    return sum_by_name({"response": each} for each in packed).get("response", Histogram())


@given(shapes)
def test_the_sum_is_that_of_the_histograms_themselves(histograms: list[Histogram]) -> None:
    carried = [
        msgspec.msgpack.decode(msgspec.msgpack.encode(pack(each)), type=PackedHistogram)
        for each in histograms
    ]
    assert total(carried) == merge_histograms(histograms)


@given(shapes)
def test_sums_beyond_a_lane_are_exact_too(histograms: list[Histogram]) -> None:
    """Counts near the limit: lanes are emptied before one could overflow."""
    scaled = [
        replace(
            each,
            counts={bucket: times * 2**25 for bucket, times in each.counts.items()},
            count=each.count * 2**25,
        )
        for each in histograms
    ]
    assert total(map(pack, scaled)) == merge_histograms(scaled)


def test_a_report_is_whole_again_when_its_histograms_are_added() -> None:
    packed = {name: pack(each) for name, each in REPORT.hists.items()}
    assert sum_by_name([packed]) == REPORT.hists
    twice = sum_by_name([packed, packed])
    assert twice["stmt.point_select"] == Histogram.of([90, 90])
    assert twice["trx.new_order"] == Histogram.of([90, 90, 110, 110])


def test_an_empty_histogram_adds_nothing() -> None:
    assert total([pack(Histogram())]) == Histogram()


# Hosts that cannot take part are refused before the load begins, with name, reason and remedy.


ORDER = ClusterPlan(places=("ssh:east",))


def connecting(
    prepare: Callable[[PlayedHost], None], check: Callable[[Cluster], None] = lambda _: None
) -> None:
    """Connects to a good host and to one that was prepared."""

    async def scenario(clock: VirtualClock) -> None:
        hosts = [PlayedHost("west", clock), PlayedHost("east", clock)]
        prepare(hosts[1])
        cluster = await Cluster.connect(ORDER, hosts, clock)
        try:
            check(cluster)
        finally:
            await cluster.close()

    in_no_time(scenario)


def test_another_protocol_is_refused_with_both_versions() -> None:
    def prepare(host: PlayedHost) -> None:
        host.hello = replace(HELLO, protocol=PROTOCOL + 1, version="9.9")

    with pytest.raises(
        UsageError, match=rf"host east runs tuibench 9.9, .* protocol {PROTOCOL + 1}; .* same version"
    ):
        connecting(prepare)


def test_another_version_is_a_warning() -> None:
    def check(cluster: Cluster) -> None:
        assert cluster.version_warnings("1") == (
            "host east has tuibench 2, this host has 1: figures of different versions may differ",
        )

    connecting(lambda host: setattr(host, "hello", replace(HELLO, version="2")), check)


def test_a_host_that_cannot_be_reached_ends_the_connections_to_the_others() -> None:
    with pytest.raises(RunError, match="host east runs no agent"):
        connecting(lambda host: setattr(host, "is_reachable", False))


def test_a_login_that_greets_for_ever_is_given_up() -> None:
    with pytest.raises(RunError, match=r"host east runs no agent: .*look after it"):
        connecting(lambda host: setattr(host, "greeting", b"Password: "))


def test_what_a_login_shell_prints_first_is_skipped() -> None:
    connecting(lambda host: setattr(host, "greeting", b"Last login: today\n\x00" + MAGIC))


def test_too_few_descriptors_are_refused_with_the_hosts_share() -> None:
    def prepare(host: PlayedHost) -> None:
        host.hello = replace(HELLO, descriptors=100, cores=1)

    def check(cluster: Cluster) -> None:
        cluster.check_descriptors(72, 1, is_native=False)
        cluster.check_descriptors(200, 3, is_native=False)
        cluster.check_descriptors(200, None, is_native=True)
        for threads, is_native in ((74, False), (38, True)):
            with pytest.raises(UsageError, match=r"host east may open 100 files .* share of .* --workers"):
                cluster.check_descriptors(threads, 1, is_native=is_native)

    connecting(prepare, check)


@pytest.mark.parametrize(
    ("target", "place"),
    [
        (Target(host="localhost"), "localhost:3306"),
        (Target(host="127.0.0.2", port=3307), "127.0.0.2:3307"),
        (Target(host="db", socket="/run/mysqld.sock"), "socket /run/mysqld.sock"),
        (Target(host="db", further=(Endpoint(host="::1"),)), "::1:3306"),
        (Target(host="db"), ""),
    ],
)
def test_an_address_of_this_machine_is_refused_for_hosts_elsewhere(target: Target, place: str) -> None:
    assert local_endpoint(target) == place

    def check(cluster: Cluster) -> None:
        if not place:
            cluster.check_target(target)
            return
        with pytest.raises(UsageError, match=r"would not find the server there .*--host=ADDRESS"):
            cluster.check_target(target)

    connecting(lambda host: None, check)


def test_it_is_taken_for_hosts_on_this_machine_and_in_its_network() -> None:
    here = agent_hello("1")
    assert is_same_machine(here) == bool(here.namespaces)
    assert not is_same_machine(replace(here, namespaces=(*here.namespaces[:1], "net:[1]", "mnt:[1]")))
    assert not is_same_machine(replace(here, namespaces=()))


def test_certificates_that_are_not_on_the_host_are_named() -> None:
    check_files(Target())
    with pytest.raises(UsageError, match=r"--ssl-ca: there is no file /nowhere/ca\.pem"):
        check_files(Target(ssl_ca="/nowhere/ca.pem"))


def test_a_host_without_a_certificate_ends_the_run_with_its_name() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = [PlayedHost("east", clock)]
        target = Target(host="db.example", ssl_key="/nowhere/key.pem")
        with pytest.raises(TuibenchError, match=r"host east: --ssl-key: there is no file /nowhere/key"):
            async with playing(clock, hosts, target=target):
                pytest.fail("it began")

    in_no_time(scenario)


def test_two_hosts_of_one_name_are_numbered() -> None:
    async def scenario(clock: VirtualClock) -> None:
        hosts = [PlayedHost("", clock), PlayedHost("", clock)]
        cluster = await Cluster.connect(ORDER, hosts, clock)
        assert [host.name for host in cluster.hosts] == ["host machine", "host machine (2)"]
        await cluster.close()

    in_no_time(scenario)


@pytest.mark.parametrize(
    ("wanted", "joined"), [(None, ["west", "spare"]), (2, ["west", "spare"]), (1, ["west"])]
)
def test_a_worker_that_hangs_is_left_out_where_others_are_enough(
    wanted: int | None, joined: list[str]
) -> None:
    async def scenario(clock: VirtualClock) -> None:
        cluster = await Cluster.connect(replace(ORDER, hosts=wanted), found_hosts(clock, "hung"), clock)
        assert [host.label for host in cluster.hosts] == joined
        assert cluster.warnings == (("a host is left out: hung hangs",) if wanted != 1 else ())
        await cluster.close()

    in_no_time(scenario)


@pytest.mark.parametrize(("wanted", "hung"), [(3, ("hung",)), (None, ("west", "hung", "spare"))])
def test_a_worker_that_hangs_is_an_error_where_it_is_needed(
    wanted: int | None, hung: tuple[str, ...]
) -> None:
    async def scenario(clock: VirtualClock) -> None:
        with pytest.raises(HostUnreachableError, match=f"{hung[0]} hangs"):
            await Cluster.connect(replace(ORDER, hosts=wanted), found_hosts(clock, *hung), clock)

    in_no_time(scenario)


class FoundHost(PlayedHost):
    """A host that a scheduler lists."""

    is_permanent = False
    hangs = False

    async def open(self) -> Wire:
        if self.hangs:
            raise HostUnreachableError(f"{self.name} hangs")
        return await super().open()


def found_hosts(clock: VirtualClock, *hung: str) -> list[FoundHost]:
    hosts = [FoundHost(name, clock) for name in ("west", "hung", "spare")]
    for host in hosts:
        host.hangs = host.name in hung
    return hosts


# Reports of a host's workers as one: nothing is lost, nothing is rounded.


merging_latencies = st.lists(st.integers(1, 10**7), max_size=20)


@st.composite
def rounds(draw: st.DrawFn) -> list[list[WorkerReport]]:
    """Rounds of some workers, in which some are silent. Counters grow."""
    workers, done = draw(st.integers(1, 4)), [0] * 4
    played = []
    for _ in range(draw(st.integers(1, 4))):
        reports = []
        for worker in range(workers):
            values = draw(merging_latencies)
            done[worker] += len(values)
            if not draw(st.booleans()):
                done[worker] -= len(values)
                continue
            reports.append(
                replace(
                    REPORT,
                    worker=worker,
                    counters=Counters(
                        scheduled=done[worker], completed=done[worker], errors={1213: done[worker]}
                    ),
                    hists={"response": Histogram.of(values), "stmt.select": Histogram.of(values)},
                    failure=ErrorMessage(),
                )
            )
        played.append(reports)
    return played


@given(rounds())
def test_the_totals_are_those_of_the_workers_themselves(played: list[list[WorkerReport]]) -> None:
    merger, apart, merged = ReportMerger(7, 0), LoadTicks(), LoadTicks()
    for number, reports in enumerate(played, 1):
        apart.add(reports)
        one = merger.merge(reports, number * NS_PER_SECOND)
        assert (one.worker, one.seconds) == (7, 1.0)
        merged.add([one])
    sums = []
    for reported in (apart, merged):
        account = Account()
        account.add(reported.take() or Tick())
        sums.append(account.total())
    theirs, ours = sums
    for name in ("scheduled", "completed", "error.1213"):
        assert ours.sums.get(name, 0) == pytest.approx(theirs.sums.get(name, 0))
    assert ours.hists == theirs.hists


def test_the_busiest_worker_is_the_hosts() -> None:
    busy = replace(REPORT, worker=1, seconds=2.0, cpu_seconds=1.8, core_seconds=None, lag_p99_ms=3.0)
    idle = replace(REPORT, worker=2, seconds=2.0, cpu_seconds=0.2, core_seconds=0.1, lag_p99_ms=1.0)
    one = ReportMerger(0, 0).merge([busy, idle], 2 * NS_PER_SECOND)
    assert one.core_seconds == 1.8
    assert (one.cpu_seconds, one.lag_p99_ms) == (2.0, 3.0)


def test_the_first_failure_and_refusal_are_reported() -> None:
    merged = ReportMerger(0, 0).merge(
        [replace(REPORT, worker=1, failure=ErrorMessage()), REPORT], NS_PER_SECOND
    )
    assert (merged.failure.message, merged.failure.hint, merged.failure.exit_code) == ("no", "do this", 3)


def test_every_field_of_a_report_is_merged_and_packed() -> None:
    """A new field of WorkerReport gets a value here, and a place in the merger and the packing."""
    slow = SlowTransaction(transaction="new_order", response_ms=2.0, service_ms=1.0, statements=())
    whole = replace(
        REPORT,
        seconds=1.0,
        core_seconds=0.25,
        last_refusal="refused",
        idle_connections=3,
        idle_refusal="too many",
        hists=REPORT.hists | {"login": Histogram.of([500]), "wait": Histogram.of([7])},
        slowest=(slow,),
        gaps=CompletionGaps(NS_PER_SECOND, (Gap(5, NS_PER_SECOND - 7, 9),)),
        fairness_since=FairnessStats.of([(2.0, 0.1)]),
    )
    defaults = {field.name: field.default for field in fields(WorkerReport)}
    empty: tuple[object, ...] = (0, (), "", {}, Histogram())
    unset = [name for name, default in defaults.items() if getattr(whole, name) in (default, *empty)]
    assert unset == ["commits"], "loads of several hosts keep no ledger"
    merged = ReportMerger(whole.worker, 0).merge([whole], NS_PER_SECOND)
    packed = {name: pack(each) for name, each in merged.hists.items()}
    assert replace(merged, hists=sum_by_name([packed])) == whole


# Offsets by round trips: the error is at most half of the shortest.


MS = 1_000_000


@given(
    st.integers(-(10**15), 10**15),
    st.lists(st.tuples(st.integers(0, 200 * MS), st.integers(0, 200 * MS)), min_size=1, max_size=WINDOW),
)
def test_the_error_is_at_most_half_of_the_shortest_round_trip(
    ahead_ns: int, trips: list[tuple[int, int]]
) -> None:
    clock, now_ns = ClockOffset(), 0
    for there_ns, back_ns in trips:
        received_ns = now_ns + there_ns + back_ns
        host_ns = now_ns + there_ns + ahead_ns
        clock.add(now_ns, received_ns, host_ns, received_ns / 1e9, host_ns / 1e9)
        now_ns = received_ns + 500 * MS
    shortest_ns = min(there + back for there, back in trips)
    assert abs(clock.offset_ns - ahead_ns) <= shortest_ns / 2 + 1
    assert clock.best.round_trip_ns == shortest_ns


def test_the_round_trip_of_lately_is_the_median_of_the_last_ones() -> None:
    clock = ClockOffset()
    assert (clock.offset_ns, clock.recent_round_trip_ns) == (0, 0)
    for round_trip_ns in (1, *[50] * 8, 90):
        clock.add(0, round_trip_ns, 0, 0.0, 0.0)
    assert clock.recent_round_trip_ns == 50
