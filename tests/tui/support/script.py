"""A scripted run with fixed clock and seed: a ramp, more threads, a missed second, durability off.

The tests, the pictures and the measurement of the screen's cost all draw this one story.
"""

import math
import random
from collections.abc import Mapping
from typing import Any

import msgspec

from tests import examples
from tests.ticks import changed, host_tick, load_tick, server_tick
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.cluster import HostState, LoadHost
from tuibench.model.effect import AbTestPair, AbTestResult, CommitCost, Comparison, Effect, Verdict
from tuibench.model.event import Event, EventKind
from tuibench.model.hardware import Hardware
from tuibench.model.message import PROTOCOL_VERSION, Hello, RunState, SessionEnded, Status
from tuibench.model.plan import RunPlan
from tuibench.model.schedule import PlanPhase, PlanProgress, parse_schedule
from tuibench.model.server import Flavour, ServerInfo, Target
from tuibench.model.settings import COMMIT_ROLES, CostFigure, PresetState, SettingGroup, SettingState
from tuibench.model.tick import Latency, Sample, SlowTransaction, Tick, TimedStatement
from tuibench.report.effects import effect_text, with_sentence

START = 1_760_000_000.0
GIB = 1 << 30
FLUSH, SYNC = "innodb_flush_log_at_trx_commit", "sync_binlog"
MEANINGS = {
    FLUSH: {
        "1": "log flushed to disk at every commit: no commit is lost",
        "2": "log left to the OS at commit: about 1 s of commits lost if the host crashes",
        "0": "log flushed once a second: about 1 s of commits lost in any crash",
    },
    SYNC: {
        "1": "binlog flushed to disk at every commit: no event is lost",
        "100": "binlog flushed every 100 commits: up to 100 of its commits lost if the host crashes",
        "0": "binlog left to the OS: its latest events lost if the host crashes",
    },
}
PRESETS = (
    PresetState(
        name="durable",
        values={FLUSH: "1", SYNC: "1"},
        short_names={FLUSH: "flush_log"},
        risk="Every commit is on disk before the client gets the response: a crash loses nothing.",
    ),
    PresetState(
        name="relaxed",
        values={FLUSH: "2", SYNC: "100"},
        short_names={FLUSH: "flush_log"},
        risk="A crash of the host loses about the last second of commits, and up to 100 in the binary log.",
    ),
    PresetState(
        name="unsafe",
        values={FLUSH: "0", SYNC: "0"},
        short_names={FLUSH: "flush_log"},
        risk="Any crash of the server loses about the last second of commits; a crash of the host also "
        "loses the end of the binary log, and replicas then differ.",
    ),
)


PLAN = PlanProgress(
    stages=parse_schedule("16:24s,32:9s,64:2m"),
    phase=PlanPhase.RUNNING,
    stage=2,
    following="64 threads",
    due_seconds=33.0,
    left_seconds=41.0,
)
"""A plan in its second stage, as the session told it some time ago."""


def setting(name: str, value: str, original: str = "1", unavailable: str = "") -> SettingState:
    return SettingState(
        name=name,
        value=value,
        original=original,
        meaning=MEANINGS[name][value],
        at_risk=value != "1",
        choices=MEANINGS[name],
        risky=tuple(choice for choice in MEANINGS[name] if choice != "1"),
        group=SettingGroup.DURABILITY,
        roles=COMMIT_ROLES,
        cost=CostFigure.REDO_LOG if name == FLUSH else CostFigure.BINARY_LOG,
        short_name="flush_log" if name == FLUSH else "",
        unavailable=unavailable,
    )


def status(
    state: RunState = RunState.RUNNING,
    threads: int = 64,
    durability: tuple[str, str] = ("1", "1"),
    warnings: tuple[str, ...] = (),
    unavailable: str = "",
    weights: Mapping[str, float] | None = None,
    client_delay_ms: float = 0.0,
    plan: PlanProgress | None = None,
    hardware: Hardware | None = None,
) -> Status:
    return Status(
        state=state,
        threads=threads,
        weights=dict(weights or {}),
        client_delay_ms=client_delay_ms,
        plan=plan,
        hardware=hardware,
        workers=2,
        settings=(
            setting(FLUSH, durability[0], unavailable=unavailable),
            setting(SYNC, durability[1], unavailable=unavailable),
        ),
        presets=PRESETS,
        warnings=warnings,
        undo=("threads 32 → 64",),
    )


def own_changes(known: Status) -> Status:
    """The status of a session that has changed all settings in it."""
    ours = (msgspec.structs.replace(each, changed_by="us") for each in known.settings)
    return msgspec.structs.replace(known, settings=tuple(ours))


SERVER = ServerInfo(
    flavour=Flavour.MARIADB,
    version="10.11.19",
    version_text="10.11.19-MariaDB-log",
    where="socket /run/mysqld/mysqld.sock",
    identity="db1:3306:/var/lib/mysql/",
    datadir="/var/lib/mysql/",
    pid_file="/run/mysqld/mysqld.pid",
    socket="/run/mysqld/mysqld.sock",
    port=3306,
    is_local=True,
    uptime_seconds=11_000,
)
EFFECT = Effect(
    markers=(3,),
    change="preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0",
    at_seconds=66.2,
    window_seconds=12.0,
    settling_seconds=1.8,
    settled=True,
    comparisons=(
        Comparison(
            figure="tps",
            before=1560.0,
            after=2412.0,
            delta=852.0,
            low=780.0,
            high=930.0,
            percent=54.6,
            percent_low=49.2,
            percent_high=60.9,
            verdict=Verdict.HIGHER,
        ),
        Comparison(
            figure="p95_ms",
            before=58.4,
            after=26.9,
            delta=-31.5,
            low=-33.4,
            high=-29.7,
            percent=-53.9,
            percent_low=-57.2,
            percent_high=-50.8,
            verdict=Verdict.LOWER,
        ),
        Comparison(
            figure="fsyncs_per_transaction",
            before=1.04,
            after=0.02,
            delta=-1.02,
            low=-1.03,
            high=-1.01,
            percent=-98.1,
            percent_low=-98.4,
            percent_high=-97.6,
            verdict=Verdict.LOWER,
        ),
    ),
)
AB_TEST = with_sentence(
    AbTestResult(
        subject=SYNC,
        a="1",
        b="0",
        cycles=60,
        window_seconds=5.0,
        pairs=tuple(
            AbTestPair(cycle=cycle, order="AB", a={"tps": 1560.0}, b={"tps": 2412.0}, settling_seconds=1.0)
            for cycle in range(4)
        ),
        left_out=0,
        comparisons=EFFECT.comparisons[:2],
        sentence="",
        verdict=Verdict.HIGHER,
        is_sequential=True,
        by_hand=True,
    )
)
COSTS = (
    CommitCost(setting=FLUSH, value="1", seconds=66, transactions=90_000, log_fsyncs=1.04, log_bytes=6_240.0),
    CommitCost(setting=FLUSH, value="0", seconds=17, transactions=38_000, log_fsyncs=0.02, log_bytes=6_100.0),
    CommitCost(
        setting=SYNC, value="1", seconds=66, transactions=90_000, binlog_syncs=0.97, binlog_bytes=2_900.0
    ),
    CommitCost(setting=SYNC, value="0", seconds=17, transactions=38_000, binlog_syncs=0.0),
)
EVENTS = (
    Event(at=START, elapsed_seconds=0.0, kind=EventKind.START, text="load started with 16 threads"),
    Event(at=START + 24, elapsed_seconds=24.3, kind=EventKind.THREADS, text="threads 16 → 32", marker=1),
    Event(at=START + 46, elapsed_seconds=46.4, kind=EventKind.THREADS, text="threads 32 → 64", marker=2),
    Event(
        at=START + 58,
        elapsed_seconds=58.0,
        kind=EventKind.ERRORS,
        text="12 transactions failed with 1213 (deadlock) and were retried",
    ),
    Event(
        at=START + 66,
        elapsed_seconds=66.2,
        kind=EventKind.SETTING,
        text="preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0",
        marker=3,
    ),
    Event(
        at=START + 80,
        elapsed_seconds=80.0,
        kind=EventKind.EFFECT,
        text=effect_text(EFFECT),
        marker=3,
        effect=EFFECT,
    ),
)
LENGTH = 84
MISSED = frozenset({37, 38})
"""Ticks that never came."""


def threads_at(elapsed: float) -> int:
    return 16 if elapsed < 24.3 else 32 if elapsed < 46.4 else 64


def latency(p95: float, count: int = 2000) -> Latency:
    return Latency(
        count=count,
        min=p95 * 0.11,
        avg=p95 * 0.48,
        p50=p95 * 0.43,
        p95=p95,
        p99=p95 * 1.62,
        p999=p95 * 2.3,
        max=p95 * 2.9,
    )


def slowest(p95: float) -> tuple[SlowTransaction, ...]:
    statements = (
        TimedStatement("begin", 1, 0.1, 0.1),
        TimedStatement("point_select", 10, p95 / 4, p95 / 10),
        TimedStatement("index_update", 1, p95, p95),
        TimedStatement("commit", 1, 1.2 * p95, 1.2 * p95),
    )
    took = sum(each.ms for each in statements)
    return (
        SlowTransaction(
            transaction="oltp_read_write",
            response_ms=took,
            service_ms=took,
            statements=statements,
            at_seconds=round(p95),
        ),
    )


def load_part(tps: float, p95: float | None, threads: int, **changes: Any) -> Tick:
    figures: dict[str, Any] = {
        "threads": threads,
        "connections": threads,
        "transactions_per_second": tps,
        "queries_per_second": tps * 20,
        "reads_per_second": tps * 14,
        "writes_per_second": tps * 4,
        "others_per_second": tps * 2,
        "latency": latency(p95) if p95 else None,
        "statements": {
            "select by key": latency(p95 * 0.05, 20_000),
            "range select": latency(p95 * 0.09, 8_000),
            "update": latency(p95 * 0.21, 6_000),
            "begin": latency(p95 * 0.02, 2_000),
            "commit": latency(p95 * 0.4, 2_000),
        }
        if p95
        else {},
        "worker_cpu": 0.52,
        "lag_p99_ms": 0.4,
    }
    return load_tick(**(figures | changes))


def server_part(elapsed: int, tps: float, threads: int, fsyncs: float, **changes: Any) -> Tick:
    grown = done_by(elapsed) - done_by(elapsed - 1)
    figures: dict[str, Any] = {
        "uptime_seconds": 11_000 + elapsed,
        "threads_running": max(1, threads - 3),
        "threads_connected": threads + 2,
        "max_connections": 2000,
        "open_tables": 214,
        "table_open_cache": 2000,
        "completed": tps,
        "growth": {name: rate * grown for name, (_, rate) in COUNTERS.items()}
        | {
            "Questions": tps * 20 + 4,
            "Slow_queries": 0,
            "Com_commit": tps,
            "Innodb_os_log_fsyncs": tps * fsyncs,
            "Innodb_buffer_pool_read_requests": 100_000,
            "Innodb_buffer_pool_reads": 20,
            "Innodb_row_lock_waits": 3.1,
        },
        "counters": {
            name: start + round(rate * done_by(elapsed)) for name, (start, rate) in COUNTERS.items()
        },
        "gauges": GAUGES | {"Innodb_checkpoint_age": 21_000_000 + 311_000 * elapsed},
    }
    return server_tick(**(figures | changes))


def done_by(elapsed: int) -> float:
    """About how many transactions the story has had."""
    return 1_510.0 * min(elapsed, 66) + 2_412.0 * max(elapsed - 66, 0)


COUNTERS = {
    "Questions": (4_120_480, 20.0),
    "Com_select": (2_900_000, 14.0),
    "Com_insert": (210_000, 1.0),
    "Com_update": (420_000, 2.0),
    "Com_delete": (210_000, 1.0),
    "Com_commit": (206_000, 1.0),
    "Com_rollback": (12, 0.0),
    "Slow_queries": (12, 0.0),
    "Threads_created": (66, 0.0),
    "Aborted_clients": (3, 0.0),
    "Aborted_connects": (1, 0.0),
    "Table_open_cache_hits": (8_100_000, 40.0),
    "Table_open_cache_misses": (310, 0.0),
    "Table_open_cache_overflows": (0, 0.0),
    "Created_tmp_tables": (206_000, 1.0),
    "Created_tmp_disk_tables": (0, 0.0),
    "Binlog_bytes_written": (171_000_000, 823.0),
    "Binlog_commits": (206_000, 1.0),
    "Binlog_group_commits": (88_000, 0.3),
    "Binlog_cache_disk_use": (0, 0.0),
    "Innodb_buffer_pool_reads": (41_000, 0.008),
    "Innodb_buffer_pool_pages_flushed": (91_000, 0.4),
    "Innodb_lsn_current": (900_000_000, 6_200.0),
    "Innodb_log_waits": (0, 0.0),
    "Innodb_data_fsyncs": (210_000, 1.04),
    "Innodb_row_lock_waits": (900, 0.002),
    "Innodb_deadlocks": (12, 0.0),
    "Rows_read": (98_000_000, 410.0),
    "Handler_write": (640_000, 3.0),
    "Handler_update": (420_000, 2.0),
    "Handler_delete": (210_000, 1.0),
}
"""Where each begins, and how much it grows with a transaction."""

GAUGES = {
    "Threads_cached": 0,
    "Innodb_page_size": 16_384,
    "Innodb_buffer_pool_pages_total": 65_536,
    "Innodb_buffer_pool_pages_free": 21_300,
    "Innodb_buffer_pool_bytes_dirty": 48_000_000,
    "Innodb_checkpoint_max_age": 107_998_618,
    "Innodb_history_list_length": 214,
    "Innodb_row_lock_current_waits": 2,
}


HOST: dict[str, Any] = {
    "cores": 8,
    "cpu_total": 93.0,
    "cpu_server": 71.0,
    "cpu_tuibench": 18.0,
    "memory_used_bytes": int(9.1 * GIB),
    "memory_total_bytes": 24 * GIB,
    "disk_read_bytes_per_second": 312_000.0,
    "disk_write_bytes_per_second": 12_400_000.0,
    "net_received_bytes_per_second": 41_000.0,
    "net_sent_bytes_per_second": 58_000.0,
    "memory_server_bytes": int(2.3 * GIB),
    "cpu_by_core": (98.0, 96.5, 94.0, 93.1, 97.2, 91.0, 88.4, 86.0),
    "swap_used_bytes": 0,
    "swap_total_bytes": 2 * GIB,
    "disk_read_ms": 0.21,
    "disk_write_ms": 1.34,
}


def host_part(**changes: Any) -> Tick:
    return host_tick(**(HOST | changes))


def samples(length: int = LENGTH) -> tuple[Sample, ...]:
    """The story's samples, one a second from second 1; some ticks are missing."""
    noise = random.Random(7)
    return tuple(_sample(n, noise.gauss(0, 1)) for n in range(1, length + 1) if n not in MISSED)


def _sample(number: int, noise: float) -> Sample:
    threads = threads_at(number - 1)
    unsafe = number > 66
    base = {16: 1180.0, 32: 1490.0, 64: 1560.0}[threads] * (1.55 if unsafe else 1.0)
    tps = base * (1 - 0.55 * math.exp(-number / 3)) * (1 + 0.03 * noise)
    p95 = {16: 17.4, 32: 29.1, 64: 57.0}[threads] * (0.46 if unsafe else 1.0) * (1 + 0.06 * abs(noise))
    made = examples.sample(
        number,
        load=load_part(tps, p95, threads),
        server=server_part(number, tps, threads, 0.02 if unsafe else 1.04),
        host=host_part(),
        slowest=slowest(p95),
    )
    accounted = msgspec.structs.replace(
        made.tick, sums=made.tick.sums | account(threads, tps, unsafe=unsafe, noise=noise)
    )
    return msgspec.structs.replace(made, at=START + number, late_ms=0.2, tick=accounted)


def account(threads: int, tps: float, *, unsafe: bool, noise: float) -> dict[str, float]:
    """The account of a second: on more threads, the waits grow; unsafe, nobody waits for the logs."""
    shares = {
        WaitClass.CPU: 5.2,
        WaitClass.RUN_QUEUE: threads / 8,
        WaitClass.ROW_LOCK: threads / 14 * (1.2 + abs(noise)),
        WaitClass.COMMIT: 0.05 if unsafe else threads / 2.8,
        WaitClass.BINARY_LOG: 0.0 if unsafe else threads / 7,
        WaitClass.PAGE_READ: 0.4,
        WaitClass.MUTEX: threads / 30,
        WaitClass.ON_THE_WAY: threads / 20,
    }
    us = {wait.key: round(1e6 * shares.get(wait, 0.0), 1) for wait in WaitClass}
    us[WaitClass.CLIENT.key] = round(max(0.0, 1e6 * threads - sum(us.values())), 1)
    whole = {"seconds": 1.0, "samples": 9.0, "completed": tps, "connections_us": 1e6 * threads}
    return {TIME + name: value for name, value in whole.items()} | us


def afar(told: Hello) -> Hello:
    """The same with a server whose host is read over ssh; the client has a host of its own."""
    far = host_part(
        origin="ssh:ann@db1",
        cpu_tuibench=0.0,
        cpu_steal=1.2,
        cpu_limit=6.0,
        memory_limit_bytes=16 * GIB,
    )
    client = host_part(cores=4, cpu_total=31.0, cpu_server=None, cpu_tuibench=24.0, cpu_by_core=())
    return msgspec.structs.replace(
        told,
        server=msgspec.structs.replace(told.server, is_local=False, where="db1:3306"),
        samples=tuple(changed(each, host=far, client_host=client) for each in told.samples),
    )


def hello(
    length: int = LENGTH,
    state: Status | None = None,
    events: tuple[Event, ...] = EVENTS,
    server: ServerInfo = SERVER,
    seconds: float | None = None,
) -> Hello:
    """What a viewer gets that joins the story after `length` seconds."""
    durability = ("0", "0") if length > 66 else ("1", "1")
    return Hello(
        protocol=PROTOCOL_VERSION,
        version="1.2.3",
        session="a1b2c3",
        pid=4711,
        target=Target(),
        run_directory="/runs/1",
        plan=RunPlan(profile="oltp_read_write", threads=16, seconds=seconds),
        data_set="4 × 100,000 rows",
        server=server,
        status=state or status(threads=threads_at(length), durability=durability),
        samples=samples(length),
        events=tuple(event for event in events if event.elapsed_seconds <= length),
        costs=COSTS if length else (),
    )


def without(sample: Sample, *parts: str) -> Sample:
    """The sample with some parts missing."""
    return changed(sample, **dict.fromkeys(parts))


def ended() -> SessionEnded:
    """An orderly end."""
    summary = examples.summary(session="a1b2c3", threads=64, seconds=84.0, outcome="stopped")
    return SessionEnded(summary=summary, text="SQL statistics:", run_directory="/runs/1")


def hello_from_hosts(length: int = LENGTH) -> Hello:
    """The story as three hosts drive it: one is lost, one is busy with other programs."""
    told = hello(length)
    near = LoadHost(
        name="load1",
        connections=32,
        transactions_per_second=741.3,
        p95_ms=28.9,
        workers=8,
        worker_cpu=0.42,
        lag_p99_ms=0.21,
        cores=8,
        cpu_total=61.0,
        cpu_others=2.0,
        cpu_steal=0.0,
        clock_offset_ms=-1.8,
        clock_error_ms=0.3,
        round_trip_ms=0.61,
    )
    busy = msgspec.structs.replace(
        near,
        name="load2",
        cpu_total=97.0,
        cpu_others=38.0,
        worker_cpu=0.88,
        lag_p99_ms=2.9,
        clock_offset_ms=12.4,
    )
    hosts = (near, busy, LoadHost(name="load3", state=HostState.LOST, cores=8))
    samples = tuple(msgspec.structs.replace(sample, hosts=hosts) for sample in told.samples)
    return msgspec.structs.replace(told, samples=samples)
