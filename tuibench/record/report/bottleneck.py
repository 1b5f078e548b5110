"""What held the throughput of a recorded run back: a table of rules, the first that holds gives the verdict.

The client comes first: what it could not ask of the server says nothing of the server.
"""

from collections.abc import Callable, Sequence
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
from tuibench.record.files.run import Run
from tuibench.record.report.evidence import RunEvidence
from tuibench.units import decimal, percent


class BottleneckVerdict(NamedTuple):
    """In words: what it is, what speaks for it, and what to do."""

    name: str
    sentence: str
    evidence: tuple[str, ...]
    advice: str


class BottleneckRule(NamedTuple):
    """One possible limit, when it is taken for the one, and which figures are shown for it."""

    name: str
    holds: Callable[[RunEvidence, Run], bool]
    sentence: str
    advice: str
    shown: Sequence[str]


def _at_a_rate(_: RunEvidence, run: Run) -> bool:
    """What was due was done, so nothing was looked for."""
    figures = run.summary
    done = figures.transactions.total + figures.failed
    return bool(run.plan.plan.rate) and done >= 0.99 * figures.scheduled


RULES = (
    BottleneckRule(
        "client",
        lambda e, run: (
            run.summary.client.limited
            and not is_dominant_share(e.cpu_rest, e.cpu_total)
            and not is_delayed_by_host(e.worker_cpu, e.cpu_total, e.cpu_rest)
        ),
        "The load generator was the limit, not the server: the figures say what this client can do.",
        "Give it more processes (--workers), or a host of its own, and run again before judging the server.",
        ("worker", "cpu"),
    ),
    BottleneckRule(
        "rate",
        _at_a_rate,
        "The rate was the limit: what came due was done, so the server's own limit was not reached.",
        "Raise the rate, or run without one, to see how much there can be.",
        ("cpu", "running"),
    ),
    BottleneckRule(
        "network",
        lambda e, _: (e.network_share or 0.0) >= 2 * DOMINANT_SHARE,
        "The road to the server was the limit: most of a transaction's time is round trips.",
        "More threads hide it; fewer statements in a transaction, or a client nearer to the server, mend it.",
        ("network", "cpu"),
    ),
    BottleneckRule(
        "cpu shared with tuibench",
        lambda e, _: is_dominant_share(e.cpu_tuibench, e.cpu_total),
        "The host's processors were used up, and tuibench itself took a good part of them.",
        "Drive the load from another host to see the server's own limit.",
        ("cpu", "running"),
    ),
    BottleneckRule(
        "cpu taken by others",
        lambda e, _: is_dominant_share(e.cpu_rest, e.cpu_total),
        "The host's processors were used up, and programs other than the server took a good part of them.",
        "Look what else runs there, and run again without it.",
        ("cpu", "running"),
    ),
    BottleneckRule(
        "server cpu",
        lambda e, _: is_host_saturated(e.cpu_total),
        "The server's processors were the limit.",
        "More or faster cores, or less work for each transaction; more threads will only make it slower.",
        ("cpu", "running"),
    ),
    BottleneckRule(
        "row locks",
        lambda e, _: (e.waiting_for_locks or 0.0) >= DOMINANT_SHARE * max(e.threads, 1.0),
        "Row locks were the limit: threads waited for each other.",
        "Spread the load over more rows or tables, or keep transactions shorter.",
        ("locks", "cpu"),
    ),
    BottleneckRule(
        "log",
        lambda e, _: (e.commit_share or 0.0) >= COMMIT_SHARE and (e.log_fsyncs_each or 0.0) >= COMMIT_FSYNCS,
        "Flushing the log at commit was the limit: the disk has to confirm each group of commits.",
        "A faster log device, or more threads, whose commits then share a flush. What relaxed durability "
        "would bring: tuibench run --ab preset=durable,relaxed.",
        ("commit", "fsyncs", "cpu"),
    ),
    BottleneckRule(
        "disk reads",
        lambda e, _: (e.disk_reads_each or 0.0) >= DISK_READS,
        "Reading from disk was the limit: the data does not fit the buffer pool.",
        "A larger buffer pool, or a faster disk.",
        ("reads", "cpu"),
    ),
    BottleneckRule(
        "table cache",
        lambda e, _: (e.table_misses_percent or 0.0) >= TABLE_MISSES_PERCENT,
        "Tables had to be opened again and again: the table cache is too small for so many threads.",
        "Raise table_open_cache.",
        ("tables", "cpu"),
    ),
    BottleneckRule(
        "threads",
        lambda e, _: e.cpu_total is not None and e.cpu_total < IDLE_PERCENT,
        "Nothing was used up: the server waited for work.",
        "Run with more threads; tuibench probe finds where it stops to help.",
        ("cpu", "running", "commit"),
    ),
)

UNKNOWN = BottleneckRule(
    "unknown",
    lambda _, __: True,
    "What limited the throughput cannot be told from what was measured.",
    "Run tuibench on the server's host, so that its processors and disks are seen, too.",
    ("cpu", "running", "commit", "locks", "reads"),
)

SHOWN: dict[str, Callable[[RunEvidence], str]] = {
    "worker": lambda e: f"the busiest worker used up to {percent(100 * e.worker_cpu)} of a core",
    "cpu": lambda e: (
        ""
        if e.cpu_total is None
        else f"processors were {percent(e.cpu_total)} busy: the server with {percent(e.cpu_server)}, "
        f"tuibench with {percent(e.cpu_tuibench)}, everything else with {percent(e.cpu_rest)}"
    ),
    "running": lambda e: (
        ""
        if e.threads_running is None
        else f"{decimal(e.threads_running, 1)} threads were running in the server"
    ),
    "locks": lambda e: (
        ""
        if e.waiting_for_locks is None
        else f"{decimal(e.waiting_for_locks)} threads waited for a row lock at a time"
    ),
    "commit": lambda e: (
        ""
        if e.commit_share is None
        else f"COMMIT took {percent(100 * e.commit_share)} of all statements' time"
    ),
    "fsyncs": lambda e: (
        ""
        if e.log_fsyncs_each is None
        else f"the log was flushed {decimal(e.log_fsyncs_each)} times for each transaction"
    ),
    "reads": lambda e: (
        ""
        if e.disk_reads_each is None
        else f"{decimal(e.disk_reads_each)} pages were read from disk for each transaction, the buffer pool "
        f"had {percent(e.buffer_pool_hit, 2)} of what was asked of it"
    ),
    "tables": lambda e: (
        ""
        if e.table_misses_percent is None
        else f"{decimal(e.table_misses_percent)} % of the look-ups missed the table cache"
    ),
    "network": lambda e: (
        ""
        if e.network_share is None
        else f"round trips make up {percent(100 * e.network_share)} of a transaction's time"
    ),
}
"""A figure of the evidence in words; empty where it was not measured."""


def find_bottleneck(run: Run, evidence: RunEvidence) -> BottleneckVerdict:
    """The verdict of the first rule that holds."""
    rule = next((rule for rule in RULES if rule.holds(evidence, run)), UNKNOWN)
    told = (SHOWN[name](evidence) for name in rule.shown)
    return BottleneckVerdict(rule.name, rule.sentence, tuple(filter(None, told)), rule.advice)
