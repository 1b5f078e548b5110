"""What holds the throughput back: a table of rules, from what a step showed to a verdict with its evidence.

The first rule that holds gives the verdict. Before the server comes the client: what it could not ask of the
server says nothing of the server. Before both come those who take the host from them. Where nothing fits,
that is said, and what was looked at.
"""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.diagnosis.indicators import (
    COMMIT_FSYNCS,
    COMMIT_SHARE,
    DISK_READS,
    DOMINANT_SHARE,
    IDLE_PERCENT,
    TABLE_MISSES_PERCENT,
    is_delayed_by_host,
    is_dominant_share,
    is_host_saturated,
)
from tuibench.diagnosis.probe_text import HOST_CPU_TAKEN
from tuibench.model.probe import Bottleneck, ProbeStep, StepEvidence
from tuibench.units import count, decimal, percent

MOST, LIMITED_SHARE = 0.5, 0.5
IDLE_FSYNCS, TABLES_OPEN, LOG_WAITS = 0.2, 0.95, 1.0

CLIENT_LIMITED, CONNECTIONS, UNKNOWN = "client-limited", "connections", "not found"


class ProbeRule(NamedTuple):
    """`holds` looks at the evidence and the level in threads; `shown` are the figures that speak for it."""

    name: str
    holds: Callable[[StepEvidence, float], bool]
    verdict: str
    shown: tuple[str, ...]
    advice: str


SHOWN: dict[str, Callable[[StepEvidence], str]] = {
    "worker": lambda e: (
        f"busiest worker {percent(100 * e.worker_cpu)} of a core, its loop up to "
        f"{decimal(e.lag_ms, 1)} ms late, in {percent(100 * e.limited_share)} of the ticks too much"
    ),
    "late": lambda e: (
        f"the client waited for a processor, too: its loop ran up to {decimal(e.lag_ms, 1)} ms late, "
        "which the latencies include"
        if e.limited_share >= LIMITED_SHARE
        else ""
    ),
    "connections": lambda e: f"{count(e.connections)} connections are open",
    "cpu": lambda e: (
        f"host CPU {percent(e.cpu_total)}: server {percent(e.cpu_server)}, tuibench "
        f"{percent(e.cpu_tuibench)}, others {percent(e.cpu_rest)}"
        if e.cpu_total is not None
        else ""
    ),
    "running": lambda e: (
        f"{decimal(e.threads_running, 1)} threads running" if e.threads_running is not None else ""
    ),
    "locks": lambda e: (
        f"{decimal(e.waiting_for_locks, 1)} threads wait for a row lock at a time"
        if e.waiting_for_locks is not None
        else ""
    ),
    "commit": lambda e: (
        f"COMMIT takes {percent(100 * e.commit_share)} of the transactions' time"
        if e.commit_share is not None
        else ""
    ),
    "fsyncs": lambda e: (
        f"{decimal(e.log_fsyncs_each)} log fsyncs for each transaction"
        if e.log_fsyncs_each is not None
        else ""
    ),
    "log waits": lambda e: (
        f"{decimal(e.log_waits_per_second, 1)} waits a second for room in the log buffer"
        if e.log_waits_per_second
        else ""
    ),
    "tables": lambda e: (
        f"{count(e.open_tables)} of {count(e.table_open_cache)} tables open, "
        f"{decimal(e.table_misses_percent, 1)} % of the look-ups miss"
        if e.table_misses_percent is not None
        else ""
    ),
    "reads": lambda e: (
        f"{decimal(e.disk_reads_each)} pages read from disk for each transaction, "
        f"buffer pool hit {percent(e.buffer_pool_hit, 2)}"
        if e.disk_reads_each is not None
        else ""
    ),
}
"""A figure of the evidence in words; empty where it was not measured."""


def _limits(evidence: StepEvidence) -> bool:
    """Whether the client could not ask for more."""
    is_late_only = is_delayed_by_host(evidence.worker_cpu, evidence.cpu_total, evidence.cpu_rest)
    return evidence.limited_share >= LIMITED_SHARE and not is_late_only


def _is_log_bound(evidence: StepEvidence, _: float) -> bool:
    """COMMIT takes the time; where statements commit by themselves, many fsyncs and an idle processor."""
    fsyncs = evidence.log_fsyncs_each or 0.0
    if evidence.commit_share is not None:
        return evidence.commit_share >= COMMIT_SHARE and fsyncs >= COMMIT_FSYNCS
    return fsyncs >= IDLE_FSYNCS and evidence.cpu_total is not None and evidence.cpu_total < IDLE_PERCENT


def _misses_tables(evidence: StepEvidence, _: float) -> bool:
    is_full = (evidence.open_tables or 0) >= TABLES_OPEN * (evidence.table_open_cache or 1)
    return is_full and (evidence.table_misses_percent or 0.0) >= TABLE_MISSES_PERCENT


OTHERS = ProbeRule(
    HOST_CPU_TAKEN,
    lambda e, _: is_dominant_share(e.cpu_rest, e.cpu_total),
    "this host's CPU, of which other programs take a good part",
    ("cpu", "running"),
    "look what else runs there, and probe again",
)
RULES = (
    OTHERS._replace(
        holds=lambda e, _: (
            is_host_saturated(e.cpu_total) and (e.cpu_rest or 0.0) >= MOST * (e.cpu_total or 0.0)
        )
    ),
    ProbeRule(
        CLIENT_LIMITED,
        lambda e, _: _limits(e),
        "the load generator, not the server: it can do more than was asked of it here",
        ("worker", "cpu"),
        "give it more processes (--workers) or a host of its own, and probe again",
    ),
    ProbeRule(
        CONNECTIONS,
        lambda e, level: 0 < e.connections < level,
        "connections: the server lets no more in",
        ("connections",),
        "raise max_connections",
    ),
    ProbeRule(
        "host CPU shared with tuibench",
        lambda e, _: is_dominant_share(e.cpu_tuibench, e.cpu_total),
        "this host's CPU, of which tuibench itself takes a good part: not the server's limit alone",
        ("cpu", "running", "late"),
        "drive the load from another host to see the server's own limit",
    ),
    OTHERS,
    ProbeRule(
        "server CPU",
        lambda e, _: (
            is_host_saturated(e.cpu_total)
            and (e.cpu_server or 0.0) >= 2 * DOMINANT_SHARE * (e.cpu_total or 0.0)
        ),
        "the server's CPU",
        ("cpu", "running", "late"),
        "more or faster cores, or less work for each transaction",
    ),
    ProbeRule(
        "row locks",
        lambda e, level: (e.waiting_for_locks or 0.0) >= DOMINANT_SHARE * max(level, 1.0),
        "row locks: threads wait for each other",
        ("locks", "cpu"),
        "more rows or tables, another key distribution, shorter transactions",
    ),
    ProbeRule(
        "redo log and fsync",
        _is_log_bound,
        "the redo log: commits wait for the disk",
        ("commit", "fsyncs", "log waits", "cpu"),
        "a faster log device; tuibench run --ab preset=durable,relaxed shows what durability costs",
    ),
    ProbeRule(
        "log buffer",
        lambda e, _: (e.log_waits_per_second or 0.0) >= LOG_WAITS,
        "the log buffer: transactions wait for room in it",
        ("log waits", "cpu"),
        "raise innodb_log_buffer_size",
    ),
    ProbeRule(
        "table cache",
        _misses_tables,
        "the table cache: tables are opened again and again",
        ("tables", "cpu"),
        "raise table_open_cache",
    ),
    ProbeRule(
        "disk reads",
        lambda e, _: (e.disk_reads_each or 0.0) >= DISK_READS,
        "reads from disk: the data does not fit the buffer pool",
        ("reads", "cpu"),
        "raise innodb_buffer_pool_size",
    ),
)


def find_step_bottleneck(step: ProbeStep, threads: float) -> Bottleneck:
    """The verdict on a saturated step that ran with so many threads."""
    evidence = step.evidence
    for rule in RULES:
        if rule.holds(evidence, threads):
            return Bottleneck(
                name=rule.name,
                verdict=rule.verdict,
                evidence=_evidence_texts(evidence, rule.shown),
                advice=rule.advice,
            )
    seen = _evidence_texts(
        evidence, tuple(name for name in SHOWN if name not in ("worker", "late", "connections"))
    )
    unseen = "" if evidence.cpu_total is not None else "; the server's host is not seen from here"
    return Bottleneck(
        name=UNKNOWN,
        verdict=f"none of the usual ones stands out{unseen}",
        evidence=seen,
        advice="look at the server's own instruments: performance_schema, SHOW ENGINE INNODB STATUS",
    )


def is_step_client_limited(step: ProbeStep) -> bool:
    """Whether the client, and not the server, made this step's throughput what it was."""
    return _limits(step.evidence)


def _evidence_texts(evidence: StepEvidence, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in (SHOWN[name](evidence) for name in names) if text)
